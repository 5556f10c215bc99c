"""Searches of a store: the log by offset, the index by key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from mqframe.core.messages.properties import UNIQUE_KEY, find_property
from mqframe.core.storage.dispatch_facts import index_keys
from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.store.incoming import QueryFound
from mqframe.store.index.key_index import KeyIndex
from mqframe.store.log.commit_log import CommitLog

_QUERY_MAX: Final = 64
_QUERY_LOOKS_MAX: Final = 1024
_QUERY_BYTES_MAX: Final = 4 << 20


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
        """Records with exactly this key (a business key or a unique id), newest first.

        `unique`: only records whose unique id it is. No more than 1,024 records are looked at, and about
        4 MiB of them are given.
        """
        index = self._index
        if index is None:
            return QueryFound([], 0, 0)
        last = index.files[-1] if index.files else None
        records: list[bytes] = []
        seen: set[int] = set()
        size = 0
        for offset in islice(index.offsets(topic, key, begin_ms, end_ms), _QUERY_LOOKS_MAX):
            if len(records) >= min(max_count, _QUERY_MAX) or size >= _QUERY_BYTES_MAX:
                break
            found = self.find(offset)
            if found is None or offset in seen:
                continue
            record, raw = found
            seen.add(offset)
            if record.topic != topic or not begin_ms <= record.store_timestamp <= end_ms:
                continue
            if unique:
                matches = find_property(record.properties, UNIQUE_KEY) == key
            else:
                matches = key in index_keys(record.properties)
            if matches:
                records.append(bytes(raw))
                size += len(raw)
        return QueryFound(records, last.end_timestamp if last else 0, last.end_offset if last else 0)
