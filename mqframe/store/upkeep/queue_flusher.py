"""When consume queues, key index and checkpoint go to disk (store.md §4)."""

from __future__ import annotations

import os
from typing import Final

from mqframe.core.clock import Clock
from mqframe.log import get_logger
from mqframe.store.appending.inline_dispatch import InlineDispatch
from mqframe.store.files.layout import Layout
from mqframe.store.files.threads import Threads
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.queue_ends import QueueEnds, save_note
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.agreement import ends_of

log: Final = get_logger("store")
_PAGE_BYTES: Final = 4096
_FILES_SYNCED_ONE_BY_ONE_MAX: Final = 256


class QueueFlusher:
    """Syncs queues with enough dirty pages; from time to time all of them, the index and the checkpoint."""

    def __init__(
        self,
        files: MessageFiles,
        settings: StoreSettings,
        clock: Clock,
        threads: Threads,
        dispatched: InlineDispatch,
    ) -> None:
        self._files = files
        self._log, self._queues, self._index, self._checkpoint = files
        self._note_path = Layout(settings.directory).queue_ends
        self._clock = clock
        self._threads = threads
        self._dispatched = dispatched
        self._dirty_bytes_min = max(1, settings.queue_flush_pages_min * _PAGE_BYTES)
        self._thorough_seconds = settings.queue_flush_thorough_ms / 1000
        self._last_thorough = clock.monotonic()
        self._under_way = False
        self._note = b""

    def flush(self) -> None:
        """Start a flush of what is due, unless one is under way."""
        if self._under_way:
            return
        now = self._clock.monotonic()
        thorough = now - self._last_thorough >= self._thorough_seconds
        least = 1 if thorough else self._dirty_bytes_min
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
        logged, log_end = self._dispatched.done_timestamp, self._log.end
        ends = self._noted(self._dispatched.done, logged) if thorough else None

        def work() -> None:
            if thorough:
                self._log.sync_to(log_end)
            sync_paths(paths)
            for file in files:
                file.sync()

        def done(_: None, problem: OSError | None) -> None:
            self._under_way = False
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
                self._threads.run(lambda: self._save(encoded, ends), _log_problem)

        self._under_way = True
        self._threads.run(work, done)

    def _noted(self, dispatched: int, newest: int) -> QueueEnds:
        """Where everything ends now, under the checkpoint that says so once it is on disk."""
        ends = ends_of(self._files, dispatched)
        ends.checkpoint = self._checkpoint.encode(newest)
        return ends

    def _save(self, checkpoint: bytes, ends: QueueEnds | None) -> None:
        # The note first: a start does not believe one that is older than the checkpoint.
        if ends is not None:
            encoded = ends.encode()
            if encoded != self._note:
                save_note(self._note_path, encoded)
                self._note = encoded
        self._checkpoint.save(checkpoint)

    def flush_all(self) -> None:
        """Sync queues and index, whatever is dirty. For a thread, at the orderly stop."""
        sync_paths([path for queue in tuple(self._queues.dirty) for path in queue.dirty_paths()])
        self._queues.dirty.clear()
        if self._index is not None:
            for file in [*self._index.filled, *self._index.files[-1:]]:
                file.sync()


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


def _log_problem(_: None, problem: OSError | None) -> None:
    if problem is not None:
        log.error("the checkpoint could not be written", problem=str(problem))
