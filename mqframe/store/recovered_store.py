"""The first part of opening a store, which may take long and needs no loop: its files, recovered."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.core.storage.log_reading import LogReading
from mqframe.core.storage.recovery import Care
from mqframe.hooks.interfaces.key_index import OpenIndex
from mqframe.net.clock import LoopClock
from mqframe.store.files.disk import Disk
from mqframe.store.files.layout import Layout
from mqframe.store.files.modes import use_mode, warn_if_open
from mqframe.store.files.ownership import Ownership
from mqframe.store.files.threads import Threads
from mqframe.store.message_files import MessageFiles, open_files
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.cuts import finish_cuts
from mqframe.store.upkeep.opening_progress import OpeningProgress
from mqframe.store.upkeep.quarantine import Quarantine
from mqframe.store.upkeep.recovery import Recovered, Recovery
from mqframe.store.upkeep.setting_aside import SettingAside
from mqframe.store.upkeep.settling import bring_back, settle_on_disk

OF_THE_SYSTEM: Final = Disk()


class RecoveredStore:
    """The files of a store, which is locked, recovered, and on disk. Made by `recover_store`.

    `outcome`: what the recovery found; `is_copy`: whether it is that of a slave. It belongs to one
    `MessageStore`, or is to be abandoned.
    """

    def __init__(self, settings: StoreSettings, disk: Disk, ownership: Ownership, threads: Threads) -> None:
        self.settings, self.disk = settings, disk
        self.layout = Layout(settings.directory)
        self.ownership, self.threads = ownership, threads
        self.quarantine = Quarantine(self.layout.quarantine)
        self.files: MessageFiles
        self.setting_aside: SettingAside
        self.outcome: Recovered
        self.reading = LogReading
        self.is_copy = False
        self.is_taken = False

    def recover(
        self, clock: LoopClock, care: tuple[Care, bool], progress: OpeningProgress, reading: type[LogReading]
    ) -> None:
        """Bring the files into agreement. `care`, `reading`: see `Recovery`. Raises `StoreError`, OSError."""
        layout, files = self.layout, self.files
        _, self.is_copy = care
        self.reading = reading
        self.setting_aside = SettingAside(files.log, files.queues, self.quarantine, clock.now_ms)
        killed = bring_back(layout) or self.ownership.was_killed
        recovery = Recovery(layout, self.settings, files, self.setting_aside, care)
        # From here on the store changes: whatever an orderly stop left is not what the next start may trust.
        self.ownership.mark()
        self.outcome = recovery.run(killed, progress, reading)
        if not files.checkpoint.is_known:
            files.checkpoint.save()  # so that a missing one tells of a loss
        settle_on_disk(layout, files, killed)
        progress.end()

    def abandon(self) -> None:
        """Let go of the directory as a killed process would, unless a store has taken it."""
        if not self.is_taken:
            self.is_taken = True
            self.threads.close()
            self.files.close()
            self.ownership.release()


def recover_store(
    settings: StoreSettings,
    clock: LoopClock,
    *,
    is_copy: bool,
    disk: Disk = OF_THE_SYSTEM,
    care: Care = Care.USUAL,
    progress: OpeningProgress | None = None,
    delays: tuple[int, ...] = USUAL_DELAYS,
    open_index: OpenIndex | None = None,
    log_reading: type[LogReading] = LogReading,
) -> RecoveredStore:
    """Lock the directory, recover what is in it, and bring that to disk. For any thread.

    `is_copy`: whether it is a copy of another broker's, see `Recovery`; `care`: how thoroughly, and whether
    to go on where messages may have been lost; `progress`: is told how far it is; `delays`: of the delay
    levels, ms; `open_index`: opens the index of keys, without it none is kept; `log_reading`: how the log
    is read.

    Raises `UndecidedDamage` where it may not go on, and `StoreError` when another broker holds the directory,
    when files have another size than configured, or when the disk is full or not readable; the message names
    the path and what to do.
    """
    progress = progress or OpeningProgress(clock.monotonic)
    progress.start()
    use_mode(settings.file_mode)
    if settings.directory.is_dir():
        warn_if_open(settings.directory)
    layout, threads = Layout(settings.directory), Threads()
    try:
        with ExitStack() as undo:
            undo.callback(threads.close)
            ownership = Ownership(layout)
            undo.callback(ownership.release)
            finish_cuts(layout)
            recovered = RecoveredStore(settings, disk, ownership, threads)
            recovered.files = open_files(
                layout, settings, disk, threads, clock.now_ms, care, delays, open_index
            )
            undo.callback(recovered.files.close)
            recovered.recover(clock, (care, is_copy), progress, log_reading)
            undo.pop_all()
            return recovered
    except OSError as problem:
        raise StoreError(f"the store in {settings.directory} cannot be opened: {told(problem)}") from problem
