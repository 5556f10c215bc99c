"""Progress of consumer groups by queue: broker offset, committed offset, pulled offset."""

from __future__ import annotations

from typing import Protocol

from mqframe.core.consuming.bodies import OffsetWrapper
from mqframe.core.consuming.offset_table import OffsetTable


class ProgressQueues(Protocol):
    """What queues hold; offsets count messages."""

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Offset behind the last message that consumers may see; 0 for an unknown queue."""

    def store_time_at(self, topic: str, queue_id: int, offset: int) -> int | None:
        """Store time (ms since 1970) of the message at `offset`; `None` when there is none."""


class Progress:
    """Compares what groups have consumed with what queues hold."""

    __slots__ = ("_offsets", "_queues")

    def __init__(self, queues: ProgressQueues, offsets: OffsetTable) -> None:
        self._queues = queues
        self._offsets = offsets

    def of_queue(self, group: str, topic: str, queue_id: int) -> OffsetWrapper:
        """How far `group` is in one queue."""
        offset = max(self._offsets.query(group, topic, queue_id) or 0, 0)
        pulled = self._offsets.query_pulled(group, topic, queue_id)
        stored = self._queues.store_time_at(topic, queue_id, offset - 1) if offset else None
        return OffsetWrapper(
            broker_offset=self._queues.max_offset(topic, queue_id),
            consumer_offset=offset,
            last_timestamp=stored or 0,
            pull_offset=max(offset, pulled or 0),
        )
