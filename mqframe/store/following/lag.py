"""How far following dispatchers are behind, in bytes, messages and time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mqframe.store.consume_queue import ConsumeQueue

QUEUES_MAX: Final = 256
"""Queues that are searched for one number of messages: a search takes some twenty small reads."""


class Lag(NamedTuple):
    """What the following dispatcher `name` has not made durable yet, from log offset `cursor` on.

    `size_bytes`: of the log, all topics together; `messages`: how many queues list of it, `None` when that
    was not asked for, or more than `QUEUES_MAX` queues would have to be searched; `stored_ms`: when the first
    of it was stored, ms since 1970, `None` when there is nothing.
    """

    name: str
    cursor: int
    size_bytes: int
    messages: int | None
    stored_ms: int | None

    def age_ms(self, now_ms: int) -> int:
        """How long the first message has been waiting at `now_ms`; 0 when none is."""
        return 0 if self.stored_ms is None else max(0, now_ms - self.stored_ms)


def messages_from(queues: Iterable[ConsumeQueue], log_offset: int) -> int | None:
    """How many messages lie at `log_offset` or behind it; `None` for more than `QUEUES_MAX` queues."""
    behind = [queue for queue in queues if queue.covered > log_offset]
    if len(behind) > QUEUES_MAX:
        return None
    return sum(queue.end - _first_from(queue, log_offset) for queue in behind)


def _first_from(queue: ConsumeQueue, log_offset: int) -> int:
    """The first queue offset whose record does not lie before `log_offset`."""
    low, high = queue.floor[0], queue.end
    while low < high:
        middle = (low + high) // 2
        entry = queue.entry(middle)
        if entry is None or entry[0] < log_offset or entry[1] == 0x7FFFFFFF:
            low = middle + 1
        else:
            high = middle
    return low
