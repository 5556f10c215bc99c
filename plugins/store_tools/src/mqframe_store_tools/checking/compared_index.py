"""The key index compared with the keys of the log's records, one entry after the other, and with itself."""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, cast

from mqframe_index.store.index_file import HEADER, IndexFile
from mqframe_index.store.key_hashes import KeyHashes
from mqframe_index.store.new_entries import ENTRY, HashedPairs

from mqframe.core.storage.zeros import data_end
from mqframe_store_tools.checking.findings import Findings

_AT_ONCE: Final = 8192
_NAME_CHARACTERS: Final = 17
_NAMED: Final = struct.Struct(">iq8x")
_CHAINED: Final = struct.Struct(">i12xi")
_SECONDS: Final = struct.Struct(">12xi4x")
_SECONDS_MAX: Final = 0x7FFFFFFF
_COUNT_AT: Final = HEADER.size - 4
_OFFSET: Final = struct.Struct(">q")


def index_paths(directory: Path) -> list[Path]:
    """The index files in `directory`, in order of their making."""
    if not directory.is_dir():
        return []
    return sorted(p for p in directory.iterdir() if p.name.isdecimal() and len(p.name) == _NAME_CHARACTERS)


def index_sizes(paths: Sequence[Path], slots: int, entries: int) -> tuple[int, int]:
    """How many slots and entries the files at `paths` have: `slots` and `entries` where that is their size.

    Otherwise what the place of the last entry tells; the two that were given where it tells nothing.
    """
    sizes = [path.stat().st_size for path in paths]
    if not sizes or HEADER.size + slots * 4 + entries * ENTRY.size in sizes:
        return slots, entries
    for path, size in zip(paths, sizes, strict=True):
        found = _sizes_of(path, size)
        if found is not None:
            return found
    return slots, entries


def _sizes_of(path: Path, size: int) -> tuple[int, int] | None:
    if size <= HEADER.size + ENTRY.size:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        *_, end_offset, _, count = HEADER.unpack_from(view)
        at = view.find(_OFFSET.pack(end_offset), HEADER.size) if end_offset > 0 and count > 1 else -1
        while at >= 0:
            # Entry number `count - 1` lies there, if it is the last; so its number tells where they begin.
            if (found := _sizes_at(view, size, count, at - 4)) is not None:
                return found
            at = view.find(_OFFSET.pack(end_offset), at + 1)
        return _sizes_of_first(view, size, count) if end_offset == 0 and count > 1 else None


def _sizes_of_first(view: mmap.mmap, size: int, count: int) -> tuple[int, int] | None:
    """Where the last entry is of the log's first record, whose offset of zeros cannot be searched for.

    Behind that entry there is nothing but zeros, so its last byte that is none is one of the last there are.
    """
    last = data_end(memoryview(view), HEADER.size, len(view)) - 1
    for at in range(max(HEADER.size, last - ENTRY.size + 1), last + 1):
        if (found := _sizes_at(view, size, count, at)) is not None:
            return found
    return None


def _sizes_at(view: mmap.mmap, size: int, count: int, at: int) -> tuple[int, int] | None:
    """Slots and entries, if entry number `count - 1` begins at `at`."""
    start = at - (count - 1) * ENTRY.size
    slots, odd = divmod(start - HEADER.size, 4)
    entries, rest = divmod(size - start, ENTRY.size)
    if slots <= 0 or odd or rest or count > entries or at + ENTRY.size > size:
        return None
    key_hash = ENTRY.unpack_from(view, at)[0]
    fits = key_hash >= 0 and _names(view, key_hash % slots, count - 1)
    return (slots, entries) if fits else None


def _names(view: mmap.mmap, slot: int, number: int) -> bool:
    return int.from_bytes(view[HEADER.size + slot * 4 : HEADER.size + slot * 4 + 4], "big") == number


