"""The timer log: one unit for each message in the wheel, in files one after another (TimerLog.java)."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

from mqframe.store.files.descriptors import write_all
from mqframe.store.files.layout import file_name, sized_files
from mqframe.store.files.modes import file_mode, make_folder
from mqframe.store.files.syncing import sync_directory
from mqframe_delay.rules.timer_layout import BLANK, BLANK_MAGIC, UNIT, Unit, decode_unit, is_blank

_BLOCK_UNITS: Final = 1024


class TimerLog:
    """Sparse files of `file_bytes` in `directory`. `end`: position of the next unit, bytes.

    Made by a start; its end is found by `units_from`, and set by `cut`. `is_broken`: files between others are
    missing, or of another setting; all are gone then. A short one is filled up with zeros. Neither is done
    when it is opened only to look at (`writable` is False). Raises OSError.
    """

    def __init__(self, directory: Path, file_bytes: int, *, writable: bool = True) -> None:
        if writable:
            make_folder(directory)
        self._directory = directory
        self._file_bytes = file_bytes
        self._files: dict[int, int] = {}
        self._names_made, self._names_synced = 1, 0
        found = sized_files(directory)
        self.is_broken = any(
            size > file_bytes or base % file_bytes or base != found[0][0] + number * file_bytes
            for number, (base, _, size) in enumerate(found)
        )
        for base, path, size in found:
            if self.is_broken and writable:
                path.unlink()
                continue
            self._files[base] = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
            if size < file_bytes and writable:
                os.ftruncate(self._files[base], file_bytes)
        self.end = self._last + file_bytes if self._files else 0

    @property
    def start(self) -> int:
        """Position of the oldest file."""
        return min(self._files, default=0)

    @property
    def _last(self) -> int:
        return max(self._files, default=0)

    def append(self, unit: Unit) -> int:
        """Write `unit` at the end; returns its position. Raises OSError, and can be called again then."""
        base = self.end - self.end % self._file_bytes
        left = self._file_bytes - (self.end - base)
        if left < UNIT.size + BLANK.size:
            write_all(self._files[base], BLANK.pack(left, 0, BLANK_MAGIC), self.end - base)
            base += self._file_bytes
            self.end = base
        if base not in self._files:
            self._files[base] = self._open(base)
        position = self.end
        write_all(self._files[base], unit.encode(), position - base)
        self.end = position + UNIT.size
        return position

    def unit(self, position: int) -> Unit | None:
        """The unit at `position`; `None` when there is none (any more)."""
        if not 0 <= position < self.end:
            return None
        at = position % self._file_bytes
        descriptor = self._files.get(position - at)
        return None if descriptor is None else decode_unit(os.pread(descriptor, UNIT.size, at))

    def units_from(self, position: int) -> Iterator[tuple[int, Unit]]:
        """Position and unit of each from `position` on, to the last good one.

        Looks at the bytes alone, not at `end`; the next position after the last one given is the log's end.
        """
        for base in sorted(self._files):
            if base + self._file_bytes <= position:
                continue
            ended = yield from self._units_of(base, max(0, position - base))
            if not ended:
                return

    def units_back(self) -> Iterator[tuple[int, Unit]]:
        """Position and unit of each, the last one first, to the oldest that is still there."""
        position = self.end
        while True:
            at = position % self._file_bytes
            position += -UNIT.size if at else self._last_unit - self._file_bytes
            unit = self.unit(position)
            if unit is None:
                return
            yield position, unit

    @property
    def _last_unit(self) -> int:
        """Where in a full file the last unit lies."""
        return (self._file_bytes - BLANK.size) // UNIT.size * UNIT.size - UNIT.size

    def reaches(self, position: int) -> bool:
        """Whether a unit lies right before `position`, or a file begins there. Looks at the bytes alone."""
        at = position % self._file_bytes
        if at == 0:
            return position in self._files or position - self._file_bytes in self._files
        descriptor = self._files.get(position - at)
        if descriptor is None or at < UNIT.size:
            return False
        return decode_unit(os.pread(descriptor, UNIT.size, at - UNIT.size)) is not None

    def is_unused(self, start: int, end: int) -> bool:
        """Whether only the unused end of a file lies between two positions. Looks at the bytes alone."""
        at = start % self._file_bytes
        descriptor = self._files.get(start - at)
        if descriptor is None or end != start - at + self._file_bytes:
            return False
        return is_blank(os.pread(descriptor, BLANK.size, at), 0)

    def _units_of(self, base: int, at: int) -> Generator[tuple[int, Unit], None, bool]:
        """The units of one file from byte `at` on; returns whether they reach its end."""
        while at < self._file_bytes:
            raw = os.pread(self._files[base], _BLOCK_UNITS * UNIT.size, at)
            for offset in range(0, len(raw), UNIT.size):
                if is_blank(raw, offset):
                    return True
                unit = decode_unit(raw, offset)
                if unit is None:
                    return False
                yield base + at + offset, unit
            at += _BLOCK_UNITS * UNIT.size
        return True

    def empty(self) -> None:
        """Remove all files; the next unit gets position 0. Raises OSError."""
        for base in list(self._files):
            os.close(self._files.pop(base))
            (self._directory / file_name(base)).unlink()
        self.end = 0

    def relink(self, position: int, unit: Unit) -> None:
        """Write `unit` over the one at `position`. Raises OSError."""
        at = position % self._file_bytes
        write_all(self._files[position - at], unit.encode(), at)

    def cut(self, end: int) -> None:
        """Make `end` the end: later files go, the rest of the last one becomes zeros."""
        for base in [base for base in self._files if base >= end and base > 0]:
            os.close(self._files.pop(base))
            (self._directory / file_name(base)).unlink()
        self.end = end
        at = end % self._file_bytes
        descriptor = self._files.get(end - at)
        if descriptor is not None:
            os.ftruncate(descriptor, at)
            os.ftruncate(descriptor, self._file_bytes)

    def remove_before(self, log_offset: int) -> list[Path]:
        """Remove files, not the last, all of whose messages lie before commit-log offset `log_offset`."""
        removed = []
        for base in sorted(self._files)[:-1]:
            unit = self.unit(base + self._last_unit)
            if unit is not None and unit.log_offset >= log_offset:
                break
            os.close(self._files.pop(base))
            path = self._directory / file_name(base)
            path.unlink(missing_ok=True)
            removed.append(path)
        return removed

    def sync(self) -> None:
        """Wait until the disk holds all units, and the names of their files. For a thread."""
        made = self._names_made
        for base in sorted(self._files)[-2:]:
            os.fdatasync(self._files[base])
        if made != self._names_synced:
            sync_directory(self._directory)
            if not self._names_synced:
                sync_directory(self._directory.parent)  # which names the folder, and the wheel beside it
            self._names_synced = made

    def close(self) -> None:
        """Close all files."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files = {}

    def _open(self, base: int) -> int:
        path = self._directory / file_name(base)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, file_mode())
        os.ftruncate(descriptor, self._file_bytes)
        self._names_made += 1
        return descriptor
