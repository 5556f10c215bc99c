"""What a broker believes of those properties that brokers set and a sender may bring (docs/spec/wire.md §8).

A client that sends a message on as it came brings all that other brokers and clients noted in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.messages import properties as p
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX

TIMER_NOTES: Final = frozenset(
    (
        p.TIMER_OUT_MS,
        p.TIMER_ENQUEUE_MS,
        p.TIMER_DEQUEUE_MS,
        p.TIMER_ROLL_TIMES,
        p.REAL_TOPIC,
        p.REAL_QUEUE_ID,
    )
)
"""What a broker notes in a message that waits, or has waited."""
BROKERS_OWN: Final = TIMER_NOTES | {p.POP_CHECK_POINT, p.PREPARED_QUEUE_OFFSET, p.CHECK_TIMES}
"""What only brokers say: never believed of a sender."""
OF_RETURNS: Final = frozenset(
    (p.RETRY_TOPIC, p.ORIGIN_MESSAGE_ID, p.FIRST_POP_TIME, p.RECONSUME_TIME, p.MAX_RECONSUME_TIMES)
)
"""What names the first copy of a message that comes back: believed in retry and dead-letter topics."""
WORDS_OF_NOTES: Final = ("_TOPIC", "TIMER_", "ORIGIN_M", "1ST_P", "RECONSUME_", p.POP_CHECK_POINT)


def takes_returns(topic: str) -> bool:
    """Whether what lies in `topic` was in another one first."""
    return topic.startswith((RETRY_PREFIX, DLQ_PREFIX))


def came_back(properties: Mapping[str, str], topic: str) -> bool:
    """Whether the notes of a message of `topic` about its first copy are about that.

    `topic` is where it lies, or, once a consumer has restored it, the one that `RETRY_TOPIC` names.
    """
    return takes_returns(topic) or properties.get(p.RETRY_TOPIC) == topic


def may_name_notes(text: str) -> bool:
    """Whether properties in text form may hold one of the names that `drop_notes` takes out; cheap."""
    back, timed, first, popped, again, handle = WORDS_OF_NOTES
    return back in text or timed in text or first in text or popped in text or again in text or handle in text


def has_waited(properties: Mapping[str, str]) -> bool:
    """Whether a sender got this message from a broker that had delayed it: its words of that may be old."""
    return not TIMER_NOTES.isdisjoint(properties)


def drop_notes(properties: dict[str, str], topic: str) -> None:
    """Take out of what is sent to `topic` whatever its broker would not believe."""
    for name in BROKERS_OWN if takes_returns(topic) else BROKERS_OWN | OF_RETURNS:
        properties.pop(name, None)
