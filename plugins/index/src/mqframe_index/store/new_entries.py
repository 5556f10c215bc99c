"""Entries of one index file that are not in it yet, and the slots that will name them (store.md §3)."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, Protocol

HEADER_BYTES: Final = 40
ENTRY: Final = struct.Struct(">iqii")
"""Key hash, log offset, seconds since the file's begin, number of the previous entry in the slot."""
SLOT: Final = struct.Struct(">i")

Pairs = Sequence[tuple[int, int]]
"""(key hash, log offset) of keys, in the order of the log."""
BeforeCut = Callable[[int, int], int]
"""Given a slot and the number in it, that of an entry which is not there: the last one that is, or 0."""


class HashedPairs(Protocol):
    """A `Pairs` that somebody else has made, of records that may have been stored at different times."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, at: int, /) -> tuple[int, int]:
        """One pair. Raises IndexError."""

    def of_one_second(self, skip: int, most: int, begin: int, /) -> tuple[int, int] | None:
        """How many from number `skip` on, at most `most`, lie in one second after `begin` (ms), and the time
        (ms) of the last of them; with `begin` -1 how many have one time. `None`: all of them have.
        """

    def by_time(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """The times, ms, with the pairs of each; none where all have one."""


class NewEntries(Protocol):
    """What `PlainEntries` does."""

    def __len__(self) -> int:
        """How many there are."""

    def add(
        self, pairs: Pairs, skip: int, most: int, number: int, seconds: int, first_seconds: int,
        slots: mmap.mmap, before_cut: BeforeCut,
    ) -> int:  # fmt: skip
        """As `PlainEntries.add`."""

    def entries(self) -> bytes:
        """All of them, as they lie in the file."""

    def write_slots(self, slots: mmap.mmap) -> None:
        """Have the file's slots name them."""

    def clear(self) -> None:
        """They are in the file."""


class PlainEntries:
    """Of a file with so many hash slots."""

    __slots__ = ("_entries", "_new_slots", "_slots")

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._new_slots: dict[int, int] = {}
        self._entries: list[bytes] = []

    def __len__(self) -> int:
        """How many there are."""
        return len(self._entries)

    def add(
        self, pairs: Pairs, skip: int, most: int, number: int, seconds: int, first_seconds: int,
        slots: mmap.mmap, before_cut: BeforeCut,
    ) -> int:  # fmt: skip
        """Note `most` of `pairs`, or all there are, behind the first `skip`; `number`: of the first of them.

        `seconds`: what an entry says, but for the first one; `slots`: the file's header and slots.
        Returns how many slots were not used before.
        """
        written = number - len(self._entries)
        new_slots, note, pack = self._new_slots, self._entries.append, ENTRY.pack
        unpack, slot_count = SLOT.unpack_from, self._slots
        stamp, used = first_seconds, 0
        for key_hash, offset in islice(pairs, skip, skip + most):
            slot = key_hash % slot_count
            previous = new_slots.get(slot)
            if previous is None:
                (previous,) = unpack(slots, HEADER_BYTES + slot * 4)
                if previous >= written:
                    previous = before_cut(slot, previous)
                if previous <= 0:
                    previous = 0
                    used += 1
            note(pack(key_hash, offset, stamp, previous))
            stamp = seconds
            new_slots[slot] = number
            number += 1
        return used

    def entries(self) -> bytes:
        """All of them, as they lie in the file."""
        return b"".join(self._entries)

    def write_slots(self, slots: mmap.mmap) -> None:
        """Have the file's slots name them."""
        pack = SLOT.pack_into
        for slot, number in self._new_slots.items():
            pack(slots, HEADER_BYTES + slot * 4, number)

    def clear(self) -> None:
        """They are in the file."""
        self._entries.clear()
        self._new_slots.clear()
