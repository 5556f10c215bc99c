"""Recovery at start: where log, queues and index end, and making them agree (store.md §4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from mqframe.core.codes import SysFlag
from mqframe.core.delay.levels import parse_levels
from mqframe.core.storage.damage import Stretch, bridge, last_data
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.core.storage.recovery import Care, start_after_crash
from mqframe.log import get_logger
from mqframe.store.files.layout import Layout
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import ENTRY, ConsumeQueue
from mqframe.store.queues.queue_table import QueueEnds
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.log_check import LogCheck
from mqframe.store.upkeep.quarantine import LostEntries, Quarantine, Report
from mqframe.store.upkeep.queue_flusher import sync_paths

log: Final = get_logger("store")
COMMITS_MAX: Final = 1 << 15
_QUEUES_TOLD: Final = 20
_ends_decoder: Final = msgspec.msgpack.Decoder(QueueEnds)


class Recovered(NamedTuple):
    """`store_time`: of the newest record, ms; `records`: how many were checked.

    `last_commits`: log offsets of the committed transactional messages that the log ends with, at most
    `COMMITS_MAX`: a crash may have come before what has to follow them. `set_aside`: what this start took out
    of the log.
    """

    store_time: int
    records: int
    last_commits: tuple[int, ...] = ()
    set_aside: tuple[Report, ...] = ()


class Recovery:
    """Brings the parts of one store into agreement.

    `now_ms`: for reports. Damaged records are set aside. Raises `UndecidedDamage`, with no message touched,
    where it cannot be told whether something was lost, unless `care` accepts that.
    """

    def __init__(
        self,
        layout: Layout,
        settings: StoreSettings,
        files: MessageFiles,
        now_ms: Callable[[], int],
        care: Care,
    ) -> None:
        self._layout = layout
        self._now_ms = now_ms
        self._care = care
        self._quarantine = Quarantine(layout.quarantine)
        self._gaps: dict[Stretch, list[LostEntries]] = {}
        self._levels = parse_levels(settings.delay_levels)
        self._crc = settings.check_crc_on_recovery
        self._log, self._queues, self._index, self._checkpoint = files

    def run(self, killed: bool) -> Recovered:
        """Recover after an orderly stop, or (`killed`) after any other end. Raises `StoreError`, OSError."""
        ends = self._orderly_ends() if not killed and self._care is Care.USUAL else None
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
        check = self._check(start, ends is not None, commits)
        newest = max(check.newest, self._checkpoint.log, self._checkpoint.queues)
        set_aside = tuple(self._set_aside(stretch, check.newest) for stretch in check.stretches)
        self._queues.cut_after(check.end)
        if self._index is not None:
            self._index.write()
            self._index.rewind(check.end)
        self._cut_log(check.end, killed)
        return Recovered(newest, check.records, tuple(commits), set_aside)

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
        if self._care is not Care.USUAL:
            start = files[0].base
        elif killed:
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

    def _check(self, start: int, known: bool, commits: deque[int]) -> LogCheck:
        check = LogCheck(
            self._log,
            self._checkpoint,
            check_crc=self._crc,
            end_is_known=known,
            accept_loss=self._care is Care.ACCEPT_LOSS,
        )
        last: LogRecord | None = None
        for record in check.walk(start):
            self._dispatch(record, check.stretches)
            if last is not None:
                _note(last, commits)
            last = record
        if last is not None and last.end == check.end and last.properties.endswith("\0"):
            # No text ends so: the write of the last record was cut off in its properties, which have no CRC.
            check.end = last.physical_offset
        elif last is not None:
            _note(last, commits)
        check.end = self._before_empty_files(check.end)
        return check

    def _before_empty_files(self, end: int) -> int:
        # A file that was made ahead is not needed when the one before it ended exactly.
        last = self._log.files[-1]
        return min(end, last.base + self._log.file_bytes)

    def _dispatch(self, record: LogRecord, stretches: list[Stretch]) -> None:
        if record.has_queue_entry:
            queue = self._queues.queue(record.topic, record.queue_id)
            if record.end > queue.covered:
                if stretches and 0 < queue.end < record.queue_offset:
                    lost = LostEntries(record.topic, record.queue_id, queue.end, record.queue_offset)
                    self._gaps.setdefault(stretches[-1], []).append(lost)
                code = queue_code(record.topic, record.properties, record.store_timestamp, self._levels)
                queue.write(
                    record.queue_offset, ENTRY.pack(record.physical_offset, record.size, code), record.end
                )
                self._queues.dirty.add(queue)
        if self._index is not None and record.is_indexed:
            keys = index_keys(record.properties)
            if keys:
                self._index.add(record.topic, [(record.physical_offset, keys)], record.store_timestamp)

    def _set_aside(self, stretch: Stretch, newest: int) -> Report:
        """Copy `stretch` to the quarantine, and lead queues and readers of the log past it.

        In this order, each step on disk before the next: whatever a crash leaves is found once more.
        """
        file = self._log.file_at(stretch.start)
        assert file is not None
        at, end = stretch.start - file.base, stretch.end - file.base
        copy = self._quarantine.copy(file.view[at:end], stretch.start)
        lost = self._listed_in(stretch)
        report = Report(
            stretch.start, stretch.end, stretch.unfinished, copy, self._now_ms(), newest,
            [*lost.values(), *self._gaps.get(stretch, ())],
        )  # fmt: skip
        path = self._quarantine.report(report)
        for queue, entries in lost.items():
            sync_paths(queue.blot(entries.start, entries.end))
        for place, data in bridge(file.view, file.base, at, end, newest):
            file.write(place, data)
        file.sync()
        log.error(
            "a part of the log holds no good record; set aside, and passed over",
            start=stretch.start,
            end=stretch.end,
            unfinished=stretch.unfinished,
            records=report.records,
            queues=[f"{each.topic}:{each.queue_id}" for each in report.queues[:_QUEUES_TOLD]],
            report=str(path),
        )
        return report

    def _listed_in(self, stretch: Stretch) -> dict[ConsumeQueue, LostEntries]:
        found = {}
        for queue in self._queues:
            if queue.covered > stretch.start:
                start, end = queue.listed_within(stretch.start, stretch.end)
                if start < end:
                    found[queue] = LostEntries(queue.topic, queue.queue_id, start, end)
        return found

    def _cut_log(self, end: int, killed: bool) -> None:
        files = self._log.files
        self._log.end = self._log.flushed = end
        file = self._log.file_at(end)
        later = bool(files) and files[-1].base >= end and len(files) > 1
        stale = file is not None and any(file.view[end - file.base : end - file.base + 8])
        if killed or later or stale:
            self._keep_tail(end)
            self._log.cut(end)

    def _keep_tail(self, end: int) -> None:
        """Copy what a cut at `end` takes away, as far as there is anything."""
        for file in self._log.files:
            at = max(end - file.base, 0)
            if at < file.size and (stop := last_data(file, at)) > at:
                copy = self._quarantine.copy(file.view[at:stop], file.base + at)
                log.warning(
                    "the log ends at an unfinished record; what lay behind is kept", offset=end, copy=copy
                )


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
    layout.queue_ends.write_bytes(msgspec.msgpack.encode(ends))
