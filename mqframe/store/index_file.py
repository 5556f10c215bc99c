"""One file of the key index: header, hash slots, entries (store.md §3)."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from mqframe.store.consume_queue import write_all

HEADER: Final = struct.Struct(">qqqqii")
ENTRY: Final = struct.Struct(">iqii")
"""Key hash, log offset, seconds since the file's begin, number of the previous entry in the slot."""
_SLOT: Final = struct.Struct(">i")
_SECONDS_MAX: Final = 0x7FFFFFFF


class IndexFile:
    """An index file for reading; `open_to_write` prepares it for entries.

    Times in ms, offsets in log bytes; `count` is the number of the next entry, the first is 1.
    """

    def __init__(self, path: Path, slots: int, entries: int) -> None:
        self.path = path
        self.slots = slots
        self.entries = entries
        self.size = HEADER.size + slots * 4 + entries * 20
        self._entries_at = HEADER.size + slots * 4
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._map: mmap.mmap | None = None
        (
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.count,
        ) = HEADER.unpack(os.pread(self._descriptor, HEADER.size, 0))
        if self.count < 1:
            self.count = 1
        self._new_slots: dict[int, int] = {}
        self._new_entries: list[bytes] = []

    @classmethod
    def create(
        cls,
        path: Path,
        slots: int,
        entries: int,
        timestamp: int,
        offset: int,
        allocate: Callable[[int, int], None],
    ) -> IndexFile:
        """A new file that inherits the last `timestamp` and `offset` of the one before. Raises OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            allocate(descriptor, HEADER.size + slots * 4)
            os.ftruncate(descriptor, HEADER.size + slots * 4 + entries * 20)
            os.pwrite(descriptor, HEADER.pack(timestamp, timestamp, offset, offset, 0, 1), 0)
        except OSError:
            path.unlink()
            raise
        finally:
            os.close(descriptor)
        return cls(path, slots, entries)

    def open_to_write(self, allocate: Callable[[int, int], None]) -> None:
        """Map header and slots, with their disk space allocated for good. Raises OSError."""
        if self._map is None:
            allocate(self._descriptor, self._entries_at)
            self._map = mmap.mmap(self._descriptor, self._entries_at)

    @property
    def full(self) -> bool:
        """Whether no entry fits any more."""
        return self.count >= self.entries

    def add(self, key_hash: int, offset: int, timestamp: int) -> None:
        """Note one entry; `write` puts it into the file. The caller has looked at `full`."""
        slot = key_hash % self.slots
        number = self.count
        previous = self._new_slots.get(slot, 0)
        if not previous:
            if self._map is None:
                raise ValueError(f"{self.path} is open for reading only")
            previous = _SLOT.unpack_from(self._map, HEADER.size + slot * 4)[0]
            if previous <= 0 or previous > number:
                previous = 0
                self.used_slots += 1
        begin = self.begin_timestamp
        seconds = (timestamp - begin) // 1000 if 0 < begin < timestamp else 0
        if number <= 1:
            self.begin_offset = offset
            self.begin_timestamp = timestamp
        self._new_entries.append(ENTRY.pack(key_hash, offset, min(seconds, _SECONDS_MAX), previous))
        self._new_slots[slot] = number
        self.count = number + 1
        self.end_offset = offset
        self.end_timestamp = timestamp

    def write(self) -> None:
        """Put noted entries into the file: entries, then slots, then header. Raises OSError; may be repeated."""
        if not self._new_entries or self._map is None:
            return
        first = self.count - len(self._new_entries)
        write_all(self._descriptor, b"".join(self._new_entries), self._entries_at + first * 20)
        pack, target, base = _SLOT.pack_into, self._map, HEADER.size
        for slot, number in self._new_slots.items():
            pack(target, base + slot * 4, number)
        HEADER.pack_into(
            target,
            0,
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.count,
        )
        self._new_entries.clear()
        self._new_slots.clear()

    def matches_time(self, begin: int, end: int) -> bool:
        """Whether the file's time range and [begin, end] (ms) meet."""
        return begin <= self.end_timestamp and end >= self.begin_timestamp

    def offsets(self, key_hash: int, begin: int, end: int) -> Iterator[int]:
        """Log offsets of records whose key has this hash, newest first, stored from `begin` to `end` (ms).

        Times are kept in whole seconds, so the ends are rounded outwards; the caller compares key and time.
        """
        read, descriptor = os.pread, self._descriptor
        raw = read(descriptor, 4, HEADER.size + key_hash % self.slots * 4)
        number = _SLOT.unpack(raw)[0] if len(raw) == 4 else 0
        before = self.count
        while 0 < number < before:
            raw = read(descriptor, 20, self._entries_at + number * 20)
            if len(raw) < 20:
                return
            found, offset, seconds, previous = ENTRY.unpack(raw)
            stored = self.begin_timestamp + seconds * 1000
            if seconds < 0 or stored + 1000 < begin:
                return
            if found == key_hash and stored <= end:
                yield offset
            # Entries point backwards only, so a damaged chain cannot go round in circles.
            before, number = number, previous

    def sync(self) -> None:
        """Wait until the disk holds the file. Releases the interpreter lock."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        if self._map is not None:
            self._map.close()
            self._map = None
        os.close(self._descriptor)

    def remove(self) -> None:
        """Close and delete the file."""
        self.close()
        self.path.unlink(missing_ok=True)
