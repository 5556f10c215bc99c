"""Deleting what is old, and refusing writes on a full disk (store.md §4). The rules are in core.cleaning."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from mqframe.core.cleaning import Pressure, files_to_delete, parse_hours, pressure
from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.log import get_logger
from mqframe.store.commit_log import CommitLog
from mqframe.store.index import KeyIndex
from mqframe.store.log_file import LogFile
from mqframe.store.queue_table import QueueTable
from mqframe.store.settings import StoreSettings

log: Final = get_logger("store")
ALL_HOURS: Final = frozenset(range(24))
DiskUsage = Callable[[Path], tuple[int, int]]
"""Total and free bytes of the disk that holds a directory."""


def disk_usage(directory: Path) -> tuple[int, int]:
    """What the operating system says; free is what this user may use."""
    found = os.statvfs(directory)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


class Cleaner:
    """`refusal`: why writes are refused at the moment, `None` normally."""

    def __init__(
        self,
        settings: StoreSettings,
        clock: Clock,
        commit_log: CommitLog,
        queues: QueueTable,
        index: KeyIndex | None,
        usage: DiskUsage,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._log = commit_log
        self._queues = queues
        self._index = index
        self._usage = usage
        self._hours = parse_hours(settings.delete_when)
        self.refusal: Refusal | None = None

    def look(self) -> Pressure:
        """How full the disk is now; sets `refusal`."""
        settings = self._settings
        if not settings.disk_limits:
            return Pressure.NONE
        total, free = self._usage(settings.directory)
        level = pressure(total, free, settings.limits)
        if level < Pressure.REFUSE:
            self.refusal = None
        elif self.refusal is None:
            used = (total - free) * 100 // total
            self.refusal = Refusal(
                ResponseCode.SERVICE_NOT_AVAILABLE,
                f"the disk of {settings.directory} is {used} % full, writes stop above"
                f" {settings.disk_refuse_percent} %: free some space or raise store.disk_refuse_percent",
            )
            log.error("writes are refused", reason=self.refusal.remark)
        return level

    def run(self, cursors: dict[str, int], *, any_hour: bool = False) -> list[LogFile]:
        """One pass. Gives the log files that are out of the log now, to be removed in a thread.

        `cursors`: how far following dispatchers are, log bytes, by name; a warning goes out before data that
        one has not seen is deleted. `any_hour`: files past their time go whatever hour it is.
        """
        level = self.look()
        now = self._clock.now_ms()
        files = self._log.files
        count = files_to_delete(
            [file.modified_ms() for file in files],
            now,
            datetime.fromtimestamp(now / 1000).hour,
            self._settings.keep_hours * 3_600_000,
            ALL_HOURS if any_hour else self._hours,
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
        start = self._log.start
        self._queues.follow_log(start)
        if self._index is not None:
            self._index.follow_log(start)
        return gone
