"""How far following dispatchers are behind, in bytes, messages and time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mqframe.core.storage.record import decode_record
from mqframe.store.log.log_offsets import LogOffsets
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.reading.search import Search

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


def lag_of(
    name: str, cursor: int, log: LogOffsets, search: Search, queues: Iterable[ConsumeQueue] | None
) -> Lag:
    """How far the dispatcher `name` with this cursor (log bytes) is behind.

    `queues`: those whose messages are counted; `None`: they are not.
    """
    cursor = max(cursor, log.min_offset)
    size = max(0, log.confirmed_offset - cursor)
    if not size:
        return Lag(name, cursor, 0, 0, None)
    file_bytes = log.file_bytes
    # Where a file ends before its size, the next record begins the next file.
    record = search.record_at(cursor) or search.record_at(cursor - cursor % file_bytes + file_bytes)
    stored = None if record is None else decode_record(record).store_timestamp
    return Lag(name, cursor, size, None if queues is None else messages_from(queues, cursor), stored)


def messages_from(queues: Iterable[ConsumeQueue], log_offset: int) -> int | None:
    """How many messages lie at `log_offset` or behind it; `None` for more than `QUEUES_MAX` queues."""
    behind = [queue for queue in queues if queue.covered > log_offset]
    if len(behind) > QUEUES_MAX:
        return None
    return sum(queue.end - queue.first_from(log_offset, queue.floor[0]) for queue in behind)
