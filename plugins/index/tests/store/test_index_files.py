"""The index of keys: its files, what it finds again."""

from __future__ import annotations

import struct

import pytest
from mqframe_index.store.index_file import HEADER
from mqframe_index.store.index_files import IndexFiles
from mqframe_index.store.key_hashes import KeyHashes
from mqframe_index.store.new_entries import ENTRY, PlainEntries
from stores import put
from timed_pairs import TimedPairs

from mqframe.core.storage.record import decode_records
from mqframe.store.files.log_file import allocate_really


def test_index_goes_on_in_a_next_file(opened, message, tmp_path, clock):
    store = opened(index_entries=5)
    for n in range(11):
        put(store, message(body=b"%d" % n, KEYS="all"))
        clock.advance(1)
    assert len(list((tmp_path / "store/index").iterdir())) == 3
    assert len(store.search.query("t", "all", 64).records) == 11
    third = clock.now_ms() - 9000
    found = store.search.query("t", "all", 64, third, third + 1999).records
    assert [next(iter(decode_records(r))).body for r in found] == [b"3", b"2"]


EVER = (0, 1 << 60)
SLOTS = 8


@pytest.fixture
def opening(tmp_path, clock):
    """Opens the index below `tmp_path`, as one process after the other does; 4 entries a file."""
    made: list[IndexFiles] = []

    def open_index() -> IndexFiles:
        for earlier in made:
            earlier.close()
        made.append(IndexFiles(tmp_path / "index", SLOTS, 5, allocate_really, clock.now_ms))
        made[-1].load()
        return made[-1]

    yield open_index
    for each in made:
        each.close()


def filled(index: IndexFiles, clock, count: int) -> IndexFiles:
    for number in range(count):
        index.add("t", [(100 * number, (f"k{number % 2}", "all"))], clock.now_ms())
        clock.advance(1)
    index.write()
    return index


def offsets(index: IndexFiles, key: str, begin: int = 0, end: int = 1 << 60) -> list[int]:
    return list(index.offsets("t", key, begin, end))


def test_records_are_found_newest_first_over_all_files(opening, clock) -> None:
    index = filled(opening(), clock, 6)
    assert len(index.files) == 3
    assert (offsets(index, "all"), offsets(index, "k1")) == ([500, 400, 300, 200, 100, 0], [500, 300, 100])
    assert (offsets(index, "none"), list(index.offsets("u", "all", *EVER))) == ([], [])
    assert index.covered == 500
    again = opening()
    assert not again.lost
    assert offsets(again, "all") == [500, 400, 300, 200, 100, 0]


@pytest.mark.parametrize("years", [-10, 10])
def test_files_have_names_in_the_order_of_their_making_though_the_clock_is_set(opening, clock, years) -> None:
    index = filled(opening(), clock, 4)
    clock.jump(years * 365 * 86_400)
    index.add("t", [(400 + number, ("new",)) for number in range(8)], clock.now_ms())
    index.write()
    names = [file.path.name for file in index.files]
    assert len(names) == 4
    assert names == sorted(set(names))
    assert {len(name) for name in names} == {17}
    assert offsets(opening(), "new") == list(range(407, 399, -1))


def test_files_have_names_in_the_order_of_their_making_though_the_clock_stands(opening, clock) -> None:
    index = opening()
    index.add("t", [(100 * number, ("all",)) for number in range(10)], clock.now_ms())
    index.write()
    names = [file.path.name for file in index.files]
    assert len(names) == 3
    assert names == sorted(set(names))
    assert all(len(name) == 17 for name in names)
    assert index.filled == index.files[:2]


def test_long_keys_are_hashed_as_any_other(opening, clock) -> None:
    # Unique ids of 32 and 56 characters take a short cut; what is found is found by the plain hash.
    keys = ["A" * 24 + f"{number:08X}" for number in range(3)] + ["B" * 48 + "01234567"]
    index = opening()
    for number, key in enumerate(keys):
        index.add("t", [(number, (key,))], clock.now_ms())
    index.write()
    assert [offsets(index, key) for key in keys] == [[0], [1], [2], [3]]


def test_what_a_file_holds_already_is_not_added_again(opening, clock) -> None:
    filled(opening(), clock, 3)
    again = filled(opening(), clock, 5)
    assert offsets(again, "all") == [400, 300, 200, 100, 0]


def test_rewound_it_has_nothing_from_that_record_on(opening, clock) -> None:
    index = filled(opening(), clock, 6)
    index.rewind(300)
    assert offsets(index, "all") == [200, 100, 0]
    again = opening()
    assert offsets(again, "all") == [200, 100, 0]
    again.rewind(0)
    assert again.files == []


@pytest.mark.parametrize("damage", [b"", b"\xff" * 172])
def test_damaged_files_and_all_behind_them_are_to_be_built_again(opening, clock, damage, caplog) -> None:
    index = filled(opening(), clock, 6)
    index.files[1].path.write_bytes(damage)
    again = opening()
    assert again.lost
    assert len(again.files) == 1
    # The record that the first file ends with may have had keys in the second one: it is added again.
    assert offsets(again, "all") == [0]
    again.add("t", [(100, ["k1", "all"])], clock.now_ms())
    again.write()
    assert offsets(again, "all") == [100, 0]
    assert "damaged index file is built again" in caplog.text


