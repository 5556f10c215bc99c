"""When consume queues, key index and checkpoint go to disk (store.md §4)."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from mqframe.core.clock import Clock
from mqframe.hooks.interfaces.key_index import KeyFile
from mqframe.log import get_logger
from mqframe.store.appending.inline_dispatch import InlineDispatch
from mqframe.store.files.layout import Layout
from mqframe.store.files.syncing import Sync, sync_directory, sync_file_system, sync_really
from mqframe.store.files.threads import Threads
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.queues.queue_ends import QueueEnds, save_note
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.agreement import ends_of
from mqframe.trouble import Trouble

log: Final = get_logger("store")
_PAGE_BYTES: Final = 4096
_FILES_SYNCED_ONE_BY_ONE_MAX: Final = 256


class _Due(NamedTuple):
    """What one flush brings to disk. `queues`: each with its bytes that were not; `folders`: of new names."""

    queues: list[tuple[ConsumeQueue, int]]
    paths: list[str]
    folders: set[str]
    index_files: Sequence[KeyFile]


class QueueFlusher:
    """Syncs queues with enough dirty pages; from time to time all of them, the index and the checkpoint.

    The checkpoint follows what it speaks of, and stays where it is once anything could not be synced.
    """

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
        self._durability = self._log.durability
        self._note_path = Layout(settings.directory).queue_ends
        self._clock = clock
        self._threads = threads
        self._dispatched = dispatched
        self._dirty_bytes_min = max(1, settings.queue_flush_pages_min * _PAGE_BYTES)
        self._thorough_seconds = settings.queue_flush_thorough_ms / 1000
        self._last_thorough = clock.monotonic()
        self._unsaved = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._under_way = False
        self._note = b""

    def flush(self) -> None:
        """Start a flush of what is due, unless one is under way."""
        if self._under_way:
            return
        now = self._clock.monotonic()
        thorough = now - self._last_thorough >= self._thorough_seconds
        due = self._take(1 if thorough else self._dirty_bytes_min, thorough)
        if thorough:
            self._last_thorough = now
        if not (due.paths or due.index_files or thorough):
            self._queues.descriptors.new_names |= due.folders
            return
        logged, log_end = self._dispatched.done_timestamp, self._log.end
        ends = self._noted(self._dispatched.done, logged) if thorough else None

        def work() -> None:
            if thorough:
                self._log.sync_to(log_end)
            self._sync(due)

        def done(_: None, problem: Exception | None) -> None:
            self._under_way = False
            if problem is not None:
                self._durability.distrust(self._log.directory.parent, problem)
                self._put_back(due)
                return
            indexed = None if self._index is None else self._index.synced(due.index_files)
            if self._durability.trusted:
                self._move_checkpoint(logged if thorough else None, indexed, ends)

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

    def _saved(self, _: None, problem: Exception | None) -> None:
        if problem is not None:
            self._unsaved.note("the checkpoint could not be written", problem=str(problem))
        else:
            self._unsaved.over("the checkpoint is written again")

    def flush_all(self) -> None:
        """Sync queues and index, whatever is dirty. For a thread, at the orderly stop. Raises OSError."""
        self._sync(self._take(0, True))

    def _take(self, bytes_min: int, thorough: bool) -> _Due:
        queues = [queue for queue in tuple(self._queues.dirty) if queue.dirty_bytes >= bytes_min]
        taken = [(queue, queue.dirty_bytes) for queue in queues]
        paths = [path for queue in queues for path in queue.dirty_paths()]
        self._queues.dirty.difference_update(queues)
        folders, self._queues.descriptors.new_names = self._queues.descriptors.new_names, set()
        index_files = () if self._index is None else self._index.due(thorough=thorough)
        return _Due(taken, paths, folders, index_files)

    def _put_back(self, due: _Due) -> None:
        for queue, dirty_bytes in due.queues:
            if self._queues.get(queue.key) is queue:
                queue.dirty_bytes += dirty_bytes
                self._queues.dirty.add(queue)
        self._queues.descriptors.new_names |= due.folders

    def _sync(self, due: _Due) -> None:
        try:
            for file in due.index_files:
                file.sync()
            index_folders = {str(file.path.parent) for file in due.index_files}
            sync_paths(due.paths, due.folders | index_folders, sync=self._durability.sync)
        except OSError as problem:
            # Noted in this thread: the loop may be past asking when it would be told.
            self._durability.distrust(problem.filename or self._log.directory.parent, problem)
            raise

    def _move_checkpoint(self, logged: int | None, indexed: int | None, ends: QueueEnds | None) -> None:
        if indexed is not None:
            self._checkpoint.index = indexed
        if logged is not None:
            self._checkpoint.log = self._checkpoint.queues = logged
        if indexed is not None or logged is not None:
            encoded = self._checkpoint.encode()
            self._threads.run(lambda: self._save(encoded, ends), self._saved)


def sync_paths(paths: list[str], folders: Collection[str] = (), *, sync: Sync = sync_really) -> None:
    """Wait until the disk holds these files, and the names in `folders`; missing ones are passed over.

    Raises OSError.
    """
    if len(paths) + len(folders) > _FILES_SYNCED_ONE_BY_ONE_MAX:
        # Thousands of small waits for the journal take longer than writing everything once.
        there = next(filter(os.path.exists, paths), None)
        if there is not None:
            sync_file_system(os.path.dirname(there))
            return
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            sync(descriptor)
        except OSError as problem:
            raise OSError(problem.errno, problem.strerror, path) from problem
        finally:
            os.close(descriptor)
    for folder in sorted(folders, reverse=True):  # what is inside before what names it
        try:
            sync_directory(folder)
        except FileNotFoundError:
            continue
