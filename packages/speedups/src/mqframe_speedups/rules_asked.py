"""What send rules do to messages of one kind, asked of them once for all that are alike.

A kind is a queue and the one property that a rule looks at, such as a delay level. Rules that promise as
much (`SendRule.alike_while`) are shown one message of each; compiled code has others wait where that would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from mqframe.broker.sending.processor import SendProcessor, type_of
from mqframe.broker.sending.targets import SendTarget
from mqframe.broker.state import BrokerState
from mqframe.core.codes import SysFlag
from mqframe.core.messages import properties as p
from mqframe.core.messages.sent_properties import BROKERS_OWN, OF_RETURNS
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.storage.dispatch_facts import queue_code
from mqframe.hooks.interfaces import PendingRecord, SendRule
from mqframe_speedups._native import SendLayout

_KEPT: Final = frozenset(
    (p.KEYS, p.TAGS, p.WAIT, p.UNIQUE_KEY, p.PRODUCER_GROUP, p.INSTANCE_ID, p.BUYER_ID, p.BORN_TIMESTAMP)
)
"""Reserved properties that no such rule changes, and that say nothing of how a message is stored."""
APART: Final = (
    p.RESERVED | BROKERS_OWN | OF_RETURNS | {p.HALF_BATCH, p.PRIORITY, p.PUSH_REPLY_TIME, "TIMER_DELAY_LEVEL"}
) - _KEPT
"""With one of these besides the one by which its kind is known a message is left to the rules."""
_UNIQUE: Final = "\ue000unique\ue000"
"""Stands for unique keys: no name of a topic, nor anything else that a rule puts in, has such a character."""
_TIMES_MAX: Final = 1 << 53
_Way = tuple[str, int, list[bytes], int | None, Any]
"""Topic, queue, the parts of what is added between which the unique key stands, ms until it is due in the
entry, as what it is counted (`SendLayout.divert`)."""


class RulesAsked:
    """The rules of one broker that may be asked for all messages of a kind. `names`: what they look at."""

    def __init__(self, state: BrokerState, sends: SendProcessor) -> None:
        self._state, self._sends = state, sends
        self._rules = sends.rules.rules
        self._alike = [rule for names, rule in self._rules if names and rule.alike_while is not None]
        self._while = [rule.alike_while for rule in self._alike]
        self._counted: dict[tuple[str, str], Any] = {}
        names = frozenset[str]().union(*(rule.names or () for rule in self._alike))
        # A word that spans two properties would not be found beside the one.
        spanning = any(p.PAIR_END in word for word, _ in sends.rules.words)
        self.names = () if spanning else tuple(sorted(names))

    def is_changed(self) -> bool:
        """Whether something that decides is another since this was asked the last time."""
        changed = False
        for at, rule in enumerate(self._alike):
            now = rule.alike_while
            if now is not self._while[at]:
                self._while[at], changed = now, True
        return changed

    def forget(self) -> None:
        """What is counted of topics may be counted elsewhere now."""
        self._counted.clear()

    def tell(self, layout: SendLayout, target: SendTarget, kind: tuple[str, int, int, str]) -> bool:
        """Tell `layout` what becomes of messages of `kind`: to a topic, which `target` is, and a queue, with
        bits of transactions and a pair among their properties. Whether that is known now."""
        topic, queue_id, bits, pair = kind
        changes = self._state.topics.changes
        way: _Way | None = None
        try:
            way = self._way(target, topic, queue_id, bits, pair)
        except Exception:  # isolation boundary: who stores such a message says what is wrong with it
            way = None
        if self._state.topics.changes != changes:
            return False  # its own topic is made with the first message
        layout.divert(topic, queue_id, bits, pair, way)
        return True

    def _way(self, target: SendTarget, topic: str, queue_id: int, bits: int, pair: str) -> _Way | None:
        name, _, value = pair.partition(p.NAME_END)
        if not (value.isascii() and value.isalnum() and self._promised({name})):
            return None
        rules, suffix = self._sends.rules, self._sends.suffix_bytes.decode()
        text = f"{pair}{p.PAIR_END}{p.UNIQUE_KEY}{p.NAME_END}{_UNIQUE}{p.PAIR_END}"
        fields = SendMessageV2(
            producer_group="", topic=topic, default_topic="", default_topic_queue_nums=0, queue_id=queue_id,
            sys_flag=bits, born_timestamp=0, flag=0, properties=text,
        )  # fmt: skip
        record = PendingRecord(fields, b"-", queue_id, p.decode_properties(text + suffix))
        record.sys_flag |= target.sys_flag
        kind = type_of(record)
        if rules.before(record) is not None or record.answer or record.body != b"-":
            return None
        if not self._promised(record.properties):
            return None  # what one of the rules put in is another one's business
        stored = p.encode_properties(record.properties)
        added = stored.removeprefix(text + suffix)
        codes = [self._code(record.topic, stored, time) for time in (0, 1)]
        is_due = codes[1] == codes[0] + 1
        is_plain = (
            stored == text + suffix + added
            and APART.issuperset(p.decode_properties(added))
            and record.sys_flag == target.sys_flag & ~SysFlag.TRANSACTION_MASK
            and 0 <= record.queue_id < 1 << 31
            and (0 <= codes[0] < _TIMES_MAX if is_due else codes == [0, 0])
        )
        if not is_plain:
            return None
        counted = self._counted.setdefault(
            (record.counted_as, kind), (self._state.counts.topic(record.counted_as), kind)
        )
        parts = [part.encode() for part in added.split(_UNIQUE)]
        return record.topic, record.queue_id, parts, codes[0] if is_due else None, counted

    def _promised(self, properties: Iterable[str]) -> bool:
        """Whether every rule that looks at one of these, or at all, has promised, and wants no more."""
        concerned = [rule for names, rule in self._rules if names is None or not names.isdisjoint(properties)]
        return all(rule in self._alike and type(rule).after is SendRule.after for rule in concerned)

    def _code(self, topic: str, text: str, time: int) -> int:
        return queue_code(topic, text, time, self._state.store.files.queues.delays)
