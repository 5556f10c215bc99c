"""The commit log: files one after another, written at the end (store.md §2)."""

from __future__ import annotations

import struct
import threading
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Final

from mqframe.core.errors import MessageError, StoreError, StoreUnavailable
from mqframe.core.os_errors import told
from mqframe.core.storage.record import BLANK_BYTES, MAGIC_BLANK
from mqframe.store.files.durability import Durability
from mqframe.store.files.log_file import Allocate, LogFile
from mqframe.store.files.syncing import make_directories
from mqframe.store.log.log_directory import sound_files

_BLANK: Final = struct.Struct(">ii")


class CommitLog:
    """The commit log of one store: files of `file_bytes` in `directory`.

    `end`: offset at which the next record is written, bytes; `flushed`: up to where it is on disk;
    `durability`: whether it still gets there; `no_room`: why the file that was needed last could not be made;
    `is_short`: the one after the present one could not be made ahead. Raises as `sound_files`.
    """

    def __init__(
        self,
        directory: Path,
        file_bytes: int,
        allocate: Allocate,
        threads: Executor,
        durability: Durability | None = None,
    ) -> None:
        make_directories(directory)
        self.durability = durability or Durability()
        self.durability.reached = lambda: self.flushed
        self._syncing = threading.Lock()
        self.directory = directory
        self.file_bytes = file_bytes
        self._allocate = allocate
        self._threads = threads
        for leftover in directory.glob("*.allocating"):
            leftover.unlink()
        paths = sound_files(directory, file_bytes, allocate)
        self.files = [LogFile(path, file_bytes, self.durability) for path in paths]
        self.end = self.files[0].base if self.files else 0
        self.flushed = self.end
        self.keep_ahead = False
        """Whether a thread makes each next file before it is needed."""
        self._ahead: Future[LogFile] | None = None
        self.no_room: StoreUnavailable | None = None
        self.is_short = False

    @property
    def start(self) -> int:
        """Offset of the oldest byte that is kept."""
        return self.files[0].base if self.files else 0

    def file_at(self, offset: int) -> LogFile | None:
        """The file that holds log offset `offset`."""
        if not self.files:
            return None
        number = (offset - self.files[0].base) // self.file_bytes
        return self.files[number] if 0 <= number < len(self.files) else None

    def slice(self, offset: int, size: int) -> memoryview | None:
        """`size` bytes from `offset` on, within one file; `None` when they are not (any more) there."""
        file = self.file_at(offset)
        if file is None or offset + size > self.end:
            return None
        at = offset - file.base
        return file.view[at : at + size] if at + size <= file.size else None

    def room(self, size: int) -> LogFile:
        """The file into which a record of `size` bytes goes, at `end`; turns to the next file if it must.

        Raises `StoreUnavailable` when there is no room on the disk for the next file, `MessageError` for a
        record that is larger than a file; nothing is changed then.
        """
        files = self.files
        if files:
            file = files[-1]
            if self.end - file.base + size + BLANK_BYTES <= self.file_bytes:
                return file
        return self._turn(size)

    def _turn(self, size: int) -> LogFile:
        if size + BLANK_BYTES > self.file_bytes:
            raise MessageError(
                f"a record of {size} bytes does not fit a commit-log file of {self.file_bytes} bytes",
            )
        files = self.files
        base = files[-1].base + self.file_bytes if files else 0
        following = self._next_file(base)
        if files:
            file = files[-1]
            at = self.end - file.base
            if at < self.file_bytes:
                file.write(at, _BLANK.pack(self.file_bytes - at, MAGIC_BLANK))
        self.end = base
        files.append(following)
        if self.keep_ahead:
            self.allocate_ahead()
        return following

    def begin_at(self, base: int) -> None:
        """Let an empty log begin at `base`, a multiple of the file size; its first file is made.

        Raises `StoreError` where there is a log already, or no file begins; `StoreUnavailable` without room.
        """
        if self.files or base % self.file_bytes:
            raise StoreError(
                f"the log in {self.directory} cannot begin at {base}: files are of {self.file_bytes} bytes"
                + (", and it begins elsewhere" if self.files else "")
            )
        self.files.append(self._next_file(base))
        self.end = self.flushed = base

    def append_copy(self, data: bytes | memoryview) -> None:
        """Append a part of another log as it is; it reaches to the end of a file at most.

        Raises `StoreUnavailable` without room for the next file; nothing is changed then.
        """
        if self.end == (self.files[-1].base + self.file_bytes if self.files else 0):
            self.files.append(self._next_file(self.end))
            if self.keep_ahead:
                self.allocate_ahead()
        file = self.files[-1]
        file.write(self.end - file.base, data)
        self.end += len(data)

    def _next_file(self, base: int) -> LogFile:
        ahead, self._ahead = self._ahead, None
        try:
            file = self._create(base) if ahead is None else ahead.result()
        except OSError as problem:
            self.no_room = StoreUnavailable(
                f"no commit-log file of {self.file_bytes} bytes can be made in {self.directory}:"
                f" {told(problem)}",
            )
            raise self.no_room from problem
        self.no_room = None
        return file

    def look_for_room(self) -> None:
        """Learn whether there is room for the next file; have a thread try again where one was needed."""
        ahead = self._ahead
        if ahead is not None and ahead.done():
            self.is_short = ahead.exception() is not None
        if self.no_room is None:
            return
        if self.files and not (ahead is not None and ahead.done() and not self.is_short):
            self.allocate_ahead()
        else:
            self.no_room = None  # it is made, or nobody waits for it

    def allocate_ahead(self) -> None:
        """Have a thread make the next file, unless it is made or being made."""
        ahead = self._ahead
        if ahead is not None and ahead.done() and ahead.exception() is not None:
            self._ahead = None
        if self._ahead is None and self.files:
            self._ahead = self._threads.submit(self._create, self.files[-1].base + self.file_bytes)

    def _create(self, base: int) -> LogFile:
        return LogFile.create(self.directory, base, self.file_bytes, self._allocate, self.durability)

    def drop_ahead(self) -> None:
        """Remove the file made ahead, durably: it is empty. Raises OSError."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.exception() is None:
            file = ahead.result()
            file.close()
            file.path.unlink()
            self.durability.sync_names(self.directory)

    def forget_ahead(self) -> None:
        """Close the file made ahead and leave it, as a killed process does."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.exception() is None:
            ahead.result().close()

    def cut(self, end: int) -> None:
        """Make `end` the end: later files go, the rest of the last one becomes zeros."""
        while self.files and self.files[-1].base >= end and (len(self.files) > 1 or end == 0):
            self.files.pop().remove()
        self.end = self.flushed = end
        if self.files:
            at = end - self.files[-1].base
            if at < self.file_bytes:
                self.files[-1].clear_from(at, self._allocate)

    def sync_to(self, end: int) -> None:
        """Make everything up to `end` durable. For a thread; `flushed` is set by the caller's loop.

        Raises OSError: when the disk fails, and when it failed anybody's sync before.
        """
        # One at a time: the kernel tells of an error once, and nobody else's sync may succeed beside it.
        with self._syncing:
            self.durability.check()
            for file in tuple(self.files):
                if file.base < end and file.base + self.file_bytes > self.flushed:
                    file.sync()

    def sync_all(self) -> None:
        """Make all files durable, also what a killed process left in memory. Raises OSError."""
        with self._syncing:
            for file in self.files:
                file.sync()

    def remove_oldest(self, count: int) -> list[LogFile]:
        """Take the `count` oldest files out of the log; the caller deletes them (`LogFile.remove`)."""
        gone = self.files[:count]
        del self.files[:count]
        return gone

    def close(self) -> None:
        """Close all files."""
        for file in self.files:
            file.close()
        self.files = []
