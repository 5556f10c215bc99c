"""Heads of records that are put right by the queues that list them."""

from __future__ import annotations

import pytest
from stores import put

from mqframe.core.storage.log_scan import read_record
from mqframe.store.reading.head_mending import HeadMending, place_of

QUEUE_OFFSET = 20


class Log:
    """The log of a store, as far as it is asked for."""

    def __init__(self, view):
        self.view, self.base, self.start, self.end = view, 0, 0, len(view)
        self.synced = 0

    def file_at(self, offset):
        return self if 0 <= offset < self.end else None

    def write(self, at, data):
        self.view[at : at + len(data)] = data

    def sync(self):
        self.synced += 1


@pytest.fixture
def parts(opened, message):
    """A log of 9 messages of two queues in turns, and what its queues list; none of them exists."""
    store = opened()
    places = []
    for number in range(9):
        (stored,) = put(store, message("t", number % 2, b"%d" % number))
        places.append(stored.commit_log_offset)
    raw = bytearray(store.log.log_bytes(0, store.log.max_offset))
    entries = {
        ("t", number % 2, number // 2): store.reads.entries("t", number % 2, number // 2, 1)[0]
        for number in range(9)
    }
    return Log(raw), entries, places


def made(log, entries, *, known=True):
    return HeadMending(log, lambda key: object() if known else None, entries.get)


def flip(log, place, byte=QUEUE_OFFSET, mask=0x80):
    log.view[place + byte] ^= mask


@pytest.mark.parametrize("number", range(9))
def test_a_head_is_put_right_and_is_on_disk(parts, number):
    log, entries, places = parts
    before = bytes(log.view)
    flip(log, places[number])
    heads, place = made(log, entries), ("t", number % 2, number // 2)
    assert heads.mend(place, entries[place])
    assert bytes(log.view) == before
    assert (heads.mended, log.synced) == (1, 1)
    assert place_of(read_record(log.view, places[number], places[number])) == place


def test_a_record_that_is_listed_where_it_says_is_right(parts):
    log, entries, _ = parts
    assert not made(log, entries).mend(("t", 0, 1), entries["t", 1, 1])
    assert log.synced == 0


def test_nothing_is_put_right_by_entries_that_are_wrong_in_a_row(parts):
    log, entries, _ = parts
    rows = range(4)
    swapped = entries | {("t", queue, n): entries["t", 1 - queue, n] for queue in (0, 1) for n in rows}
    for queue in (0, 1):
        for n in rows:
            assert not made(log, swapped).mend(("t", queue, n), swapped["t", queue, n])
    assert log.synced == 0


def test_nothing_is_put_right_in_a_damaged_record_or_in_none(parts):
    log, entries, places = parts
    flip(log, places[4])
    flip(log, places[4], 88)  # the body
    assert not made(log, entries).mend(("t", 0, 2), entries["t", 0, 2])
    physical, size, code = entries["t", 0, 2]
    assert not made(log, entries).mend(("t", 0, 2), (physical + 1, size, code))
    assert not made(log, entries).mend(("t", 0, 2), (physical, size + 1, code))
    assert not made(log, entries).mend(("t", 0, 2), (1 << 40, size, code))


def test_an_entry_alone_is_believed_only_where_the_record_can_have_no_other_place(parts):
    log, entries, places = parts
    alone = {("t", 0, 2): entries["t", 0, 2]}
    flip(log, places[4], QUEUE_OFFSET + 7, 0x40)
    assert not made(log, alone).mend(("t", 0, 2), alone["t", 0, 2])
    assert made(log, alone, known=False).mend(("t", 0, 2), alone["t", 0, 2])
    flip(log, places[4])
    assert made(log, alone).mend(("t", 0, 2), alone["t", 0, 2])
