"""Whether queues and index say what the log says, told at each start from few samples (store.md §4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from mqframe.core.messages.java_hash import index_hash
from mqframe.core.storage.agreement import LIGHT_PREFIX, lists, samples, samples_each
from mqframe.core.storage.dispatch_facts import index_keys
from mqframe.core.storage.log_scan import LogRecord, read_record, scan
from mqframe.log import get_logger
from mqframe.store.index.index_file import IndexFile
from mqframe.store.index.key_index import KeyIndex
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import FILLER_SIZE, ConsumeQueue, behind
from mqframe.store.queues.queue_ends import QueueEnds

log: Final = get_logger("store")
_SAMPLES: Final = 20_000
"""Queue entries compared with their records in all: some 0.2 s."""
_SAMPLES_OF_A_QUEUE: Final = 64
_SAMPLES_OF_AN_INDEX_FILE: Final = 64
_LOG_FILES: Final = 64
_RECORDS_OF_A_FILE: Final = 32
_CHAIN_MAX: Final = 1000


class Agreement:
    """Compares ends and samples of the derived files of one store with its log.

    `start`: the log offset from which recovery enters everything again anyway.
    """

    def __init__(self, files: MessageFiles, start: int) -> None:
        self._log, self._queues, self._index, _ = files
        self._start = start

    def start(self) -> int:
        """From where records have to be entered again so that all agrees: `start`, or before it."""
        start = self._start
        for queue, offset in self._queues.doubts.items():
            start = min(start, self._before(queue, offset))
        if start > self._log.start:
            wrong = next(self._disagreeing(), None)
            if wrong is not None:
                log.warning("a queue does not say what the log says; all are built again", queue=wrong)
                start = self._log.start
        return start

    def _before(self, queue: ConsumeQueue, offset: int) -> int:
        """Where the log goes on behind the entry before `offset`; its start when that entry is wrong, too."""
        log.warning("a queue is built again", topic=queue.topic, queue=queue.queue_id, offset=offset)
        entry = queue.entry(offset - 1) if offset else None
        if entry is None or not self._listed(queue, offset - 1):
            return self._log.start
        return behind(entry)

    def _disagreeing(self) -> Iterator[tuple[str, int]]:
        each = samples_each(len(self._queues), _SAMPLES, _SAMPLES_OF_A_QUEUE)
        for queue in self._queues:
            if queue.topic.startswith(LIGHT_PREFIX):
                continue
            low, end = queue.min_offset(self._log.start), queue.end
            if low == end and queue.covered > self._log.start:
                yield queue.key  # the log holds its last record, and no entry says so
            if queue.covered > self._start:
                end = queue.first_from(self._start, low)
            for offset in samples(low, end, each):
                if not self._listed(queue, offset, filler=True):
                    yield queue.key
        for record in self._heads():
            listed = self._queues.get((record.topic, record.queue_id))
            if not record.has_queue_entry or self._queues.deleted.owns(record):
                continue
            entry = None if listed is None else listed.entry(record.queue_offset)
            if not lists(entry, record, record.topic, record.queue_id, record.queue_offset):
                yield (record.topic, record.queue_id)

    def _listed(self, queue: ConsumeQueue, offset: int, *, filler: bool = False) -> bool:
        entry = queue.entry(offset)
        if entry is not None and entry[1] == FILLER_SIZE and not entry[0] and not entry[2]:
            return filler
        return lists(entry, self._record(entry), queue.topic, queue.queue_id, offset)

    def _record(self, entry: tuple[int, int, int] | None) -> LogRecord | None:
        file = None if entry is None else self._log.file_at(entry[0])
        if entry is None or file is None:
            return None
        return read_record(file.view, entry[0] - file.base, entry[0], crc=False)

    def _heads(self) -> Iterator[LogRecord]:
        """The first records of some files of the log, before `start`."""
        files = self._log.files
        for number in samples(0, len(files), _LOG_FILES):
            file = files[number]
            for taken, record in enumerate(scan(file.view, file.base, crc=False)):
                if taken >= _RECORDS_OF_A_FILE or record.physical_offset >= self._start:
                    break
                yield record

    # The index

    def index_start(self) -> int | None:
        """Log offset from which the index has to be built again; `None`: it agrees. Drops what is wrong."""
        index = self._index
        if index is None:
            return None
        for number, index_file in enumerate(index.files):
            if not self._file_agrees(index_file):
                log.warning("an index file does not say what the log says", file=str(index_file.path))
                index.drop_from(number)
                break
        if not index.lost and not self._keys_found():
            log.warning("the index lacks keys of the log; it is built again")
            index.drop_from(0)
        if not index.lost:
            return None
        file = self._log.file_at(index.covered)
        if file is None or not index.files:
            return self._log.start
        return index.covered if self._record((index.covered, 0, 0)) is not None else file.base

    def _file_agrees(self, file: IndexFile) -> bool:
        if not file.is_plausible:
            return False
        for number in samples(1, file.count, _SAMPLES_OF_AN_INDEX_FILE):
            key_hash, offset, reached = file.sample(number)
            if not reached or not file.begin_offset <= offset <= file.end_offset:
                return False
            if offset < self._log.start or offset >= self._start:
                continue
            record = self._record((offset, 0, 0))
            if record is None:
                return False
            keys = index_keys(record.properties)
            if key_hash not in [index_hash(f"{record.topic}#{key}") for key in keys]:
                return False
        return True

    def _keys_found(self) -> bool:
        index = self._index
        return index is None or all(
            _finds(index, record, key)
            for record in self._heads()
            if record.is_indexed
            for key in index_keys(record.properties)[:1]
        )


def _finds(index: KeyIndex, record: LogRecord, key: str) -> bool:
    """Whether `key` leads to `record`; also when so many others have it that nobody can tell."""
    found = index.offsets(record.topic, key, record.store_timestamp, 1 << 62)
    looked = 0
    for offset in islice(found, _CHAIN_MAX):
        if offset == record.physical_offset:
            return True
        looked += 1
    return looked == _CHAIN_MAX


def ends_of(files: MessageFiles, log_end: int, *, orderly: bool = False) -> QueueEnds:
    """Where queues and index end, all of which was dispatched up to `log_end`; for the next start."""
    index = [] if files.key_index is None else files.key_index.rows()
    log_files = [file.base for file in files.log.files]
    return QueueEnds(log_files, log_end, files.checkpoint.encode(), files.queues.rows(), index, orderly)
