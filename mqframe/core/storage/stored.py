"""Results of appends: where a stored message or batch lies."""

from __future__ import annotations

from typing import NamedTuple


class Stored(NamedTuple):
    """Where a message lies: offsets and `size` in bytes, `queue_offset` in records, time in ms."""

    commit_log_offset: int
    queue_offset: int
    size: int
    store_timestamp: int

    @property
    def end_offset(self) -> int:
        """The commit-log offset that must be confirmed before consumers see the message."""
        return self.commit_log_offset + self.size


class StoredBatch(NamedTuple):
    """Where a batch lies: `offsets`, `end_offset` in log bytes; `queue_offset` of the first."""

    offsets: list[int]
    queue_offset: int
    end_offset: int
    store_timestamp: int
