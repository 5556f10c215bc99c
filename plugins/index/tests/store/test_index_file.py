"""One index file: its bytes, what is found in it, and taking entries back."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_index.store.index_file import IndexFile

from mqframe.store.files.log_file import allocate_really

SLOTS, ENTRIES = 4, 12


def created(path: Path, timestamp: int = 0, offset: int = 0) -> IndexFile:
    file = IndexFile.create(path, SLOTS, ENTRIES, timestamp, offset, allocate_really)
    file.open_to_write(allocate_really)
    return file


def test_bytes_of_a_file(tmp_path) -> None:
    file = created(tmp_path / "file")
    assert file.add([(5, 100), (9, 100)], 10_000) == 2
    assert file.add([(6, 200)], 12_500) == 1
    file.write()
    file.close()
    raw = (tmp_path / "file").read_bytes()
    assert len(raw) == 40 + SLOTS * 4 + ENTRIES * 20
    assert struct.unpack_from(">qqqqii", raw) == (10_000, 12_500, 100, 200, 2, 4)
    assert struct.unpack_from(">4i", raw, 40) == (0, 2, 3, 0)
    entries = [struct.unpack_from(">iqii", raw, 40 + SLOTS * 4 + number * 20) for number in (1, 2, 3)]
    assert entries == [(5, 100, 0, 0), (9, 100, 0, 1), (6, 200, 2, 0)]


def test_nothing_is_in_the_file_before_it_is_written(tmp_path) -> None:
    file = created(tmp_path / "file", 7000, 50)
    header = (7000, 7000, 50, 50, 0, 1)
    file.add([(5, 100)], 10_000)
    assert struct.unpack_from(">qqqqii", file.path.read_bytes()) == header
    assert list(IndexFile(file.path, SLOTS, ENTRIES).offsets(5, 0, 1 << 60)) == []
    file.write()
    assert list(file.offsets(5, 0, 1 << 60)) == [100]
    file.close()


def test_a_full_file_takes_what_fits(tmp_path) -> None:
    file = created(tmp_path / "file")
    assert file.add([(n, n) for n in range(20)], 1000) == ENTRIES - 1
    assert file.full
    assert file.add([(1, 99)], 1000) == 0
    file.close()


def test_a_file_that_was_opened_for_reading_takes_nothing(tmp_path) -> None:
    created(tmp_path / "file").close()
    with pytest.raises(ValueError, match="open for reading only"):
        IndexFile(tmp_path / "file", SLOTS, ENTRIES).add([(1, 1)], 1000)


def test_a_full_disk_leaves_no_file(tmp_path) -> None:
    def full(descriptor: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        IndexFile.create(tmp_path / "file", SLOTS, ENTRIES, 0, 0, full)
    assert list(tmp_path.iterdir()) == []


def test_times_are_whole_seconds_rounded_outwards(tmp_path) -> None:
    file = created(tmp_path / "file")
    for second in range(5):
        file.add([(1, second)], 10_000 + 1000 * second + 400)
    file.write()
    assert list(file.offsets(1, 0, 1 << 60)) == [4, 3, 2, 1, 0]
    assert list(file.offsets(1, 11_400, 12_400)) == [2, 1, 0]
    assert list(file.offsets(1, 11_401, 12_399)) == [1]
    assert [file.matches_time(*ends) for ends in ((0, 10_399), (0, 10_400), (14_400, 1 << 60))] == [
        False, True, True,
    ]  # fmt: skip
    assert not file.matches_time(14_401, 1 << 60)
    file.close()


def test_a_damaged_chain_does_not_go_round_in_circles(tmp_path) -> None:
    file = created(tmp_path / "file")
    file.add([(1, 10), (1, 20)], 1000)
    file.write()
    with open(file.path, "r+b") as raw:
        os.pwrite(raw.fileno(), struct.pack(">i", 2), 40 + SLOTS * 4 + 20 + 16)  # the first points forwards
    assert list(file.offsets(1, 0, 1 << 60)) == [20, 10]
    assert not file.rewind(0)
    file.close()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=ENTRIES - 1),
    st.integers(0, 40),
)
def test_rewound_it_is_as_if_later_entries_had_never_been_made(tmp_path_factory, added, end) -> None:
    folder = tmp_path_factory.mktemp("index")
    offsets = []
    at = 1
    for _, step in added:
        at += step
        offsets.append(at)
    rows = [(key, offset, 10_000 + 1000 * number) for number, ((key, _), offset) in
            enumerate(zip(added, offsets, strict=True))]  # fmt: skip

    def made(name: str, chosen: list[tuple[int, int, int]]) -> IndexFile:
        file = created(folder / name, 5000)
        for key, offset, timestamp in chosen:
            file.add([(key, offset)], timestamp)
        file.write()
        file.close()
        return IndexFile(folder / name, SLOTS, ENTRIES)

    rewound = made("rewound", rows)
    assert rewound.rewind(end)
    kept = [row for row in rows if row[1] < end]
    never = made("never", kept)
    for key in range(10):
        assert list(rewound.offsets(key, 0, 1 << 60)) == list(never.offsets(key, 0, 1 << 60))
    assert (rewound.count, rewound.used_slots) == (never.count, never.used_slots)
    if kept:
        assert rewound.end_offset == never.end_offset
    for file in (rewound, never):
        file.close()


def test_entries_follow_those_there_are_where_slots_name_later_ones(tmp_path) -> None:
    file = created(tmp_path / "file")
    for number in range(4):
        file.add([((1, 1, 2, 1)[number], 100 * number)], 10_000)
    file.write()
    file.close()
    raw = bytearray(file.path.read_bytes())
    struct.pack_into(">ii", raw, 32, 1, 2)  # the header is as if only the first entry had been written
    file.path.write_bytes(raw)
    cut = IndexFile(file.path, SLOTS, ENTRIES)
    cut.open_to_write(allocate_really)
    cut.add([(2, 500), (3, 600), (2, 700), (1, 800)], 10_000)
    cut.write()
    assert [list(cut.offsets(key, 0, 1 << 60)) for key in (1, 2, 3)] == [[800, 0], [700, 500], [600]]
    cut.close()
