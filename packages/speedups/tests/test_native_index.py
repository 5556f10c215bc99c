"""Index entries that are noted natively, against those of Python's index files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_index.store.index_file import HEADER, IndexFile
from mqframe_speedups import _native as native

SLOTS, ENTRIES = 5, 40
BEGIN = 1_700_000_000_000
NEVER: Any = None
"""A `before_cut` that must not be called."""


def opened(path: Path) -> IndexFile:
    """The index file at `path`, to be written."""
    file = IndexFile(path, SLOTS, ENTRIES)
    file.open_to_write(lambda descriptor, size: None)
    return file


def made(path: Path) -> IndexFile:
    """A new index file at `path`."""
    path.unlink(missing_ok=True)
    IndexFile.create(path, SLOTS, ENTRIES, 0, 0, lambda descriptor, size: None).close()
    return opened(path)


class Twin:
    """An index file as it would be written with `NewEntries`."""

    def __init__(self, raw: bytes) -> None:
        self.raw = bytearray(raw)
        self.count, self.used = HEADER.unpack_from(self.raw)[5], HEADER.unpack_from(self.raw)[4]
        self.new = native.NewEntries(SLOTS)

    def add(
        self, pairs: Any, timestamp: int, before_cut: Any = NEVER, skip: int = 0, most: int = 1000
    ) -> None:
        """As `IndexFile.add`."""
        begin = HEADER.unpack_from(self.raw)[0] or timestamp
        seconds = (timestamp - begin) // 1000
        before = len(self.new)
        self.used += self.new.add(pairs, skip, most, self.count, seconds, seconds, self.raw, before_cut)
        self.count += len(self.new) - before

    def write(self) -> None:
        """Put the entries behind those that are there."""
        at = HEADER.size + SLOTS * 4 + (self.count - len(self.new)) * 20
        entries = self.new.entries()
        assert len(entries) == 20 * len(self.new)
        self.raw[at : at + len(entries)] = entries
        self.new.write_slots(self.raw)
        self.new.clear()
        assert (len(self.new), self.new.entries()) == (0, b"")


pairs_of = st.lists(
    st.tuples(st.integers(0, 2**31 - 1) | st.integers(0, 9), st.integers(0, 2**40)), max_size=6
)


@settings(deadline=None, max_examples=150)
@given(adds=st.lists(st.tuples(pairs_of, st.integers(0, 5000), st.booleans()), max_size=6))
def test_files_are_those_of_python(tmp_path_factory: pytest.TempPathFactory, adds: Any) -> None:
    """Entries and slots, over several writes; the time of a file begins with its first entry."""
    path = tmp_path_factory.getbasetemp() / "20231114221320000"
    file = made(path)
    twin = Twin(path.read_bytes())
    now = BEGIN
    for pairs, later, write in adds:
        now += later
        if not pairs:
            continue
        assert file.add(pairs, now) == len(pairs)
        if file.count == len(pairs) + 1:
            twin.raw[:8] = struct.pack(">q", now)
        twin.add(pairs, now)
        if write:
            file.write()
            twin.write()
    file.write()
    twin.write()
    file.close()
    raw = path.read_bytes()
    assert twin.raw[HEADER.size :] == raw[HEADER.size :]
    assert HEADER.unpack_from(raw)[4:] == (twin.used, twin.count)


@settings(deadline=None, max_examples=100)
@given(first=pairs_of.filter(bool), cut=st.integers(0, 6), then=st.lists(pairs_of.filter(bool), max_size=3))
def test_slots_that_lead_too_far_are_asked_about(
    tmp_path_factory: pytest.TempPathFactory, first: Any, cut: int, then: Any
) -> None:
    """A write that was cut off before its header left slots that name entries which do not count."""
    path = tmp_path_factory.getbasetemp() / "20231114221320001"
    file = made(path)
    file.add(first, BEGIN)
    file.write()
    file.close()
    raw = bytearray(path.read_bytes())
    header = list(HEADER.unpack_from(raw))
    header[5] = max(1, header[5] - cut)
    HEADER.pack_into(raw, 0, *header)
    path.write_bytes(raw)
    file, twin = opened(path), Twin(bytes(raw))
    began = file.count

    def before_cut(slot: int, number: int) -> int:
        assert number >= began
        return file._before_cut(slot, number, began) or 0

    for pairs in then:
        twin.add(pairs, BEGIN + 2000, before_cut)
        assert file.add(pairs, BEGIN + 2000) == len(pairs)
    if header[5] > 1:  # else the first entry begins the time anew
        twin.write()
        file.write()
        assert twin.raw[HEADER.size :] == path.read_bytes()[HEADER.size :]
        assert file.used_slots == twin.used
    file.close()


def test_the_first_entry_has_its_own_seconds() -> None:
    """Numbers, seconds and the entries before, written out."""
    new, slot_map = native.NewEntries(SLOTS), bytearray(HEADER.size + SLOTS * 4)
    struct.pack_into(">i", slot_map, HEADER.size + 4, 6)
    assert new.add([(1, 10), (6, 20), (2, 30), (1, 40)], 0, 9, 7, 3, 99, slot_map, NEVER) == 1
    entries = list(struct.iter_unpack(">iqii", new.entries()))
    assert entries == [(1, 10, 99, 6), (6, 20, 3, 7), (2, 30, 3, 0), (1, 40, 3, 8)]
    new.write_slots(slot_map)
    assert struct.unpack_from(">5i", slot_map, HEADER.size) == (0, 10, 9, 0, 0)


def test_a_part_of_the_keys_is_taken() -> None:
    """Of lists and tuples, from any place on."""
    pairs = tuple((number, number * 10) for number in range(6))
    for skip, most, expected in (
        (0, 2, pairs[:2]),
        (4, 9, pairs[4:]),
        (2, 0, ()),
        (9, 9, ()),
        (1, 3, pairs[1:4]),
    ):
        for keys in (pairs, list(pairs)):
            new = native.NewEntries(1000)
            new.add(keys, skip, most, 1, 0, 0, bytes(4040), NEVER)
            found = [entry[:2] for entry in struct.iter_unpack(">iqii", new.entries())]
            assert found == list(expected)


def test_what_raises_leaves_nothing_behind() -> None:
    """An error of `before_cut`, or of keys, takes all entries of its call back."""
    new, slot_map = native.NewEntries(SLOTS), bytearray(HEADER.size + SLOTS * 4)
    new.add([(1, 10)], 0, 9, 5, 0, 0, slot_map, NEVER)
    before = new.entries()
    struct.pack_into(">i", slot_map, HEADER.size + 8, 5)

    def fail(slot: int, number: int) -> int:
        raise OSError(f"{slot} {number}")

    with pytest.raises(OSError, match="2 5"):
        new.add([(1, 20), (3, 30), (6, 40), (2, 50)], 0, 9, 6, 0, 0, slot_map, fail)
    assert new.entries() == before
    with pytest.raises(OverflowError):
        new.add([(-1, 20)], 0, 9, 6, 0, 0, slot_map, NEVER)
    with pytest.raises(OverflowError):
        new.add([(1, 20)], 0, 9, 2**31 - 1, 0, 0, slot_map, NEVER)
    assert new.entries() == before
    assert new.add([(3, 60), (1, 70)], 0, 9, 6, 0, 0, slot_map, NEVER) == 1
    assert [entry[3] for entry in struct.iter_unpack(">iqii", new.entries())] == [0, 0, 5]


def test_buffers_have_to_hold_all_slots() -> None:
    """Too short ones, read-only ones and those of something else are refused."""
    new = native.NewEntries(SLOTS)
    with pytest.raises(ValueError, match="have 60 bytes, not 59"):
        new.add([(1, 1)], 0, 1, 1, 0, 0, bytes(59), NEVER)
    new.add([(1, 1)], 0, 1, 1, 0, 0, bytes(60), NEVER)
    with pytest.raises(BufferError):
        new.write_slots(bytes(60))
    with pytest.raises((BufferError, TypeError)):
        new.write_slots("text")
    with pytest.raises(ValueError, match="at least one slot"):
        native.NewEntries(0)
