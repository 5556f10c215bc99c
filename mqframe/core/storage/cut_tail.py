"""What the end of a log says of progress that counts on it, before that end is cut off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mqframe.core.messages import properties as p
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.storage.log_scan import LogRecord

_WAITING: Final = (SCHEDULE_TOPIC, TIMER_TOPIC, HALF_TOPIC, OP_HALF_TOPIC)


class CutTail:
    """Takes the records that are cut off, in order.

    `records`: how many; `queues`: first queue offset and the one behind the last, by (topic, queue id);
    `delivered`: by delay level, how many messages of it were delivered here; `timer_due`: the earliest time,
    ms, for which the timer delivered one here; `halves`: queue offset of the first half message whose end is
    noted here; `pops`: the first offset of the check points here, by group's key and queue id; `popped_ms`:
    when the earliest pop was of which a message was given back here; `given_back`: by retry topic, when each
    of these was born, by unique key. `None` where there is none.
    """

    def __init__(self) -> None:
        self.records = 0
        self.queues: dict[tuple[str, int], tuple[int, int]] = {}
        self.delivered: dict[int, int] = {}
        self.timer_due: int | None = None
        self.halves: int | None = None
        self.pops: dict[tuple[str, int], int] = {}
        self.popped_ms: int | None = None
        self.given_back: dict[str, dict[str, int]] = {}

    def take(self, record: LogRecord) -> None:
        """The next record."""
        self.records += 1
        topic = record.topic
        if record.has_queue_entry:
            key, offset = (topic, record.queue_id), record.queue_offset
            first, end = self.queues.get(key, (offset, offset))
            self.queues[key] = min(first, offset), max(end, offset + 1)
        if topic not in _WAITING:
            self._take_delivered(record.properties)

    def ended(self, halves: Iterable[int]) -> None:
        """A record notes the ends of these half messages, by queue offset."""
        self.halves = _least(self.halves, *halves)

    def popped(self, topic: str, group: str, queue_id: int, offset: int) -> None:
        """A record is the check point of a pop of `group` from `offset` of a queue on."""
        key = (f"{topic}@{group}", queue_id)
        self.pops[key] = min(offset, self.pops.get(key, offset))

    def _take_delivered(self, text: str) -> None:
        level = _number(text, p.DELAY)
        if level is not None and level > 0:
            self.delivered[level] = self.delivered.get(level, 0) + 1
        if p.find_property(text, p.TIMER_DEQUEUE_MS) is not None:
            due = _number(text, p.TIMER_OUT_MS)
            self.timer_due = self.timer_due if due is None else _least(self.timer_due, due)

    def gave_back(self, topic: str, popped_ms: int, unique: str | None, born_ms: int) -> None:
        """A record gives back a message that was popped, to a retry topic."""
        self.popped_ms = _least(self.popped_ms, popped_ms)
        if unique is not None:
            self.given_back.setdefault(topic, {})[unique] = born_ms

    def first(self, topic: str, queue_id: int) -> int | None:
        """The first queue offset that is cut off a queue; `None`: none."""
        found = self.queues.get((topic, queue_id))
        return None if found is None else found[0]


def _number(text: str, name: str) -> int | None:
    said = p.find_property(text, name)
    return None if said is None else whole_number(said)


def _least(known: int | None, *more: int) -> int | None:
    return min(more if known is None else (known, *more), default=None)
