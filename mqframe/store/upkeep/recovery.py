"""Recovery at start: where log, queues and index end, and making them agree (store.md §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mqframe.core.messages.names import is_queue_place
from mqframe.core.storage.damage import Stretch
from mqframe.core.storage.log_reading import LogReading
from mqframe.core.storage.log_scan import LogRecord, is_blank, read_record
from mqframe.core.storage.recovery import Care, start_after_crash
from mqframe.log import get_logger
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.layout import Layout
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.queue_ends import QueueEnds, read_ends, save_note
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.agreement import Agreement, ends_of
from mqframe.store.upkeep.contradictions import Contradictions
from mqframe.store.upkeep.dispatch_mark import DispatchMark
from mqframe.store.upkeep.last_commits import LastCommits
from mqframe.store.upkeep.log_check import KnownEnds, LogCheck
from mqframe.store.upkeep.opening_progress import OpeningProgress
from mqframe.store.upkeep.quarantine import LostEntries, QuarantineReport
from mqframe.store.upkeep.redispatch import Redispatch
from mqframe.store.upkeep.setting_aside import SettingAside

log: Final = get_logger("store")


class Recovered(NamedTuple):
    """`store_time`: of the newest record, ms; `records`: how many were checked.

    `last_commits`: log offsets of the committed transactional messages that the log ends with, see
    `LastCommits`: a crash may have come before what has to follow them. `set_aside`: what this start took out
    of the log. `damaged_heads`, `lost_heads`, `without_record`, `odd_tags`: as `Contradictions`
    counts them.
    """

    store_time: int
    records: int
    last_commits: tuple[int, ...] = ()
    set_aside: tuple[QuarantineReport, ...] = ()
    damaged_heads: int = 0
    lost_heads: int = 0
    without_record: int = 0
    odd_tags: int = 0


class Recovery:
    """Brings the parts of one store into agreement.

    Damaged records go to `setting_aside`. `care`: how careful to be, and whether the log is a copy of another
    broker's: there those at its end are cut off, and come again. Raises `UndecidedDamage`, with no message
    touched, where it cannot be told whether something was lost, unless that is accepted.
    """

    def __init__(
        self,
        layout: Layout,
        settings: StoreSettings,
        files: MessageFiles,
        setting_aside: SettingAside,
        care: tuple[Care, bool],
    ) -> None:
        self._layout = layout
        self._care, self._is_copy = care
        self._crc = settings.check_crc_on_recovery
        self._log, self._queues, self._index, self._checkpoint = files
        self._setting_aside = setting_aside
        self._lost: list[tuple[Stretch, list[LostEntries], int]] = []
        self._mark = DispatchMark(layout)
        # Before the owner's mark is made anew: it counts for the former one only.
        self._marked = self._mark.trusted()

    def run(self, killed: bool, progress: OpeningProgress, reading: type[LogReading]) -> Recovered:
        """Recover after an orderly stop, or (`killed`) after any other end. Raises `StoreError`, OSError.

        `progress`: is told how far the log is checked; `reading`: how that is read.
        """
        self._redispatch = Redispatch(self._queues, self._index, self._queues.delays, reading)
        believed = self._believed()
        noted = self._fitting(believed)
        ends = self._orderly_ends(noted) if not killed and self._care is Care.USUAL else None
        marked = self._marked if killed and self._care is Care.USUAL else None
        # Whatever happens from now on, it is stale.
        self._mark.clear()
        self._load(killed, ends, noted)
        self._queues.remove_deleted()
        on_disk = None if believed is None else believed.log_end
        if not self._log.files:
            self._log_check(KnownEnds(None, on_disk)).compare_with_note()  # refuses, if there was a log
            self._layout.queue_ends.unlink(missing_ok=True)
            self._queues.clear()
            if self._index is not None:
                self._index.rewind(0)
            return Recovered(0, 0)
        start = self._start(killed) if ends is None else ends.log_end
        exact = killed and marked is not None and self._is_boundary(marked)
        if marked is not None and exact:
            start = max(start, marked)
        trusted, start = start, self._before_disagreement(start, noted, torn=killed and not exact)
        commits = LastCommits()
        if start < trusted:
            # Killed before its end, the work is to be done once more.
            self._checkpoint.queues = 0
            self._checkpoint.save()
        check = self._log_check(KnownEnds(None if ends is None else ends.log_end, on_disk))
        progress.begin(start, self._log.files[-1].base + self._log.file_bytes)
        self._take_all(check, start, commits, progress)
        end = self._before_damaged_end(check.end) if self._is_copy else check.end
        self._redispatch.finish(self._log.start, start <= self._log.start)
        self._queues.cut_after(end)
        set_aside = tuple(self._set_aside())[::-1]
        if noted is not None:
            self._go_on_behind(noted)
        if self._index is not None:
            self._index.rewind(end)
        self._cut_log(end, killed)
        if self._care is Care.ACCEPT_LOSS:
            self._layout.queue_ends.unlink(missing_ok=True)  # it speaks of what is lost
        told = Contradictions(self._log, self._queues, self._redispatch.notes)
        told.settle(self._setting_aside.reports())
        for queue in self._queues:
            queue.loaded = queue.end
        newest = max(check.newest, self._checkpoint.log, self._checkpoint.queues)
        last_commits = commits.offsets(self._log, self._queues, start)
        counts = told.found, told.lost, told.without_record, told.tags
        return Recovered(newest, check.records, last_commits, set_aside, *counts)

    def _believed(self) -> QueueEnds | None:
        """What was noted last, unless another broker has been there since."""
        noted = read_ends(self._layout.queue_ends)
        # Another broker (Apache's) writes checkpoints of its own, and leaves the note alone.
        newer = noted is not None and (
            (self._checkpoint.log, self._checkpoint.queues) > Checkpoint.decode(noted.checkpoint)[:2]
        )
        return None if newer else noted

    def _fitting(self, noted: QueueEnds | None) -> QueueEnds | None:
        """What was noted of queues and index; `None` when it may not be of this store as it is."""
        if noted is None:
            return None
        log_files, now = noted.log_files, [file.base for file in self._log.files]
        gone = [base for base in log_files if base not in now and (not now or base > now[0])]
        return None if gone else noted

    def _load(self, killed: bool, ends: QueueEnds | None, noted: QueueEnds | None) -> None:
        if ends is not None:
            self._queues.restore_ends(ends)
            return
        self._queues.load(killed)
        if noted is not None:
            self._queues.forget_doubts_behind(noted)
            self._queues.expect(noted, first_files=noted.log_files[:1] == [self._log.start])

    def _go_on_behind(self, noted: QueueEnds) -> None:
        for topic, rows in noted.queues.items():
            for row in rows:
                if row[5] <= self._queues.deleted.offset(topic) or not is_queue_place(topic, row[0]):
                    continue
                queue = self._queues.queue(topic, row[0])
                if queue.end < row[4]:
                    queue.raise_to(row[4])
                    self._queues.dirty.add(queue)

    def _is_boundary(self, offset: int) -> bool:
        """Whether a record begins at log `offset`, or the unused end of a file."""
        file = self._log.file_at(offset)
        if file is None:
            return bool(self._log.files) and offset == self._log.files[-1].base + self._log.file_bytes
        at = offset - file.base
        blank = is_blank(file.view, at) or not any(file.view[at : at + 8])
        return blank or read_record(file.view, at, offset, crc=False) is not None

    def _orderly_ends(self, ends: QueueEnds | None) -> QueueEnds | None:
        if ends is None or not ends.orderly:
            return None
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
            if (
                not self._checkpoint.queues
                or not files[0].base <= start <= files[-1].base + self._log.file_bytes
            ):
                start = files[0].base
        return start

    def _before_disagreement(self, start: int, noted: QueueEnds | None, *, torn: bool) -> int:
        """Where to start so that queues and index get back what they have lost.

        `torn`: what queues and index hold of records from `start` on may not have reached the disk.
        """
        agreement = Agreement(MessageFiles(self._log, self._queues, self._index, self._checkpoint), start)
        queues_start = agreement.start()
        if self._index is None:
            return queues_start
        # What lies before `start` is on disk, see `QueueFlusher.flush`.
        keys_start = self._index.recover(agreement, noted.index if noted else (), start, torn=torn)
        return queues_start if keys_start is None else min(queues_start, keys_start)

    def _take_all(self, check: LogCheck, start: int, commits: LastCommits, progress: OpeningProgress) -> None:
        last: LogRecord | None = None
        for records, said in check.walk(start, self._redispatch.ahead):
            progress.reached(check.end)
            self._note_stretches(check)
            self._redispatch.take(records, said)
            if last is not None:
                commits.take([last])
            last = records.pop()
            commits.take(records)
        self._note_stretches(check)
        if last is not None and last.end == check.end and last.properties.endswith("\0"):
            # No text ends so: the write of the last record was cut off in its properties, which have no CRC.
            check.end = last.physical_offset
        elif last is not None:
            commits.take([last])
        check.end = self._before_empty_files(check.end)

    def _log_check(self, known: KnownEnds) -> LogCheck:
        accept_loss = self._care is Care.ACCEPT_LOSS
        return LogCheck(
            self._log, self._checkpoint, check_crc=self._crc, known=known, accept_loss=accept_loss
        )

    def _note_stretches(self, check: LogCheck) -> None:
        """Look what queues list of each new stretch, before they are written anew."""
        for stretch in check.stretches[len(self._lost) :]:
            self._lost.append((stretch, self._setting_aside.listed(stretch), check.newest))

    def _before_damaged_end(self, end: int) -> int:
        while self._lost and self._lost[-1][0].end == end:
            end = self._lost.pop()[0].start
        return end

    def _set_aside(self) -> Iterator[QuarantineReport]:
        gaps = list(self._redispatch.gaps)
        for stretch, listed, after_ms in reversed(self._lost):
            known = {(each.topic, each.queue_id): each for each in listed}
            for before, gap in gaps:
                if before >= stretch.end:
                    known.setdefault((gap.topic, gap.queue_id), gap)
            gaps = [(before, gap) for before, gap in gaps if before < stretch.end]
            yield self._setting_aside.set_aside(stretch, list(known.values()), after_ms)

    def _before_empty_files(self, end: int) -> int:
        # A file that was made ahead is not needed when the one before it ended exactly.
        last = self._log.files[-1]
        return min(end, last.base + self._log.file_bytes)

    def _cut_log(self, end: int, killed: bool) -> None:
        files = self._log.files
        self._log.end = self._log.flushed = end
        file = self._log.file_at(end)
        later = bool(files) and files[-1].base >= end and len(files) > 1
        stale = file is not None and any(file.view[end - file.base : end - file.base + 8])
        if killed or later or stale:
            self._setting_aside.keep_tail(end)
            self._log.cut(end)


def save_ends(layout: Layout, files: MessageFiles, newest: int) -> None:
    """Leave for the next start where everything ends, after an orderly stop with all files synced.

    `newest`: store time of the newest message, ms.
    """
    files.checkpoint.log = files.checkpoint.queues = newest
    files.checkpoint.save()
    save_note(layout.queue_ends, ends_of(files, files.log.end, orderly=True).encode())