def test_files_that_end_before_the_log_go_but_never_the_last(opening, clock) -> None:
    index = filled(opening(), clock, 6)
    assert index.follow_log(100) == 0
    assert index.follow_log(101) == 1
    assert offsets(index, "all") == [500, 400, 300, 200]
    assert index.follow_log(1 << 40) == 1
    assert (len(index.files), index.filled) == (1, [])


def test_a_header_that_reaches_further_than_its_entries_is_not_believed(opening, clock) -> None:
    index = filled(opening(), clock, 2)
    (file,) = index.files
    raw = bytearray(file.path.read_bytes())
    HEADER.pack_into(raw, 0, 0, 0, 0, 1 << 40, 0, 1)
    file.path.write_bytes(raw)
    index = opening()
    index.rewind(100)
    assert (index.files, index.lost, index.repeat_from) == ([], True, 0)
    assert not file.path.exists()


def test_a_file_that_was_made_and_never_written_covers_nothing(opening, tmp_path, clock):
    index = opening()
    index._writable()
    assert len(list((tmp_path / "index").iterdir())) == 1
    index = opening()
    assert (index.files, index.repeat_from, index.lost) == ([], 0, False)
    filled(index, clock, 1)
    assert offsets(index, "k0") == [0]


def test_a_record_with_keys_in_two_files_is_added_again_when_the_second_one_cannot_be_rewound(
    opening, clock
) -> None:
    index = opening()
    index.add("t", [(0, ("a",)), (100, ("b", "c", "d", "e")), (200, ("f",)), (300, ("g",))], clock.now_ms())
    index.write()
    first, second = index.files
    assert (first.end_offset, second.begin_offset) == (100, 100)
    # As after a loss of power while it was rewound: one slot is back, the header is not.
    raw = bytearray(second.path.read_bytes())
    key_hash = ENTRY.unpack_from(raw, HEADER.size + 4 * SLOTS + 20 * 3)[0]
    struct.pack_into(">i", raw, HEADER.size + 4 * (key_hash % SLOTS), 0)
    second.path.write_bytes(raw)
    again = opening()
    again.rewind(250)
    assert (again.lost, len(again.files), again.repeat_from) == (True, 1, 1)
    again.add("t", [(0, ("a",)), (100, ("b", "c", "d", "e")), (200, ("f",))], clock.now_ms())
    again.write()
    assert [offsets(again, key) for key in "abcdef"] == [[0], [100], [100], [100], [100], [200]]


def test_a_file_that_was_never_written_hides_none_before_it(opening, clock) -> None:
    index = filled(opening(), clock, 2)
    index._writable()
    unwritten = index.files[1].path
    unwritten.write_bytes(bytes(unwritten.stat().st_size))  # as its header did not get to the disk
    again = opening()
    again.rewind(100)
    assert (len(again.files), again.lost, offsets(again, "all")) == (1, False, [0])


def test_files_behind_one_that_was_never_written_are_built_again(opening, clock) -> None:
    index = filled(opening(), clock, 6)
    lost = index.files[1].path
    lost.write_bytes(bytes(lost.stat().st_size))
    again = opening()
    assert (len(again.files), again.lost, offsets(again, "all")) == (1, True, [0])


def torn(index, clock):
    """The file of four records with one key, of which a loss of power left the header that two had."""
    for number in range(4):
        index.add("t", [(100 * number, ("k",))], clock.now_ms())
        index.write()
    (file,) = index.files
    raw = bytearray(file.path.read_bytes())
    HEADER.pack_into(raw, 0, file.begin_timestamp, file.end_timestamp, 0, 100, 1, 3)
    file.path.write_bytes(raw)
    return file.path


def test_rewound_after_a_loss_of_power_slots_lead_to_what_was_there_before(opening, clock) -> None:
    path = torn(opening(), clock)
    again = opening()
    assert offsets(again, "k") == [100, 0]
    again.rewind(200, torn=True)
    assert not again.lost
    assert max(struct.unpack_from(f">{SLOTS}i", path.read_bytes(), HEADER.size)) == 2


def test_slots_that_lead_to_what_was_never_written_have_their_file_built_again(opening, clock) -> None:
    path = torn(opening(), clock)
    path.write_bytes(path.read_bytes()[:-40] + bytes(40))
    again = opening()
    assert offsets(again, "k") == []
    again.rewind(200, torn=True)
    assert (again.files, again.lost) == ([], True)


@pytest.mark.parametrize("at_once", [1, 3, 20])
def test_keys_with_times_of_their_own_are_noted_as_one_by_one(tmp_path, clock, at_once) -> None:
    times = [5000, 5000, 5400, 5999, 6000, 7100, 7099, 9000, 9001, 9002, 12_000]
    pairs = [KeyHashes().pairs("t", [(100 * n, ("a", f"b{n}"))], 0) for n in range(len(times))]
    entries = [(*pair, time) for of_record, time in zip(pairs, times, strict=True) for pair in of_record]
    files = []
    for name, count in (("one by one", 1), ("together", at_once)):
        index = IndexFiles(tmp_path / name, SLOTS, 6, allocate_really, clock.now_ms)
        index.note_in(PlainEntries, TimedPairs)
        for at in range(0, len(entries), count):
            part = entries[at : at + count]
            index.add("", TimedPairs(part, timed=count > 1), part[-1][2])
        index.write()
        index.close()
        files.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])
    assert files[0] == files[1]
    assert len(files[0]) == 5
