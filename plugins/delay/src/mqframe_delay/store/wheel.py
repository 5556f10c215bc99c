"""The wheel: for each slot of time, where in the timer log its messages begin and end.

Source: TimerWheel.java. The file is sparse and read and written through its descriptor: waiting messages cost
no memory, and a killed process leaves every slot as it was written last.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from mqframe.core.storage.zeros import is_empty
from mqframe.store.files.descriptors import write_all
from mqframe.store.files.modes import file_mode, make_folder
from mqframe_delay.rules.timer_layout import SLOT, SLOTS

_FILE_BYTES: Final = SLOTS * SLOT.size
_BLOCK_BYTES: Final = 1 << 16


class Slot(NamedTuple):
    """A slot in use. `time`: ms; `first`, `last`: positions in the timer log, bytes; `messages`: how many."""

    time: int
    first: int
    last: int
    messages: int


class TimerWheel:
    """Slots of `precision_ms` each; `is_new`: whether there was no wheel before.

    A file of another size than a wheel has is none: an empty one takes its place, unless it is opened only to
    look at (`writable` is False). Raises OSError.
    """

    def __init__(self, path: Path, precision_ms: int, *, writable: bool = True) -> None:
        self._precision = precision_ms
        if writable:
            make_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT if writable else os.O_RDONLY
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, file_mode())
        self.is_new = os.fstat(self._descriptor).st_size != _FILE_BYTES
        if self.is_new and writable:
            self.empty()

    def empty(self) -> None:
        """Let no slot be in use. Raises OSError."""
        os.ftruncate(self._descriptor, 0)
        os.ftruncate(self._descriptor, _FILE_BYTES)

    def place(self, time: int) -> int:
        """The byte of the file at which the slot of `time` (ms) lies."""
        return time // self._precision % SLOTS * SLOT.size

    def slot(self, time: int) -> Slot | None:
        """The slot that begins at `time` (ms); `None` while nothing was put into it."""
        number = time // self._precision
        raw = os.pread(self._descriptor, SLOT.size, number % SLOTS * SLOT.size)
        held, first, last, count, _ = SLOT.unpack(raw)
        return Slot(time, first, last, count) if held == number else None

    def put(self, slot: Slot) -> None:
        """Write a slot. Raises OSError."""
        number = slot.time // self._precision
        raw = SLOT.pack(number, slot.first, slot.last, slot.messages, 0)
        write_all(self._descriptor, raw, number % SLOTS * SLOT.size)

    def clear(self, time: int) -> None:
        """Empty the slot that begins at `time`, for good: it goes on to say that it was."""
        number = time // self._precision
        write_all(self._descriptor, _emptied(number), number % SLOTS * SLOT.size)

    def is_emptied(self, time: int) -> bool:
        """Whether the slot that begins at `time` was emptied, and not used since."""
        slot = self.slot(time)
        return slot is not None and slot.first < 0

    def used(self, start: int, end: int) -> Iterator[Slot]:
        """The slots in use with times in [`start`, `end`), ms, in order; at most one turn of the wheel."""
        number, stop = start // self._precision, -(-end // self._precision)
        stop = min(stop, number + SLOTS)
        while number < stop:
            index = number % SLOTS
            whole = min(stop - number, SLOTS - index)
            for at, raw in self._data(index * SLOT.size, (index + whole) * SLOT.size):
                expected = number + (at // SLOT.size - index)
                for held, first, last, count, _ in SLOT.iter_unpack(raw):
                    if held == expected and first >= 0:
                        yield Slot(held * self._precision, first, last, count)
                    expected += 1
            number += whole

    def clear_between(self, start: int, end: int) -> None:
        """Empty the slots with times in [`start`, `end`), ms, over any number of turns. Raises OSError."""
        low, high = start // self._precision, -(-end // self._precision)
        for at, raw in self._data(0, _FILE_BYTES):
            for index, (held, *_) in enumerate(SLOT.iter_unpack(raw)):
                if low <= held < high:
                    write_all(self._descriptor, _emptied(held), at + index * SLOT.size)

    def _data(self, at: int, end: int) -> Iterator[tuple[int, bytes]]:
        """What was ever written between two bytes of the file, in blocks of whole slots: (start, bytes)."""
        while at < end:
            found = self._next_data(at)
            if found is None or found >= end:
                return
            at = max(at, found - found % SLOT.size)
            raw = os.pread(self._descriptor, min(_BLOCK_BYTES, end - at), at)
            if not is_empty(raw):
                yield at, raw
            at += len(raw)

    def _next_data(self, at: int) -> int | None:
        try:
            return os.lseek(self._descriptor, at, os.SEEK_DATA)
        except OSError as problem:
            if problem.errno == errno.ENXIO:
                return None
            if problem.errno == errno.EINVAL:
                return at  # a file system that keeps no holes
            raise

    def sync(self) -> None:
        """Wait until the disk holds all slots. For a thread."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def _emptied(number: int) -> bytes:
    return SLOT.pack(number, -1, -1, 0, 0)
