"""Searches of a store: the log by offset, the index by key."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.hooks.interfaces.key_index import KeyIndex, KeyQuery, QueryFound
from mqframe.store.log.commit_log import CommitLog


class Search:
    """Finds records of one store at a log offset, and with a key.

    `confirmed`: returns the first log offset that consumers may not see yet, bytes.
    """

    def __init__(self, log: CommitLog, index: KeyIndex | None, confirmed: Callable[[], int]) -> None:
        self._log = log
        self._index = index
        self._confirmed = confirmed

    def record_at(self, commit_log_offset: int, *, unconfirmed: bool = False) -> bytes | None:
        """The record that starts at this log offset; `None` when none does.

        `unconfirmed`: also one that consumers may not see yet.
        """
        found = self.find(commit_log_offset)
        if found is None or not (unconfirmed or found[0].end <= self._confirmed()):
            return None
        return bytes(found[1])

    def find(self, offset: int) -> tuple[LogRecord, memoryview] | None:
        """The record that starts at log `offset`, with its bytes; `None` when none does."""
        file = self._log.file_at(offset)
        if file is None or offset >= self._log.end:
            return None
        record = read_record(file.view, offset - file.base, offset, crc=False)
        if record is None or record.end > self._log.end:
            return None
        return record, file.view[offset - file.base : record.end - file.base]

    def query(
        self,
        topic: str,
        key: str,
        max_count: int,
        begin_ms: int = 0,
        end_ms: int = (1 << 63) - 1,
        *,
        unique: bool = False,
    ) -> QueryFound:
        """Records with exactly this key (a business key or a unique id), newest first, as the index has it.

        `unique`: only records whose unique id it is.
        """
        if self._index is None:
            return QueryFound([], 0, 0)
        return self._index.query(KeyQuery(topic, key, max_count, begin_ms, end_ms, unique), self.find)
