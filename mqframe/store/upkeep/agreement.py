"""Whether queues say what the log says, told at each start from few samples (store.md §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mqframe.core.storage.agreement import LIGHT_PREFIX, lists, samples, samples_each
from mqframe.core.storage.log_scan import LogRecord, read_record, scan
from mqframe.log import get_logger
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import FILLER_SIZE, ConsumeQueue, behind
from mqframe.store.queues.queue_ends import QueueEnds

log: Final = get_logger("store")
_SAMPLES: Final = 20_000
"""Queue entries compared with their records in all: some 0.2 s."""
_SAMPLES_OF_A_QUEUE: Final = 64
_LOG_FILES: Final = 64
_RECORDS_OF_A_FILE: Final = 32


class Agreement:
    """Compares ends and samples of the queues of one store with its log. To its index it is a `RecoveredLog`.

    `start`: the log offset from which recovery enters everything again anyway.
    """

    def __init__(self, files: MessageFiles, start: int) -> None:
        self._log, self._queues, *_ = files
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
        for record in self.heads():
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
        record = None if entry is None else self.record(entry[0])
        return lists(entry, record, queue.topic, queue.queue_id, offset)

    # What the index asks

    @property
    def log_start(self) -> int:
        """Log offset of the first record."""
        return self._log.start

    def record(self, offset: int) -> LogRecord | None:
        """The record that begins at log `offset`; its body is not checked."""
        file = self._log.file_at(offset)
        return None if file is None else read_record(file.view, offset - file.base, offset, crc=False)

    def file_start(self, offset: int) -> int | None:
        """Log offset at which the file with `offset` begins; `None` where there is none."""
        file = self._log.file_at(offset)
        return None if file is None else file.base

    def heads(self) -> Iterator[LogRecord]:
        """The first records of some files of the log, before `start`."""
        files = self._log.files
        for number in samples(0, len(files), _LOG_FILES):
            file = files[number]
            for taken, record in enumerate(scan(file.view, file.base, crc=False)):
                if taken >= _RECORDS_OF_A_FILE or record.physical_offset >= self._start:
                    break
                yield record


def ends_of(files: MessageFiles, log_end: int, *, orderly: bool = False) -> QueueEnds:
    """Where queues and index end, all of which was dispatched up to `log_end`; for the next start."""
    index = [] if files.key_index is None else files.key_index.rows()
    log_files = [file.base for file in files.log.files]
    return QueueEnds(log_files, log_end, files.checkpoint.encode(), files.queues.rows(), index, orderly)
