"""Whether the index says what the log says, told at each start from few samples (store.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from mqframe.core.storage.agreement import samples
from mqframe.core.storage.dispatch_facts import index_keys
from mqframe.core.storage.log_scan import LogRecord
from mqframe.hooks.interfaces.key_index import RecoveredLog
from mqframe_index.store.index_file import IndexFile
from mqframe_index.store.key_hashes import index_hash

_SAMPLES_OF_A_FILE: Final = 64
_CHAIN_MAX: Final = 1000
Offsets = Callable[[str, str, int, int], Iterator[int]]
"""Log offsets of records that may have a key: of this topic, this key, stored from and to (ms)."""


class IndexAgreement:
    """Compares samples of the index with the log.

    `start`: the log offset from which a start enters everything again anyway.
    """

    def __init__(self, log: RecoveredLog, start: int) -> None:
        self._log = log
        self._start = start

    def first_wrong(self, files: Sequence[IndexFile]) -> int | None:
        """The number of the first of `files` that does not say what the log says; `None`: all do."""
        return next((number for number, file in enumerate(files) if not self._agrees(file)), None)

    def _agrees(self, file: IndexFile) -> bool:
        if not file.is_plausible:
            return False
        for number in samples(1, file.count, _SAMPLES_OF_A_FILE):
            key_hash, offset, reached = file.sample(number)
            if not reached or not file.begin_offset <= offset <= file.end_offset:
                return False
            if offset < self._log.log_start or offset >= self._start:
                continue
            record = self._log.record(offset)
            if record is None:
                return False
            keys = index_keys(record.properties)
            if key_hash not in [index_hash(f"{record.topic}#{key}") for key in keys]:
                return False
        return True

    def keys_found(self, offsets: Offsets) -> bool:
        """Whether keys of some records lead to them."""
        return all(
            _finds(offsets, record, key)
            for record in self._log.heads()
            if record.is_indexed
            for key in index_keys(record.properties)[:1]
        )


def _finds(offsets: Offsets, record: LogRecord, key: str) -> bool:
    """Whether `key` leads to `record`; also when so many others have it that nobody can tell."""
    found = offsets(record.topic, key, record.store_timestamp, 1 << 62)
    looked = 0
    for offset in islice(found, _CHAIN_MAX):
        if offset == record.physical_offset:
            return True
        looked += 1
    return looked == _CHAIN_MAX
