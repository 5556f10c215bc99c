"""Dead letters as operators see them: which are meant, and what a copy that is sent again says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

import attrs

from mqframe.core.errors import FixError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import dead_letter_topic, retry_topic
from mqframe.core.retry.policy import DEAD_LETTER_REASON, TIMER_NAMES

MARK: Final = "MQFRAME_DEAD_LETTER"
"""Property of a copy that was sent again: "group@id", where id is the broker's id of the dead letter."""
END_OF_TIME: Final = 2**63 - 1
NOTED_ON_THE_WAY: Final = TIMER_NAMES.union(
    (
        p.DELAY,
        p.WAIT,
        p.RETRY_TOPIC,
        p.REAL_TOPIC,
        p.REAL_QUEUE_ID,
        p.RECONSUME_TIME,
        p.MAX_RECONSUME_TIMES,
        p.TRANSACTION_PREPARED,
        p.MIN_OFFSET,
        p.MAX_OFFSET,
        p.CONSUME_START_TIME,
        p.MSG_REGION,
        p.TRACE_ON,
        p.CLUSTER,
        p.POP_CHECK_POINT,
        MARK,
        DEAD_LETTER_REASON,
    )
)
"""What brokers and clients noted on the way; a new way begins without it."""


class ResendTo(Enum):
    """Where dead letters are sent to."""

    GROUP = "group"
    """Only the group that gave them up gets them, through its retry topic."""
    TOPIC = "topic"
    """Their original topic: every group that subscribes it gets them."""


def resend_to(word: ResendTo | str) -> ResendTo:
    """The target that `word` names. Raises `FixError`."""
    for each in ResendTo:
        if word in (each, each.value):
            return each
    raise FixError(f"dead letters cannot be sent to {word!r}; choose group or topic")


def all_groups_get_them(group: str, topics: Iterable[str] = ()) -> str:
    """What whoever sends dead letters of `group` to their original topics is told first.

    `topics`: these, where they are known already.
    """
    names = ", ".join(sorted(set(topics))) or "the original topics"
    return f"all groups that subscribe {names} get the copies, not {group} alone"


@attrs.frozen
class DeadLetter:
    """A message that `group` gave up. `topic`: where it was sent first; `place`: the queue it lies in."""

    group: str
    message: ReceivedMessage
    topic: str
    place: MessageQueue

    @property
    def id(self) -> str:
        """The broker's id of the dead letter, which names this copy and no other."""
        return self.message.offset_message_id

    @property
    def mark(self) -> str:
        """What a copy that is sent again carries under `MARK`."""
        return f"{self.group}@{self.id}"

    @property
    def reason(self) -> str:
        """Why it was given up, for example what is wrong with its body; "" where nobody said."""
        return self.message.properties.get(DEAD_LETTER_REASON, "")

    @property
    def unique_key(self) -> str:
        """The key that all copies share, and so the one by which a copy is found."""
        return self.message.message_id


def dead_letter(group: str, message: ReceivedMessage) -> DeadLetter:
    """`message`, read from the dead-letter topic of `group`."""
    topic = message.properties.get(p.RETRY_TOPIC) or message.topic
    place = MessageQueue(dead_letter_topic(group), message.broker_name, message.queue_id)
    return DeadLetter(group, message, topic, place)


@attrs.frozen(kw_only=True)
class DeadLetterFilter:
    """Which dead letters are meant.

    `key`: one of the keys, the unique key or the broker's id; `tag`; `topic`: the original one; `begin_ms`,
    `end_ms`: when they were given up, ms since 1970, both included.
    """

    key: str | None = None
    tag: str | None = None
    topic: str | None = None
    begin_ms: int = 0
    end_ms: int = END_OF_TIME

    def matches(self, letter: DeadLetter) -> bool:
        """Whether `letter` is meant."""
        message = letter.message
        return (
            self.begin_ms <= message.store_timestamp <= self.end_ms
            and (self.topic is None or letter.topic == self.topic)
            and (self.tag is None or message.tag == self.tag)
            and (self.key is None or self.key in (letter.unique_key, letter.id, *message.keys))
        )


def target(letter: DeadLetter, to: ResendTo) -> str:
    """The topic that a copy of `letter` goes to."""
    return retry_topic(letter.group) if to is ResendTo.GROUP else letter.topic


def copy_properties(letter: DeadLetter, to: ResendTo) -> dict[str, str]:
    """Properties of a copy of `letter` that is sent again.

    Keys, tag, the sender's own properties and the unique key stay; the mark says where the copy is from.
    """
    old = letter.message.properties
    kept = {name: value for name, value in old.items() if name not in NOTED_ON_THE_WAY}
    kept.setdefault(p.UNIQUE_KEY, letter.unique_key)
    kept[p.WAIT] = "true"
    kept[MARK] = letter.mark
    if to is ResendTo.GROUP:
        kept[p.RETRY_TOPIC] = letter.topic
    else:
        kept.pop(p.ORIGIN_MESSAGE_ID, None)  # in its topic it is a first copy
    return kept


def was_sent_again(letter: DeadLetter, copies: list[ReceivedMessage]) -> bool:
    """Whether one of `copies`, found by the unique key, was made of this very dead letter."""
    return any(copy.properties.get(MARK) == letter.mark for copy in copies)
