"""Queue entries that a read finds damaged, entered again from the log (store.md §3)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from mqframe.core.storage.agreement import LIGHT_PREFIX, lists
from mqframe.core.storage.dispatch_facts import queue_code
from mqframe.core.storage.log_scan import LogRecord, is_blank, read_record, scan
from mqframe.log import get_logger
from mqframe.store.incoming import ENTRY_BYTES
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.consume_queue import ENTRY, FILLER, ConsumeQueue, behind
from mqframe.store.reading.head_mending import HeadMending

log: Final = get_logger("store")
_STEP_MAX: Final = 1 << 20


class Mending:
    """Repairs entries of queues in any thread: with descriptors of its own, below the queues' ends.

    `levels`: delays, ms. `heads`: puts records right that name another place. `mended`, `lost`: entries that
    were entered again, and that no record was found for.
    """

    def __init__(self, commit_log: CommitLog, levels: tuple[int, ...], heads: HeadMending) -> None:
        self._log = commit_log
        self._levels = levels
        self.heads = heads
        self.mended = 0
        self.lost = 0

    def mend(self, queue: ConsumeQueue, offset: int, count: int) -> bool:
        """Put right what is wrong of `count` entries from `offset` on; whether anything was.

        What the log has no record for becomes a filler, so that it is found once. Raises OSError.
        """
        offset, end = max(offset, queue.min_offset_known), min(offset + count, queue.end)
        found = [at for at in range(offset, end) if not self.is_right(queue, at)]
        wrong = [at for at in found if not self._head_is_put_right(queue, at)]
        if found and not wrong:
            return True
        if not wrong or queue.topic.startswith(LIGHT_PREFIX):
            return False
        low, high = self._good_before(queue, wrong[0]), self._good_behind(queue, wrong[-1])
        entries = [self._kept(queue, at) for at in range(low + 1, high)]
        for record in self._records(behind(self._entry(queue, low)), self._log_offset(queue, high)):
            if (record.topic, record.queue_id) != queue.key or not low < record.queue_offset < high:
                continue
            at = record.queue_offset - low - 1
            if entries[at] == FILLER:  # what is right of a delay level says more than its record
                code = queue_code(record.topic, record.properties, record.store_timestamp, self._levels)
                entries[at] = ENTRY.pack(record.physical_offset, record.size, code)
        queue.checked.clear()
        self._write(queue, low + 1, entries)
        self.mended += len(wrong)
        lost = sum(entries[at - low - 1] == FILLER for at in wrong)
        self.lost += lost
        log.error(
            "damaged queue entries were entered again from the log", topic=queue.topic, queue=queue.queue_id,
            first=wrong[0], last=wrong[-1], without_record=lost,
        )  # fmt: skip
        return True

    def _head_is_put_right(self, queue: ConsumeQueue, offset: int) -> bool:
        entry = self._entry(queue, offset)
        if entry is None or not self.heads.mend((*queue.key, offset), entry):
            return False
        return self.is_right(queue, offset)

    def _kept(self, queue: ConsumeQueue, offset: int) -> bytes:
        return queue.read_elsewhere(offset, 1) if self.is_right(queue, offset) else FILLER

    def is_right(self, queue: ConsumeQueue, offset: int) -> bool:
        """Whether the entry is a filler, or lists its record."""
        raw = queue.read_elsewhere(offset, 1)
        if raw == FILLER:
            return True
        if len(raw) < ENTRY_BYTES:
            return False
        entry = ENTRY.unpack(raw)
        return lists(entry, self._record(entry[0]), queue.topic, queue.queue_id, offset)

    def _record(self, offset: int) -> LogRecord | None:
        file = self._log.file_at(offset)
        return None if file is None else read_record(file.view, offset - file.base, offset, crc=False)

    def _entry(self, queue: ConsumeQueue, offset: int) -> tuple[int, int, int] | None:
        raw = queue.read_elsewhere(offset, 1) if offset >= 0 else b""
        return None if len(raw) < ENTRY_BYTES or raw == FILLER else ENTRY.unpack(raw)

    def _is_anchor(self, queue: ConsumeQueue, offset: int) -> bool:
        return self._entry(queue, offset) is not None and self.is_right(queue, offset)

    def _good_before(self, queue: ConsumeQueue, offset: int) -> int:
        """The nearest offset before `offset`, in growing steps, that lists a record; -1: none does."""
        low, step = queue.min_offset_known, 1
        while offset - step >= low:
            if self._is_anchor(queue, offset - step):
                return offset - step
            step = min(2 * step, _STEP_MAX)
        return low - 1

    def _good_behind(self, queue: ConsumeQueue, offset: int) -> int:
        step = 1
        while offset + step < queue.end:
            if self._is_anchor(queue, offset + step):
                return offset + step
            step = min(2 * step, _STEP_MAX)
        return queue.end

    def _log_offset(self, queue: ConsumeQueue, offset: int) -> int:
        entry = self._entry(queue, offset) if offset < queue.end else None
        return self._log.end if entry is None else entry[0]

    def _records(self, start: int, end: int) -> Iterator[LogRecord]:
        position = max(start, self._log.start)
        for file in tuple(self._log.files):
            if not file.base <= position < min(end, file.base + file.size):
                continue
            for record in scan(file.view, file.base, position - file.base, end - file.base, crc=False):
                yield record
                position = record.end
            if position < end and (
                position - file.base >= file.size or is_blank(file.view, position - file.base)
            ):
                position = file.base + file.size

    def _write(self, queue: ConsumeQueue, offset: int, entries: list[bytes]) -> None:
        per_file = queue.entries_per_file
        while entries:
            room = per_file - offset % per_file
            part = b"".join(entries[:room])
            at = offset * ENTRY_BYTES
            base = at - offset % per_file * ENTRY_BYTES
            descriptor = os.open(queue.path(base), os.O_RDWR | os.O_CLOEXEC)
            try:
                os.pwrite(descriptor, part, at - base)
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
            offset += room
            entries = entries[room:]
