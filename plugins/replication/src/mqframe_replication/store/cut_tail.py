"""What is cut off the end of a log, by queue."""

from __future__ import annotations

from mqframe.core.storage.log_scan import LogRecord


class CutTail:
    """Takes the records that are cut off, in order.

    `records`: how many; `queues`: first queue offset and the one behind the last, by (topic, queue id).
    """

    def __init__(self) -> None:
        self.records = 0
        self.queues: dict[tuple[str, int], tuple[int, int]] = {}

    def take(self, record: LogRecord) -> None:
        """The next record."""
        self.records += 1
        if record.has_queue_entry:
            key, offset = (record.topic, record.queue_id), record.queue_offset
            first, end = self.queues.get(key, (offset, offset))
            self.queues[key] = min(first, offset), max(end, offset + 1)

    def first(self, topic: str, queue_id: int) -> int | None:
        """The first queue offset that is cut off a queue; `None`: none."""
        found = self.queues.get((topic, queue_id))
        return None if found is None else found[0]
