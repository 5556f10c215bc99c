"""Recovery at start: where log, queues and index end, and making them agree (store.md §4)."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

import msgspec

from mqframe.core.codes import SysFlag
from mqframe.core.delay.levels import parse_levels
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.log_scan import LogRecord, is_blank, read_record, scan
from mqframe.core.storage.recovery import start_after_crash
from mqframe.log import get_logger
from mqframe.store.files.layout import Layout
from mqframe.store.files.modes import write_file
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import ENTRY
from mqframe.store.queues.queue_table import QueueEnds
from mqframe.store.settings import StoreSettings

log: Final = get_logger("store")
COMMITS_MAX: Final = 1 << 15
_ends_decoder: Final = msgspec.msgpack.Decoder(QueueEnds)


class Recovered(NamedTuple):
    """`store_time`: of the newest record, ms; `records`: how many were checked.

    `last_commits`: log offsets of the committed transactional messages that the log ends with, at most
    `COMMITS_MAX`: a crash may have come before what has to follow them.
    """

    store_time: int
    records: int
    last_commits: tuple[int, ...] = ()


class Recovery:
    """Brings the parts of one store into agreement. Nothing in it raises for damaged records."""

    def __init__(self, layout: Layout, settings: StoreSettings, files: MessageFiles) -> None:
        self._layout = layout
        self._levels = parse_levels(settings.delay_levels)
        self._crc = settings.check_crc_on_recovery
        self._log, self._queues, self._index, self._checkpoint = files

    def run(self, killed: bool) -> Recovered:
        """Recover after an orderly stop, or (`killed`) after any other end. Raises `StoreError`, OSError."""
        ends = self._orderly_ends() if not killed else None
        # Whatever happens from now on, what the last stop noted is stale.
        self._layout.queue_ends.unlink(missing_ok=True)
        if ends is None:
            self._queues.load(killed)
        else:
            self._queues.restore_ends(ends)
        if self._index is not None:
            self._index.load()
        if not self._log.files:
            self._queues.clear()
            if self._index is not None:
                self._index.rewind(0)
            return Recovered(0, 0)
        start = self._before_lost_keys(ends.log_end if ends is not None else self._start(killed), killed)
        commits: deque[int] = deque(maxlen=COMMITS_MAX)
        newest, records, end = self._check(start, commits)
        self._queues.cut_after(end)
        if self._index is not None:
            self._index.write()
            self._index.rewind(end)
        self._cut_log(end, killed)
        newest = max(newest, self._checkpoint.log, self._checkpoint.queues)
        return Recovered(newest, records, tuple(commits))

    def _orderly_ends(self) -> QueueEnds | None:
        try:
            ends = _ends_decoder.decode(self._layout.queue_ends.read_bytes())
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        # Another broker (Apache's) may have used the directory since: then log files or checkpoint differ.
        same = ends.log_files == [file.base for file in self._log.files]
        file = self._log.file_at(ends.log_end)
        inside = file is not None or (
            bool(self._log.files) and ends.log_end == self._log.files[-1].base + self._log.file_bytes
        )
        return ends if same and inside and ends.checkpoint == self._checkpoint.encode() else None

    def _start(self, killed: bool) -> int:
        files = self._log.files
        if killed:
            firsts = [read_record(file.view, 0, file.base, crc=self._crc) for file in files]
            number = start_after_crash(
                [record.store_timestamp if record else None for record in firsts],
                self._checkpoint.log,
                self._checkpoint.queues,
            )
            start = files[number].base
        else:
            start = max((queue.covered for queue in self._queues), default=0)
            if not files[0].base <= start <= files[-1].base + self._log.file_bytes:
                start = files[0].base
        return start

    def _before_lost_keys(self, start: int, killed: bool) -> int:
        """Where to start so that the index gets back what it has lost."""
        if self._index is None:
            return start
        if killed:
            # What lies before is on disk, see `QueueFlusher.flush`; what follows is indexed once more.
            self._index.rewind(start)
        if not self._index.lost:
            return start
        file = self._log.file_at(self._index.covered)
        return min(start, file.base if file is not None else self._log.start)

    def _check(self, start: int, commits: deque[int]) -> tuple[int, int, int]:
        newest = records = 0
        position = start
        last: LogRecord | None = None
        for file in self._log.files:
            if position >= file.base + self._log.file_bytes or position < file.base:
                continue
            for record in scan(file.view, file.base, position - file.base, crc=self._crc):
                self._dispatch(record)
                position = record.end
                newest = max(newest, record.store_timestamp)
                records += 1
                if last is not None:
                    _note(last, commits)
                last = record
            if position - file.base < self._log.file_bytes and not is_blank(file.view, position - file.base):
                break
            position = file.base + self._log.file_bytes
        if last is not None and last.end == position and last.properties.endswith("\0"):
            # No text ends so: the write of the last record was cut off in its properties, which have no CRC.
            position = last.physical_offset
        elif last is not None:
            _note(last, commits)
        return newest, records, self._before_empty_files(position)

    def _before_empty_files(self, end: int) -> int:
        # A file that was made ahead is not needed when the one before it ended exactly.
        last = self._log.files[-1]
        return min(end, last.base + self._log.file_bytes)

    def _dispatch(self, record: LogRecord) -> None:
        if record.has_queue_entry:
            queue = self._queues.queue(record.topic, record.queue_id)
            if record.end > queue.covered:
                code = queue_code(record.topic, record.properties, record.store_timestamp, self._levels)
                queue.write(
                    record.queue_offset, ENTRY.pack(record.physical_offset, record.size, code), record.end
                )
                self._queues.dirty.add(queue)
        if self._index is not None and record.is_indexed:
            keys = index_keys(record.properties)
            if keys:
                self._index.add(record.topic, [(record.physical_offset, keys)], record.store_timestamp)

    def _cut_log(self, end: int, killed: bool) -> None:
        files = self._log.files
        self._log.end = self._log.flushed = end
        file = self._log.file_at(end)
        later = bool(files) and files[-1].base >= end and len(files) > 1
        stale = file is not None and any(file.view[end - file.base : end - file.base + 8])
        if killed or later or stale:
            if stale:
                log.warning("the log ends at a damaged or unfinished record", offset=end)
            self._log.cut(end)


def _note(record: LogRecord, commits: deque[int]) -> None:
    if record.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT:
        commits.append(record.physical_offset)
    elif commits:
        commits.clear()


def save_ends(layout: Layout, files: MessageFiles, newest: int) -> None:
    """Leave for the next start where everything ends, after an orderly stop with all files synced.

    `newest`: store time of the newest message, ms.
    """
    files.checkpoint.log = files.checkpoint.queues = newest
    files.checkpoint.save()
    log_files = [file.base for file in files.log.files]
    ends = files.queues.ends(log_files, files.log.end, files.checkpoint.encode())
    write_file(layout.queue_ends, msgspec.msgpack.encode(ends))
