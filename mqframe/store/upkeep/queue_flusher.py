"""The store's timers: flush, checkpoint, clean-up (store.md §4)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, Protocol

from mqframe.core.clock import Clock
from mqframe.log import get_logger
from mqframe.store.checkpoint import Checkpoint
from mqframe.store.cleaner import Cleaner
from mqframe.store.commit_log import CommitLog
from mqframe.store.flusher import LogFlusher
from mqframe.store.index import KeyIndex
from mqframe.store.inline_dispatch import InlineDispatch
from mqframe.store.log_file import LogFile
from mqframe.store.queue_table import QueueTable
from mqframe.store.settings import StoreSettings
from mqframe.store.threads import Threads

log: Final = get_logger("store")
_PAGE_BYTES: Final = 4096
_EXPIRY_SECONDS: Final = 0.5
_FILES_SYNCED_ONE_BY_ONE_MAX: Final = 256


class Timer(Protocol):
    """A call to come."""

    def cancel(self) -> None:
        """It shall not come."""


class TimerClock(Clock, Protocol):
    """A clock that also calls back."""

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` once, `delay_seconds` from now."""
        ...


class Maintenance:
    """What happens by itself while a store is open. `tick`: called at each flush interval."""

    def __init__(
        self,
        settings: StoreSettings,
        clock: TimerClock,
        threads: Threads,
        checkpoint: Checkpoint,
        commit_log: CommitLog,
        queues: QueueTable,
        index: KeyIndex | None,
        flusher: LogFlusher,
        cleaner: Cleaner,
        dispatch: InlineDispatch,
        tick: Callable[[], None],
        cursors: Callable[[], dict[str, int]],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._threads = threads
        self._checkpoint = checkpoint
        self._log = commit_log
        self._queues = queues
        self._index = index
        self._flusher = flusher
        self._cleaner = cleaner
        self._dispatch = dispatch
        self._tick = tick
        self._cursors = cursors
        self._timers: dict[str, Timer] = {}
        self._last_thorough = clock.monotonic()
        self._queues_under_way = False
        self.running = False

    def start(self) -> None:
        """Start the timers."""
        self.running = True
        self._every("flush", self._settings.flush_interval_ms / 1000, self._flush)
        self._every("expire", _EXPIRY_SECONDS, self._flusher.expire)
        self._every("queues", self._settings.queue_flush_interval_ms / 1000, self.flush_queues)
        self._every("clean", self._settings.cleanup_interval_ms / 1000, self.clean)

    def stop(self) -> None:
        """Stop the timers."""
        self.running = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _every(self, name: str, seconds: float, work: Callable[[], object]) -> None:
        def again() -> None:
            if not self.running:
                return
            self._timers[name] = self._clock.call_later(seconds, again)
            try:
                work()
            except OSError as problem:
                log.error("upkeep failed; it is tried again", what=name, problem=str(problem))

        self._timers[name] = self._clock.call_later(seconds, again)

    def _flush(self) -> None:
        self._tick()
        self._flusher.tick()

    def flush_queues(self) -> None:
        """Sync queues with enough dirty pages; from time to time all, the index and the checkpoint."""
        if self._queues_under_way:
            return
        now = self._clock.monotonic()
        thorough = now - self._last_thorough >= self._settings.queue_flush_thorough_ms / 1000
        least = 1 if thorough else max(1, self._settings.queue_flush_pages_min * _PAGE_BYTES)
        paths: list[str] = []
        for queue in [queue for queue in self._queues.dirty if queue.dirty_bytes >= least]:
            paths += queue.dirty_paths()
            self._queues.dirty.discard(queue)
        filled = list(self._index.filled) if self._index is not None else []
        if thorough:
            self._last_thorough = now
        if not (paths or filled or thorough):
            return
        files = filled + (self._index.files[-1:] if thorough and self._index is not None else [])
        logged, log_end = self._dispatch.done_timestamp, self._log.end

        def work() -> None:
            if thorough:
                self._log.sync_to(log_end)
            sync_paths(paths)
            for file in files:
                file.sync()

        def done(_: None, problem: OSError | None) -> None:
            self._queues_under_way = False
            if problem is not None:
                log.error("queues could not be flushed", problem=str(problem))
                return
            if filled and self._index is not None:
                self._index.filled = [file for file in self._index.filled if file not in filled]
                self._checkpoint.index = max(file.end_timestamp for file in filled)
            if thorough:
                self._checkpoint.log = self._checkpoint.queues = logged
            if thorough or filled:
                encoded = self._checkpoint.encode()
                self._threads.run(lambda: self._checkpoint.save(encoded), _log_problem)

        self._queues_under_way = True
        self._threads.run(work, done)

    def sync_files(self) -> None:
        """Sync queues and index, whatever is dirty. For a thread, at the orderly stop."""
        sync_paths([path for queue in tuple(self._queues.dirty) for path in queue.dirty_paths()])
        self._queues.dirty.clear()
        if self._index is not None:
            for file in [*self._index.filled, *self._index.files[-1:]]:
                file.sync()

    def clean(self, *, any_hour: bool = False) -> list[LogFile]:
        """One clean-up pass; gives the log files that went. `any_hour`: not only when it is the hour."""
        self._checkpoint_before_clean()
        gone = self._cleaner.run(self._cursors(), any_hour=any_hour)
        if gone:
            self._threads.run(lambda: _remove(gone), _log_problem)
        return gone

    def _checkpoint_before_clean(self) -> None:
        if self._log.keep_ahead:
            self._log.allocate_ahead()


def sync_paths(paths: list[str]) -> None:
    """Wait until the disk holds these files; missing ones are passed over."""
    if len(paths) > _FILES_SYNCED_ONE_BY_ONE_MAX:
        # Thousands of small waits for the journal take longer than writing everything once.
        os.sync()
        return
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def _remove(files: list[LogFile]) -> None:
    for file in files:
        file.remove()


def _log_problem(_: None, problem: OSError | None) -> None:
    if problem is not None:
        log.error("upkeep failed", problem=str(problem))
