"""Walking a store's log at its start: good records, stretches that are none, and its end (store.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from mqframe.core.errors import StoreError
from mqframe.core.storage.damage import Stretch, damaged_end, has_empty_page, next_good
from mqframe.core.storage.log_reading import LogRuns
from mqframe.core.storage.log_scan import LogRecord, has_empty_sector, is_blank, read_record, read_records
from mqframe.core.storage.record import BLANK_BYTES
from mqframe.core.storage.recovery import CHECKPOINT_MARGIN_MS
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.log_file import LogFile
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.log.log_view import LogView

_STORED: Final = attrgetter("store_timestamp")
ALONE_BYTES, LEFT_BYTES = 1 << 18, 1 << 12
"""So much Python reads at once: until something was said ahead; then, before it asks again what can be."""
ReadAhead = Callable[[memoryview, int, int, bool], LogRuns | None]
"""As `LogReading.read`: given a view, a byte of it, the log offset of the view, whether CRCs are checked."""
_ADVICE: Final = (
    " No message was touched. Put the right file back, from a copy or a replica, or go on without what is"
    " lost: mqframe store recover {root} --accept-loss"
)


class UndecidedDamage(StoreError):
    """A log that may have lost what had been on the disk; somebody has to say how to go on."""


class KnownEnds(NamedTuple):
    """What was noted of a log: its end when it was stopped in good order, and up to where it was on disk.

    Log offsets; `None`: nothing is known. Without the latter the checkpoint's time has to tell.
    """

    orderly: int | None
    on_disk: int | None


class LogCheck:
    """One walk. Raises `UndecidedDamage` in it, unless `accept_loss`.

    Behind zeros where an orderly stop has told that the log ends, nothing is searched.
    When `walk` is over, `end` is the log offset at which the log ends; `newest` the store time of the newest
    record, ms (in the walk, of those before what it gives); `records` how many were walked over; `stretches`
    what holds no good record though the log goes on behind it, in order.
    """

    def __init__(
        self,
        log: CommitLog | LogView,
        checkpoint: Checkpoint,
        *,
        check_crc: bool,
        known: KnownEnds,
        accept_loss: bool,
    ) -> None:
        self._log = log
        self._checkpoint = checkpoint
        self._check_crc = check_crc
        self._known = known
        self._accept_loss = accept_loss
        self.end = self.newest = self.records = 0
        self.stretches: list[Stretch] = []

    def walk(self, start: int, ahead: ReadAhead) -> Iterator[tuple[list[LogRecord], LogRuns | None]]:
        """The good records from log offset `start` on, in order, some neighbours at once.

        With what `ahead` says of neighbours comes the last of them alone.
        """
        self.end, left = start, ALONE_BYTES
        while (file := self._log.file_at(self.end)) is not None:
            base, crc = file.base, self._check_crc
            while True:
                at = self.end - base
                runs = ahead(file.view, at, base, crc)
                if runs is None:
                    records = read_records(file.view, at, base, at + left, crc=crc)
                else:
                    left = LEFT_BYTES
                    records = read_records(file.view, runs.last - base, base, runs.end - base, crc=crc)
                if not records:
                    break
                self.records += len(records) if runs is None else runs.records
                self.end = records[-1].end
                newest = max(map(_STORED, records)) if runs is None else runs.newest
                yield records, runs
                self.newest = max(self.newest, newest)
            if at < file.size and not is_blank(file.view, at):
                if not self._pass_over(file, at):
                    break
            else:
                self.end = file.base + file.size
        self.compare_with_note()

    def compare_with_note(self) -> None:
        """Raise `UndecidedDamage` where the log ends before what had been on the disk."""
        on_disk = self._known.on_disk
        if on_disk is not None and self.end < on_disk and not self._accept_loss:
            raise UndecidedDamage(
                f"the log in {self._log.directory} ends at offset {self.end}, but had been on the disk up to"
                f" {on_disk}." + self._advice()
            )

    def _pass_over(self, file: LogFile, at: int) -> bool:
        """Go on behind the bad bytes at `at`; False where the log ends there."""
        following = self._following(file, at)
        if following is None:
            return self._pass_over_last(file, at)
        start, self.end = self.end, following
        while start < following:
            within = self._log.file_at(start)
            assert within is not None
            end = min(following, within.base + within.size)
            self._note(within, start, end)
            start = end
        return True

    def _following(self, file: LogFile, at: int) -> int | None:
        orderly = self._known.orderly
        if orderly is not None and self.end >= orderly and not any(file.view[at : at + 8]):
            return None
        files = self._log.files
        for candidate in files[files.index(file) :]:
            first = at if candidate is file else 0
            if candidate is not file and read_record(candidate.view, 0, candidate.base) is not None:
                return candidate.base
            found = next_good(candidate, candidate.base, first, self.newest)
            if found is not None:
                return candidate.base + found
        return None

    def _pass_over_last(self, file: LogFile, at: int) -> bool:
        end = damaged_end(file, at, self.end)
        if end is not None:
            if file.size - end < BLANK_BYTES:
                end = file.size  # where no blank mark fits the file has to end
            self._note(file, self.end, file.base + end)
            self.end = file.base + end
            return True
        durable = self._checkpoint.log - CHECKPOINT_MARGIN_MS
        # Where queues know of the records before, as after an orderly stop, none of them may be read here.
        was_read = self.records > 0 or self.end == self._log.start
        if self._known.on_disk is None and was_read and self.newest < durable and not self._accept_loss:
            raise UndecidedDamage(
                f"the log in {self._log.directory} ends at offset {self.end} (byte {at} of {file.path.name})"
                f" with a message of {self.newest} ms, but messages up to {durable} ms had been on the disk."
                + self._advice()
            )
        return False

    def _note(self, file: LogFile, start: int, end: int) -> None:
        at, stop = start - file.base, end - file.base
        if not self._checkpoint.is_known and not self._accept_loss and has_empty_page(file.view, at, stop):
            raise UndecidedDamage(
                f"the log in {self._log.directory} has zeros at offset {start} (byte {at} of"
                f" {file.path.name}) and goes on at {end}; there is no checkpoint that tells whether messages"
                " were there." + self._advice()
            )
        self.stretches.append(Stretch(start, end, has_empty_sector(file.view, at, stop)))

    def _advice(self) -> str:
        return _ADVICE.format(root=self._log.directory.parent)
