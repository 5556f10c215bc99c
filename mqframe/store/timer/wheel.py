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

from mqframe.core.delay.timer_layout import SLOT, SLOTS
from mqframe.store.files.descriptors import write_all

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

    A file of another size than a wheel has is none: an empty one takes its place. Raises OSError.
    """

    def __init__(self, path: Path, precision_ms: int) -> None:
        self._precision = precision_ms
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.is_new = os.fstat(self._descriptor).st_size != _FILE_BYTES
        if self.is_new:
            self.empty()

    def empty(self) -> None:
        """Let no slot be in use. Raises OSError."""
        os.ftruncate(self._descriptor, 0)
        os.ftruncate(self._descriptor, _FILE_BYTES)

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
        """Empty the slot that begins at `time`."""
        os.pwrite(self._descriptor, bytes(SLOT.size), time // self._precision % SLOTS * SLOT.size)

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
                    if held == expected:
                        yield Slot(held * self._precision, first, last, count)
                    expected += 1
            number += whole

    def _data(self, at: int, end: int) -> Iterator[tuple[int, bytes]]:
        """What was ever written between two bytes of the file, in blocks of whole slots: (start, bytes)."""
        while at < end:
            found = self._next_data(at)
            if found is None or found >= end:
                return
            at = max(at, found - found % SLOT.size)
            raw = os.pread(self._descriptor, min(_BLOCK_BYTES, end - at), at)
            if raw.strip(b"\0"):
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