class ComparedIndex:
    """Takes keys as the index does, and tells `findings` where the files say something else.

    `log_start`: entries of earlier records are only compared with themselves. Raises OSError.
    """

    repeat_from = 0

    def __init__(
        self, paths: Sequence[Path], sizes: tuple[int, int], log_start: int, findings: Findings
    ) -> None:
        self._hashes = KeyHashes()
        self._hashed: type | None = None
        self._findings = findings
        self._files = [file for path in paths if (file := self._opened(path, *sizes)) is not None]
        self._number = -1
        self._slots: array[int] = array("i")
        self._named: list[tuple[int, int]] = []
        self._seconds: list[int] = []
        self._at = self._first = self._following = 0
        self._before: Sequence[tuple[int, int]] = ()
        self._lacking: tuple[int, int] | None = None
        while self._load() and self._pass_over_earlier(log_start):
            pass

    def _opened(self, path: Path, slots: int, entries: int) -> IndexFile | None:
        size, expected = path.stat().st_size, HEADER.size + slots * 4 + entries * ENTRY.size
        if size != expected:
            sizes = f"index.slots {slots}, index.entries {entries}"
            self._findings.add(path, min(size, expected), f"{size} bytes", f"{expected} bytes ({sizes})")
        if size < expected - entries * ENTRY.size:
            return None
        file = IndexFile(path, slots, entries, writable=False)
        if file.count > entries:
            self._findings.add(path, _COUNT_AT, f"{file.count - 1} entries", f"at most {entries - 1}")
            file.count = entries
        return file

    @property
    def _file(self) -> IndexFile:
        return self._files[self._number]

    # The entries, one after the other

    def _load(self) -> bool:
        """Have some entries at hand; False where there are no more."""
        while self._at >= len(self._named):
            if 0 <= self._number < len(self._files) and self._following < self._file.count:
                self._load_entries(self._file)
                continue
            if 0 <= self._number < len(self._files):
                self._finish_file(self._file)
            self._number = min(self._number + 1, len(self._files))
            if self._number == len(self._files):
                return False
            self._following = 1
            self._slots = array("i", bytes(4 * self._file.slots))
        return True

    def _load_entries(self, file: IndexFile) -> None:
        wanted = min(_AT_ONCE, file.count - self._following)
        raw = file.read_entries(self._following, wanted)
        if not any(raw[-ENTRY.size :]):
            raw = raw[: -(-len(raw.rstrip(b"\0")) // ENTRY.size) * ENTRY.size]
        self._named = list(_NAMED.iter_unpack(raw))
        self._seconds = [seconds for (seconds,) in _SECONDS.iter_unpack(raw)]
        self._at, self._first = 0, self._following
        self._check_chains(file, raw)
        self._following += len(self._named)
        if len(self._named) < wanted:
            text = f"{self._following - 1}: what follows is empty"
            self._findings.add(file.path, _COUNT_AT, f"{file.count - 1} entries", text)
            file.count = self._following

    def _check_chains(self, file: IndexFile, raw: bytes) -> None:
        slots, number, count = self._slots, self._first, file.slots
        for key_hash, previous in _CHAINED.iter_unpack(raw):
            slot = key_hash % count
            if slots[slot] != previous or key_hash < 0:
                found = f"entry {previous} before it in slot {slot}"
                self._findings.add(file.path, file.entry_place(number) + 16, found, f"entry {slots[slot]}")
            slots[slot] = number
            number += 1

    def _finish_file(self, file: IndexFile) -> None:
        """Compare the slots and the header with the entries."""
        add = self._findings.add
        held = file.slot_table()
        if held != self._slots:
            for slot, (number, expected) in enumerate(zip(held, self._slots, strict=True)):
                if number >= file.count and self._findings.killed:
                    self._findings.note("slots of the index name entries that were on their way")
                elif number != expected:
                    found = f"slot {slot} names entry {number}"
                    add(file.path, file.slot_place(slot), found, f"entry {expected}")
        if file.count <= 1:
            return
        begin, end = (ENTRY.unpack(file.read_entries(number, 1))[1] for number in (1, file.count - 1))
        if file.begin_offset != begin:
            add(file.path, 16, f"first log offset {file.begin_offset}", f"{begin}, that of its first entry")
        if file.end_offset != end:
            add(file.path, 24, f"last log offset {file.end_offset}", f"{end}, that of its last entry")
        used = len(self._slots) - self._slots.count(0)
        if file.used_slots != used:
            add(file.path, 32, f"{file.used_slots} slots in use", f"{used}")

    def _pass_over_earlier(self, log_start: int) -> bool:
        """Leave out entries of records before the log; True when all at hand are such."""
        while self._at < len(self._named) and self._named[self._at][1] < log_start:
            self._at += 1
        return self._at == len(self._named)

    # What the log says

    def note_in(self, new_entries: object, hashed: type) -> None:
        """As `IndexFiles.note_in`; no entry is made."""
        self._hashed = hashed

    def add(self, topic: str, indexed: Sequence[tuple[int, Sequence[str]]], timestamp: int) -> None:
        """Compare the keys of records of `topic`, all stored at `timestamp` (ms), as (log offset, keys)."""
        if self._hashed is not None and isinstance(indexed, self._hashed):
            for stored, pairs in cast("HashedPairs", indexed).by_time():
                self._add(pairs, stored)
        else:
            self._add(self._hashes.pairs(topic, indexed, 0), timestamp)

    def _add(self, pairs: list[tuple[int, int]], timestamp: int) -> None:
        """Compare pairs, all of one time; what is told does not depend on how many come at once."""
        while pairs:
            if not self._load():
                self._lack_the_rest(pairs)
                return
            part = self._named[self._at : self._at + len(pairs)]
            if part != pairs[: len(part)]:
                records = [list(each) for _, each in groupby(pairs, key=itemgetter(1))]
                if len(records) == 1:
                    self._compare_record(pairs[0][1], pairs, timestamp)
                else:
                    for each in records:
                        self._add(each, timestamp)
                return
            self._compare_times(len(part), timestamp)
            self._before = [entry for entry in part if entry[1] == part[-1][1]]
            self._at += len(part)
            del pairs[: len(part)]

    def _compare_times(self, size: int, timestamp: int) -> None:
        file, at = self._file, self._at
        number = self._first + at
        if number == 1 and file.begin_timestamp != timestamp:
            self._findings.add(file.path, 0, f"begins at {file.begin_timestamp} ms", f"{timestamp} ms")
            file.begin_timestamp = timestamp
        if number + size == file.count and file.end_timestamp != timestamp:
            self._findings.add(file.path, 8, f"ends at {file.end_timestamp} ms", f"{timestamp} ms")
        begin = file.begin_timestamp
        expected = min((timestamp - begin) // 1000, _SECONDS_MAX) if 0 < begin < timestamp else 0
        if number > 1 and self._seconds[at : at + size] == [expected] * size:
            return
        for index in range(at, at + size):
            found, number = self._seconds[index], self._first + index
            if number == 1:  # it is counted from the end of the file before, which may be gone
                before = self._files[self._number - 1].end_timestamp if self._number else timestamp
                counted = min((timestamp - before) // 1000, _SECONDS_MAX) if 0 < before < timestamp else 0
                wrong = self._number > 0 and found != counted
            else:
                counted, wrong = expected, found != expected
            if wrong:
                place = file.entry_place(number) + 12
                self._findings.add(file.path, place, f"{found} s after the file's begin", f"{counted} s")

    def _compare_record(self, place: int, wanted: list[tuple[int, int]], timestamp: int) -> None:
        found = set()
        while self._load():
            entry = self._named[self._at]
            if entry[1] > place and not self._is_odd(place):
                break
            if entry in wanted:
                found.add(entry)
                self._compare_times(1, timestamp)
            elif entry not in self._before:  # those of one record come twice after a kill of Apache's broker
                self._tell_wrong(entry, wanted)
            self._at += 1
        missing = [pair for pair in wanted if pair not in found]
        self._before = wanted
        if missing and self._number == len(self._files):
            self._lack_the_rest(missing)
        elif missing:
            number = self._first + self._at
            self._findings.add(
                self._file.path, self._file.entry_place(number), f"log offset {self._named[self._at][1]}",
                f"{_named(missing)} before it", len(missing),
            )  # fmt: skip

    def _tell_wrong(self, entry: tuple[int, int], wanted: Sequence[tuple[int, int]]) -> None:
        place = self._file.entry_place(self._first + self._at)
        self._findings.add(self._file.path, place, _named([entry]), _named(wanted))

    def _is_odd(self, place: int) -> bool:
        """Whether the entry at hand names a later record than the one behind it."""
        following = self._named[self._at + 1 : self._at + 2]
        return bool(following) and following[0][1] <= place

    def _lack_the_rest(self, pairs: Sequence[tuple[int, int]]) -> None:
        first, count = self._lacking or (pairs[0][1], 0)
        self._lacking = first, count + len(pairs)

    def write(self) -> None:
        """Nothing is written."""

    def finish(self, directory: Path) -> None:
        """Tell of what is missing, and of entries behind those of the log's last record."""
        while self._load():
            entry = self._named[self._at]
            if entry not in self._before and self._findings.killed:
                self._findings.note(f"the index goes on behind the log, at {_named([entry])}")
            elif entry not in self._before:
                place = self._file.entry_place(self._first + self._at)
                self._findings.add(self._file.path, place, _named([entry]), "no entry: no record has it")
            self._at += 1
        if self._lacking is None:
            return
        first, count = self._lacking
        text = f"no entries of {count} keys of records from log offset {first} on"
        if self._findings.killed:
            self._findings.note(f"the index has {text}; the next start enters them")
        elif self._files:
            file = self._files[-1]
            self._findings.add(file.path, file.entry_place(file.count), text, "one for each key", count)
        else:
            self._findings.add(directory, 0, text, "one for each key", count)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _named(pairs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"hash {value} of the record at log offset {offset}" for value, offset in pairs[:3])
