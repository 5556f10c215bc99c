"""Clean-up: deletes old files, refuses writes on a full disk (store.md §4; rules: core.storage.cleaning)."""

from __future__ import annotations

import logging
from collections import deque
from datetime import datetime
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.cleaning import (
    UNNOTICED_MS,
    Pressure,
    TrustedTime,
    files_to_delete,
    parse_hours,
    pressure,
)
from mqframe.log import get_logger
from mqframe.store.files.disk import DiskUsage
from mqframe.store.files.log_file import LogFile
from mqframe.store.files.threads import Threads
from mqframe.store.message_files import MessageFiles
from mqframe.store.settings import StoreSettings
from mqframe.trouble import Trouble, Troubles

log: Final = get_logger("store")
ALL_HOURS: Final = frozenset(range(24))


class Cleaner:
    """Deletes commit-log files past their time, and what queues and index hold of them.

    `refusal`: why writes are refused at the moment, `None` normally; `settings`: may change between passes.
    """

    def __init__(
        self, settings: StoreSettings, clock: Clock, files: MessageFiles, threads: Threads, usage: DiskUsage
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._log, self._queues, self._index, _ = files
        self._threads = threads
        self._usage = usage
        self._leaving: deque[LogFile] = deque()
        self._removing = False
        self.refusal: StoreUnavailable | None = None
        self._time = TrustedTime(clock, None)
        self._paused_ms = 0
        self._full = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._set_forward = Trouble(log, clock.monotonic)
        self._kept = Troubles(log, clock.monotonic, level=logging.ERROR)

    def begin(self, newest_ms: int) -> None:
        """The newest record was stored at `newest_ms`, 0 where there is none: files are as old as it says."""
        self._time = TrustedTime(self._clock, newest_ms or None)
        self._time.now_ms()
        self._paused_ms = self._time.doubted_ms
        if self._paused_ms:
            log.info(
                "nothing was stored for long; files grow old by that in a day",
                seconds=self._paused_ms // 1000,
            )

    def look(self) -> Pressure:
        """How full the disk is now; sets `refusal`."""
        settings = self.settings
        if not settings.disk_limits:
            return Pressure.NONE
        total, free = self._usage(settings.directory)
        level = pressure(total, free, settings.limits)
        if level < Pressure.REFUSE:
            self._full.over("writes are taken again", directory=settings.directory)
            self.refusal = None
            return level
        if self.refusal is None:
            used = (total - free) * 100 // total
            self.refusal = StoreUnavailable(
                f"the disk of {settings.directory} is {used} % full, writes stop above"
                f" {settings.disk_refuse_percent} %: free some space or raise store.disk_refuse_percent"
            )
        self._full.note("writes are refused", reason=self.refusal)
        return level

    def _tell_doubt(self) -> None:
        # A start after a pause finds the clock ahead of the newest record: that is the pause.
        ahead = self._time.doubted_ms - self._paused_ms
        if not self._time.doubted_ms:
            self._paused_ms = 0
        if ahead > UNNOTICED_MS:
            event = "the clock was set forward: files grow old by it once it has kept that for a day"
            self._set_forward.note(event, ahead_seconds=ahead // 1000)
        else:
            self._set_forward.over("the clock is believed again")

    def run(self, cursors: dict[str, int], *, any_hour: bool = False) -> list[LogFile]:
        """One pass. Returns the log files that are out of the log; a thread removes them from the disk.

        `cursors`: how far following dispatchers are, log bytes, by name; a warning goes out before data that
        one has not seen is deleted. `any_hour`: files past their time go whatever hour it is.
        """
        level = self.look()
        now = self._time.now_ms()
        self._tell_doubt()
        files = self._log.files
        count = files_to_delete(
            [file.modified_ms() for file in files],
            now,
            datetime.fromtimestamp(self._clock.now_ms() / 1000).hour,
            self.settings.keep_hours * 3_600_000,
            ALL_HOURS if any_hour else parse_hours(self.settings.delete_when),
            level,
        )
        gone: list[LogFile] = []
        if count:
            start = files[count].base
            for name, cursor in cursors.items():
                if cursor < start:
                    log.warning(
                        "clean-up passes a dispatcher", dispatcher=name, cursor=cursor, deleted_to=start
                    )
            gone = self._log.remove_oldest(count)
            log.info("old commit-log files go", files=count, start=start, pressure=level.name)
            self._leaving.extend(gone)
        self._remove()
        for name, part in (("queue", self._queues), ("index", self._index)):
            try:
                if part is not None:
                    part.follow_log(self._log.start)
            except OSError as problem:
                self._kept.of(name).note(
                    "old queue or index files could not be removed; tried again", problem=str(problem)
                )
            else:
                self._kept.over(name)
        return gone

    def _remove(self) -> None:
        """Have a thread remove what has left the log, unless one does."""
        if self._leaving and not self._removing:
            self._removing = True
            self._threads.run(lambda: _remove_in_order(self._leaving), self._removed)

    def _removed(self, _: None, problem: Exception | None) -> None:
        self._removing = False
        if problem is not None:
            self._kept.of(self).note("old commit-log files could not be removed", problem=str(problem))
        else:
            self._kept.over(self)


def _remove_in_order(leaving: deque[LogFile]) -> None:
    """Remove the files, oldest first, each durably before the next.

    Whatever stops this, what is left or comes back after a power loss lies right before the log: with a gap
    between them a start could not tell old files from lost ones.
    """
    while leaving:
        leaving[0].remove()
        leaving.popleft()
