"""The log of a slave: a copy of its master's."""

from __future__ import annotations

from mqframe.store.appending.dispatching import Dispatching
from mqframe.store.copy_parts import CopyParts
from mqframe.store.log.confirming import Confirming
from mqframe.store.log.log_offsets import LogOffsets
from mqframe_replication.store.copied import CopiedDispatch
from mqframe_replication.store.copy_appender import CopyAppender
from mqframe_replication.store.missing_records import MissingRecords
from mqframe_replication.store.putting_back import PuttingBack


class ReplicaLog:
    """Takes what the master's log holds: what a follower writes to.

    `missing`: what was taken out of it since, and was not put back.
    """

    def __init__(
        self,
        appender: CopyAppender,
        missing: MissingRecords,
        dispatch: Dispatching,
        log: LogOffsets,
        confirming: Confirming,
    ) -> None:
        self.missing = missing
        self._log = log
        self.append_copy = appender.append
        self.forget_partial = appender.forget_partial
        self.dispatch_soon = dispatch.soon
        self.flush_log = confirming.flush_log

    @classmethod
    def of(cls, parts: CopyParts) -> ReplicaLog:
        """That of a store of these parts."""
        files, levels = parts.files, parts.files.queues.delays
        parts.inline.describe_copied = CopiedDispatch(levels).describe
        appender = CopyAppender(files, parts.appender, parts.inline, parts.refusals, parts.reading)
        putting_back = PuttingBack(files.log, files.queues, parts.quarantine, levels, parts.now_ms)
        missing = MissingRecords(files, parts.search, parts.damage, parts.dispatch, putting_back)
        return cls(appender, missing, parts.dispatch, parts.log, parts.confirming)

    @property
    def max_offset(self) -> int:
        """Log offset behind the last whole record, bytes."""
        return self._log.max_offset

    @property
    def flushed_offset(self) -> int:
        """First log offset that is not known to be on disk, bytes."""
        return self._log.flushed_offset

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing that the master has."""
        return not (self.missing.reports() and self.missing.needed())
