"""Where the log of a store begins and ends, up to where it is on disk, and up to where it is confirmed.

Confirmed is what the configured durability promises. Consumers never see a record at or past that offset, so
they cannot commit past one that a crash would take back, and whoever has to know that a write lasts waits for
it. It is the smaller of two: what is flushed as configured (store.md §3), and, where a broker's log is copied
and that counts, what enough copies have (replication.md §4), as a `Replicas` tells.
"""

from __future__ import annotations

from mqframe.core.storage.replicas import Replicas
from mqframe.store.log.commit_log import CommitLog


class LogOffsets:
    """The log of one store, as others than its writers see it; offsets are in bytes.

    `sync`: whether what is confirmed has to be on disk. `replicas`: where copies of the log count, what they
    confirm. `shown`: up to where queues were to list messages the last time: all of it is confirmed, and any
    thread may ask.
    """

    def __init__(self, log: CommitLog, sync: bool, replicas: Replicas | None) -> None:
        self._log = log
        self.replicas = replicas
        self.file_bytes = log.file_bytes
        self._sync = sync
        self.shown = log.end

    def confirmed(self) -> int:
        """First log offset that is not confirmed yet, bytes. It never goes back."""
        log, replicas = self._log, self.replicas
        flushed = log.flushed if self._sync else log.end
        return flushed if replicas is None else min(flushed, replicas.confirmed(log.end))

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept, bytes."""
        return self._log.start

    @property
    def max_offset(self) -> int:
        """Where the next record goes, bytes."""
        return self._log.end

    @property
    def flushed_offset(self) -> int:
        """First log offset that is not known to be on disk, bytes."""
        return self._log.flushed

    @property
    def confirmed_offset(self) -> int:
        """First log offset that consumers may not see yet, bytes."""
        return self.confirmed()

    @property
    def lasting_offset(self) -> int:
        """First log offset, bytes, that is not known to last: on disk, and confirmed by copies that count.

        Tables that say what was done speak of nothing behind it, for they may be read, or copied, alone.
        """
        return min(self._log.flushed, self.confirmed())

    def log_bytes(self, offset: int, size: int) -> memoryview | None:
        """`size` bytes of the log from `offset` on, within one file; `None` where it has not (any more) all.

        A slice of the map, to be used at once.
        """
        return self._log.slice(offset, size)
