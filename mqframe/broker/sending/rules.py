"""What happens to messages that are not ordinary ones, before they are stored.

The broker's own services bring rules, and so may plugins; all run in the order of their services. Failed
messages that their group sends on to its retry topic are the business of the broker itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from mqframe.broker.sending.needed_services import DELAY, DELAY_LEVELS, TRANSACTIONS, asking_for, without
from mqframe.broker.tables.shared import Registry
from mqframe.broker.tables.statistics import Statistics
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.queue_locks import QueueLocks
from mqframe.core.delay.options import DELAY_HINT
from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import decode_batch, may_hold
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.messages.sent_properties import drop_notes, has_waited, takes_returns
from mqframe.core.retry.policy import TIMER_NAMES
from mqframe.core.sending.message_type import is_half
from mqframe.hooks.interfaces import PendingRecord, SendRule, StoredAt
from mqframe.hooks.isolate_services import after_stored

_Word = tuple[str, frozenset[str] | None]
"""What is looked for in properties, and the names that are looked for where it is found, if any."""
_DELAY_WORDS: Final = (b"DELAY\x01", b"TIMER_DEL")
"""One of them stands in the properties of every message that asks for a later delivery."""


class SendRules:
    """The rules of one broker.

    `rules`: each with its `names`. `words`: texts of which one stands in the properties of each message that
    a rule wants to see, with the names that are looked for then, if any. `batch_words`: texts of which one
    stands in every batch that a rule wants to see, as bytes; b"" when one wants to see all.
    """

    __slots__ = ("_after", "_batch_rules", "_dead_letters", "_delays", "batch_words", "rules", "words")

    def __init__(self, rules: Iterable[SendRule], dead_letters: ToDeadLetters, delays: DelayRules) -> None:
        self._dead_letters = dead_letters
        self._delays = delays
        self.rules = tuple((rule.names, rule) for rule in rules)
        self._batch_rules = tuple(each for each in self.rules if each[1].batches)
        self._after = frozenset(each for _, each in self.rules if type(each).after is not SendRule.after)
        self.words = _words_of([rule for _, rule in self.rules])
        self.batch_words = tuple(
            name.encode() for names, _ in self._batch_rules for name in (("",) if names is None else names)
        )

    def concern(self, text: str) -> bool:
        """Whether `text`, properties in text form, may be those of a message that a rule wants to see."""
        for word, names in self.words:
            if word in text and (names is None or not names.isdisjoint(p.decode_properties(text))):
                return True
        return False

    def believe(self, properties: dict[str, str], topic: str) -> None:
        """Take out of what a sender says of a message to `topic` whatever is not believed.

        Raises `Refusal` 13 for a delay that is no number.
        """
        if has_waited(properties) and not takes_returns(topic):
            self._delays.keep_latest(properties)
        drop_notes(properties, topic)

    def check_batch(self, text: str, body: bytes) -> None:
        """Raise `Refusal` 13 for a batch one of whose messages is to be delivered later: all come at once.

        `text`: the properties that the request gives to each.
        """
        if "DEL" not in text and not may_hold(body, _DELAY_WORDS, b"DEL"):
            return
        try:
            for number, (_, _, own) in enumerate(decode_batch(body)):
                properties = p.decode_properties(str(own, "utf-8", "replace") + text)
                if self._delays.waits(properties):
                    raise Refusal(
                        ResponseCode.MESSAGE_ILLEGAL,
                        f"message {number} of the batch asks for a later delivery: send it by itself",
                    )
        except BodyError:
            return  # whoever stores it says what is wrong with it

    def before(self, record: PendingRecord, *, is_retry: bool = False) -> StoredAt | None:
        """Change `record` as the rules want it; returns what its sender gets instead of storing it.

        `is_retry`: it is sent to a retry topic. Raises `Refusal`.
        """
        if is_retry:
            self._dead_letters(record)
        for names, rule in self._batch_rules if record.is_batch else self.rules:
            if names is None or record.is_batch or not names.isdisjoint(record.properties):
                result = rule.before(record)
                if result is not None:
                    return result
        return None

    def after(self, record: PendingRecord, result: StoredAt) -> None:
        """Tell the rules that saw `record` where it was stored."""
        for names, rule in self._batch_rules if record.is_batch else self.rules:
            if rule in self._after and (
                names is None or record.is_batch or not names.isdisjoint(record.properties)
            ):
                after_stored(rule, record, result)

    def want_batch(self, text: str, body: bytes) -> bool:
        """Whether a batch with `text` for properties may hold what a rule looks for."""
        if not self.batch_words:
            return False
        head = text.encode()
        return any(word in head for word in self.batch_words) or may_hold(body, self.batch_words)


class ToDeadLetters:
    """A message sent to a retry topic once too often goes to the group's dead-letter topic.

    The group's maximum counts unless the sender names another; a group that holds queue locks consumes in
    order, so its messages go there at once (SendMessageProcessor.handleRetryAndDLQ).
    """

    __slots__ = ("_groups", "_locks", "_statistics", "_topics")

    def __init__(self, registry: Registry, locks: QueueLocks, statistics: Statistics) -> None:
        self._statistics = statistics
        self._groups = registry.groups
        self._topics = registry.topics
        self._locks = locks

    def __call__(self, record: PendingRecord) -> None:
        """Divert `record` where that is due. Raises `Refusal` 26 when the group does not exist."""
        fields = record.fields
        name = fields.topic.removeprefix(RETRY_PREFIX)
        group = self._groups.need(name)
        limit = group.retry_max_times
        if fields.max_reconsume_times is not None:
            limit = fields.max_reconsume_times
        if (fields.reconsume_times or 0) > limit or self._locks.any_held(name):
            record.properties.pop(p.DELAY, None)
            for waiting in TIMER_NAMES:
                record.properties.pop(waiting, None)
            topic = self._topics.dead_letters(name)
            self._statistics.given_up(name, record.properties.get(p.RETRY_TOPIC, record.topic))
            record.topic = record.counted_as = topic
            record.queue_id = 0


def _words_of(rules: Iterable[SendRule]) -> tuple[_Word, ...]:
    words: dict[str, frozenset[str] | None] = {}
    for rule in rules:
        if rule.names is None:
            words[""] = None
        elif rule.hint:
            # Rules that share a hint cost one search.
            words[rule.hint] = rule.names | (words.get(rule.hint) or frozenset())
        else:
            words.update(dict.fromkeys(sorted(rule.names)))
    return tuple(words.items())


class NoHalves(SendRule):
    """Refuses half messages: without the service `transactions` they would come at once.

    `blocked`: the services that the broker's settings leave out.
    """

    names = asking_for(TRANSACTIONS)

    def __init__(self, blocked: Collection[str]) -> None:
        self._blocked = blocked

    def before(self, record: PendingRecord) -> None:
        """Raises `Refusal` 16 for a half message."""
        if is_half(record.properties, record.fields.reconsume_times or 0):
            raise without(TRANSACTIONS, self._blocked)


class NoLevels(SendRule):
    """Refuses messages that name a delay level: without the service `delay_levels` they would be lost."""

    names = asking_for(DELAY_LEVELS)
    hint = DELAY_HINT

    def __init__(self, delays: DelayRules) -> None:
        self._delays = delays

    def before(self, record: PendingRecord) -> None:
        """Raises `Refusal` 1 for a message with a level."""
        self._delays.place_by_level(record.topic, record.queue_id, record.properties)


class NoTimes(NoLevels):
    """Refuses messages that ask for a time: without a service for these they would come at once."""

    names = asking_for(DELAY)

    def before(self, record: PendingRecord) -> None:
        """Raises `Refusal` 1 for a message with a time."""
        self._delays.place_by_time(record.topic, record.queue_id, record.properties)


def unserved(rules: Iterable[SendRule], delays: DelayRules, blocked: Collection[str]) -> list[SendRule]:
    """What refuses messages that are to wait, where none of `rules` sees to it: services can be left out.

    `blocked`: those that the broker's settings leave out.
    """
    seen_to = frozenset().union(*(rule.names or () for rule in rules))
    refusing = (NoHalves(blocked), NoLevels(delays), NoTimes(delays))
    return [rule for rule in refusing if not seen_to >= (rule.names or frozenset())]
