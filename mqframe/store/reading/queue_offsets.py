"""Where the queues of a store begin and end, and which offset was stored when."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from mqframe.core.storage.agreement import place_of
from mqframe.core.storage.record import HEAD
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.queues.queue_table import QueueTable

_STORE_TIME_AT: Final = 56


class QueueOffsets:
    """The offsets of all queues of one store."""

    def __init__(self, log: CommitLog, queues: QueueTable) -> None:
        self._log = log
        self._queues = queues

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """(topic, queue id) of every queue that ever held a message and was not deleted."""
        return iter([queue.key for queue in self._queues])

    def bounds(self, topic: str, queue_id: int) -> tuple[int, int]:
        """`min_offset` and `max_offset`."""
        return self.min_offset(topic, queue_id), self.max_offset(topic, queue_id)

    def min_offset(self, topic: str, queue_id: int) -> int:
        """First offset of the queue whose record is still kept; 0 for an unknown queue."""
        queue = self._queues.get((topic, queue_id))
        return 0 if queue is None else queue.min_offset(self._log.start)

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Offset behind the last message that consumers may see; 0 for an unknown queue."""
        queue = self._queues.get((topic, queue_id))
        return 0 if queue is None else queue.end

    def next_offset(self, topic: str, queue_id: int) -> int:
        """Offset that the next message gets; those before it are stored, if not all to be seen yet."""
        queue = self._queues.get((topic, queue_id))
        return 0 if queue is None else queue.next_offset

    def store_time_at(self, topic: str, queue_id: int, offset: int) -> int | None:
        """Store time (ms) of the record at queue `offset`; `None` when there is none."""
        queue = self._queues.get((topic, queue_id))
        return None if queue is None else self._store_time(queue, offset)

    def _store_time(self, queue: ConsumeQueue, offset: int) -> int | None:
        entry = queue.entry(offset)
        if entry is None:
            return None
        head = self._log.slice(entry[0], HEAD.size)
        if head is None or place_of(head, 0) != (entry[1], queue.queue_id, offset, entry[0]):
            return None
        at = _STORE_TIME_AT + (12 if int.from_bytes(head[36:40], "big") & 0x10 else 0)
        return int.from_bytes(head[at : at + 8], "big")

    def offset_at(self, topic: str, queue_id: int, timestamp_ms: int, *, upper: bool = False) -> int:
        """First queue offset stored at or after `timestamp_ms`; `upper`: the last one at or before it.

        Beyond the newest record the lower bound is the queue's end; before the oldest the upper one is 0, as
        Apache RocketMQ has it (ConsumeQueue.binarySearchInQueueByTime).
        """
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            return 0

        def is_reached(offset: int) -> bool:
            # A filler stands for the record behind it: there may be some between records.
            listed = queue.listed_from(offset)
            stored = None if listed is None else self._store_time(queue, listed[0])
            return stored is not None and (stored > timestamp_ms or (stored == timestamp_ms and not upper))

        floor = queue.min_offset(self._log.start)
        found = bisect_left(range(queue.end), True, floor, queue.end, key=is_reached)
        if not upper:
            return found
        return found - 1 if found > floor else 0
