"""Entries that are not in a file yet."""

import mmap
import struct

from hypothesis import given
from hypothesis import strategies as st
from mqframe_index.store.new_entries import ENTRY, PlainEntries

SLOTS = 7


def slots_of(numbers: dict[int, int]) -> mmap.mmap:
    found = mmap.mmap(-1, 40 + SLOTS * 4)
    for slot, number in numbers.items():
        struct.pack_into(">i", found, 40 + slot * 4, number)
    return found


def none_cut(slot: int, number: int) -> int:
    raise AssertionError(f"slot {slot} was looked into for {number}")


def test_entries_follow_those_of_their_slots_in_the_file_and_here() -> None:
    new, slots = PlainEntries(SLOTS), slots_of({3: 4})
    assert new.add([(3, 100), (10, 100), (4, 200)], 0, 9, 6, 8, 5, slots, none_cut) == 1
    assert len(new) == 3
    assert list(ENTRY.iter_unpack(new.entries())) == [(3, 100, 5, 4), (10, 100, 8, 6), (4, 200, 8, 0)]
    assert bytes(slots) == bytes(slots_of({3: 4})), "nothing is in the file yet"
    new.write_slots(slots)
    assert bytes(slots) == bytes(slots_of({3: 7, 4: 8}))
    new.clear()
    assert not len(new)
    assert new.entries() == b""


def test_a_part_of_the_pairs_is_taken() -> None:
    new, slots = PlainEntries(SLOTS), slots_of({})
    assert new.add([(n, 10 * n) for n in range(6)], 2, 3, 1, 0, 0, slots, none_cut) == 3
    assert [(key, offset) for key, offset, _, _ in ENTRY.iter_unpack(new.entries())] == [
        (2, 20),
        (3, 30),
        (4, 40),
    ]


def test_what_a_slot_names_that_is_not_there_is_asked_about() -> None:
    asked = []

    def cut(slot: int, number: int) -> int:
        asked.append((slot, number))
        return {1: 2, 2: 0}[slot]

    new, slots = PlainEntries(SLOTS), slots_of({1: 9, 2: 6, 5: 5})
    assert new.add([(1, 1), (8, 2), (2, 3), (5, 4)], 0, 4, 6, 0, 0, slots, cut) == 1
    assert asked == [(1, 9), (2, 6)], "once for each slot"
    assert [previous for _, _, _, previous in ENTRY.iter_unpack(new.entries())] == [2, 6, 0, 5]


@given(st.lists(st.lists(st.integers(0, 50), max_size=5), max_size=6))
def test_any_keys_make_chains_that_lead_back_to_all_of_them(turns: list[list[int]]) -> None:
    new, slots = PlainEntries(SLOTS), slots_of({})
    number, used = 1, 0
    for turn in turns:
        used += new.add(
            [(key, number + n) for n, key in enumerate(turn)], 0, len(turn), number, 0, 0, slots, none_cut
        )
        number += len(turn)
    entries = list(ENTRY.iter_unpack(new.entries()))
    new.write_slots(slots)
    found = []
    for slot in range(SLOTS):
        (at,) = struct.unpack_from(">i", slots, 40 + slot * 4)
        while at:
            key, offset, _, at = entries[at - 1]
            assert key % SLOTS == slot
            found.append((key, offset))
    keys = [key for turn in turns for key in turn]
    assert sorted(found, key=lambda pair: pair[1]) == list(zip(keys, range(1, number), strict=True))
    assert used == len({key % SLOTS for key in keys})
