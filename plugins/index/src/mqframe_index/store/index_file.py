"""One file of the key index: header, hash slots, entries (store.md §3)."""

from __future__ import annotations

import mmap
import os
import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, cast

from mqframe.store.files.descriptors import write_all
from mqframe.store.files.modes import file_mode
from mqframe_index.store.new_entries import ENTRY, SLOT, HashedPairs, NewEntries, Pairs, PlainEntries

HEADER: Final = struct.Struct(">qqqqii")
_SECONDS_MAX: Final = 0x7FFFFFFF
_CHAIN_MAX: Final = 64


class Looks:
    """How many entries of an index one search may still look at."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class IndexFile:
    """An index file for reading; `open_to_write` prepares it for entries.

    Times in ms, offsets in log bytes; `count` is the number of the next entry, the first is 1. `writable`:
    False for whoever only looks.
    """

    def __init__(self, path: Path, slots: int, entries: int, *, writable: bool = True) -> None:
        self.path = path
        self.slots = slots
        self.entries = entries
        self.size = HEADER.size + slots * 4 + entries * 20
        self._entries_at = HEADER.size + slots * 4
        self._descriptor = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        self._map: mmap.mmap | None = None
        try:
            header = os.pread(self._descriptor, HEADER.size, 0)
        except OSError:
            os.close(self._descriptor)
            raise
        (
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.count,
        ) = HEADER.unpack(header)
        if self.count < 1:
            self.count = 1
        self._new: NewEntries = PlainEntries(slots)

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
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, file_mode())
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
        return bool(self.count >= self.entries)

    def note_in(self, new_entries: Callable[[int], NewEntries]) -> None:
        """Keep what is not in the file yet in what this makes, from now on; nothing is kept at the moment."""
        if not len(self._new):
            self._new = new_entries(self.slots)

    def add_hashed(self, pairs: HashedPairs, timestamp: int, skip: int) -> int:
        """As `add`, as far as one time can be said; `timestamp` counts where pairs have no times."""
        if self.full:
            return 0
        begin = self.begin_timestamp if self.count > 1 else -1
        found = pairs.of_one_second(skip, self.entries - self.count, begin)
        most, stored = found or (len(pairs), timestamp)
        return self.add(cast("Pairs", pairs), stored, skip, most)

    def add(self, pairs: Pairs, timestamp: int, skip: int = 0, most: int = sys.maxsize) -> int:
        """Note entries for `pairs` of records stored at `timestamp`, behind the first `skip`, as many as fit.

        At most `most`. Returns how many; `write` puts them into the file.
        """
        fit = min(len(pairs) - skip, most, int(self.entries - self.count))
        if fit <= 0:
            return 0
        if self._map is None:
            raise ValueError(f"{self.path} is open for reading only")
        number, begin = self.count, self.begin_timestamp
        written = number - len(self._new)
        seconds = min((timestamp - begin) // 1000, _SECONDS_MAX) if 0 < begin < timestamp else 0
        if number <= 1:
            self.begin_offset = pairs[skip][1]
            self.begin_timestamp = timestamp
        # Only the very first entry of a file is counted from the time that the file inherited.
        later_seconds = 0 if number == 1 and begin != timestamp else seconds
        self.used_slots += self._new.add(
            pairs, skip, fit, number, later_seconds, seconds, self._map,
            lambda slot, previous: self._before_cut(slot, previous, written) or 0,
        )  # fmt: skip
        self.count = number + fit
        self.end_offset = pairs[skip + fit - 1][1]
        self.end_timestamp = timestamp
        return fit

    def _before_cut(self, slot: int, number: int, count: int) -> int | None:
        """What the slot named before a write that was cut off, with entries from `count` on.

        `None` when those entries are not on the disk. `number`: what the slot names.
        """
        while number >= count:
            if number >= self.entries:
                return None
            key_hash, offset, _, previous = self._entry(number)
            if key_hash < 0 or key_hash % self.slots != slot or not 0 <= previous < number:
                return None
            if not (key_hash or offset):
                return None  # never written
            number = previous
        return number

    def write(self) -> None:
        """Put noted entries into the file: entries, slots, header. Raises OSError; may be repeated."""
        new = self._new
        if not len(new) or self._map is None:
            return
        data = new.entries()
        at = self._entries_at + (self.count - len(new)) * ENTRY.size
        if os.pwrite(self._descriptor, data, at) != len(data):
            write_all(self._descriptor, data, at)
        new.write_slots(self._map)
        self._map[: HEADER.size] = self._header()
        new.clear()

    def rewind(self, log_offset: int) -> bool:
        """Take back the entries of records at or past `log_offset`, newest first, as if never made.

        False when the file contradicts itself: then it has to be built again. The file is open for reading.
        """
        write, descriptor = os.pwrite, self._descriptor
        number, before = self.count - 1, self.end_offset
        while number > 0:
            key_hash, offset, seconds, previous = self._entry(number)
            if offset < log_offset:
                break
            if key_hash < 0 or offset > before or not 0 <= previous < number:
                return False
            slot = key_hash % self.slots
            if self._before_cut(slot, self._slot(slot), self.count) != number:
                return False
            write(descriptor, SLOT.pack(previous), HEADER.size + slot * 4)
            self.used_slots -= not previous
            number, before = number - 1, offset
        if number:
            if offset < self.begin_offset or not (key_hash or offset) or not self.sample(number)[2]:
                return False  # what lies there was never written
            self.end_offset = offset
            self.end_timestamp = self.begin_timestamp + seconds * 1000
        elif self.begin_offset < log_offset:
            return False
        self.count = number + 1
        write(descriptor, self._header(), 0)
        return True

    def mend_slots(self) -> bool:
        """Have slots name the last entries there are, where a loss of power left those of later ones.

        False where it cannot be told which these are: then the file has to be built again. It is open for
        reading.
        """
        slots = self.slot_table()
        if max(slots) < self.count:
            return True
        for slot, number in enumerate(slots):
            if number >= self.count:
                kept = self._before_cut(slot, number, self.count)
                if kept is None:
                    return False
                os.pwrite(self._descriptor, SLOT.pack(kept), HEADER.size + slot * 4)
        return True

    def slot_table(self) -> array[int]:
        """For each slot the number of the entry that it names, 0 for none."""
        slots = array("i", os.pread(self._descriptor, self.slots * 4, HEADER.size))
        if sys.byteorder == "little":
            slots.byteswap()
        return slots

    def slot_place(self, slot: int) -> int:
        """The byte of the file at which a slot lies."""
        return HEADER.size + slot * 4

    def entry_place(self, number: int) -> int:
        """The byte of the file at which an entry lies."""
        return self._entries_at + number * ENTRY.size

    def read_entries(self, number: int, count: int) -> bytes:
        """Entries from `number` on, as far as the file has them."""
        raw = os.pread(self._descriptor, count * ENTRY.size, self.entry_place(number))
        return raw[: len(raw) - len(raw) % ENTRY.size]

    def _slot(self, slot: int) -> int:
        number: int = SLOT.unpack(os.pread(self._descriptor, 4, HEADER.size + slot * 4))[0]
        return number

    @property
    def is_unwritten(self) -> bool:
        """Whether the file was made, and no entry ever written."""
        return self.count == 1 and not any(self._entry(1))

    @property
    def is_plausible(self) -> bool:
        """Whether the numbers of the header can be true together."""
        return bool(
            1 < self.count <= self.entries
            and 0 <= self.begin_offset <= self.end_offset
            and 0 <= self.begin_timestamp <= self.end_timestamp
            and 0 < self.used_slots <= min(self.slots, self.count)
        )

    def sample(self, number: int) -> tuple[int, int, bool]:
        """Key hash and log offset of entry `number`, and whether its slot leads to it.

        That counts as true where so many entries share the slot that it is not worth walking.
        """
        key_hash, offset, _, _ = self._entry(number)
        if key_hash < 0:
            return key_hash, offset, False
        slot = key_hash % self.slots
        at = self._before_cut(slot, self._slot(slot), self.count) or 0
        before = self.count
        for _ in range(_CHAIN_MAX):
            if not number <= at < before:
                return key_hash, offset, False
            if at == number:
                break
            found, _, _, previous = self._entry(at)
            if found < 0 or found % self.slots != slot:
                return key_hash, offset, False
            before, at = at, previous
        return key_hash, offset, True

    def _entry(self, number: int) -> tuple[int, int, int, int]:
        raw = os.pread(self._descriptor, 20, self._entries_at + number * 20)
        key_hash, offset, seconds, previous = ENTRY.unpack(raw)
        return key_hash, offset, seconds, previous

    def _header(self) -> bytes:
        return HEADER.pack(
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.count,
        )

    def matches_time(self, begin: int, end: int) -> bool:
        """Whether the file's time range and [begin, end] (ms) meet."""
        return bool(begin <= self.end_timestamp and end >= self.begin_timestamp)

    def offsets(self, key_hash: int, begin: int, end: int, looks: Looks | None = None) -> Iterator[int]:
        """Log offsets of records whose key has this hash, newest first, stored from `begin` to `end` (ms).

        It ends where `looks` does. Times are kept in whole seconds, so the ends are rounded outwards; the
        caller compares key and time.
        """
        looks = looks or Looks(self.entries)
        read, descriptor = os.pread, self._descriptor
        slot = key_hash % self.slots
        raw = read(descriptor, 4, HEADER.size + slot * 4)
        number = SLOT.unpack(raw)[0] if len(raw) == 4 else 0
        before = self.count
        if number >= before:
            number = self._before_cut(slot, number, before) or 0
        while 0 < number < before and looks.left > 0:
            looks.left -= 1
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
