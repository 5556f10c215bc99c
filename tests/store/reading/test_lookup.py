"""Reads by queue offset, key and log offset."""

from __future__ import annotations

from stores import bodies, put

from mqframe.core.messages.java_hash import java_hash
from mqframe.core.storage.found import GetStatus


def test_statuses_outside_a_queue(opened, message):
    store = opened()
    put(store, message(), message())
    answers = {offset: store.reads.get("t", 0, offset, 1) for offset in (-1, 2, 7)}
    assert [(found.status, found.next_offset) for found in answers.values()] == [
        (GetStatus.OFFSET_TOO_SMALL, 0),
        (GetStatus.OFFSET_OVERFLOW_ONE, 2),
        (GetStatus.OFFSET_OVERFLOW_BADLY, 2),
    ]
    missing = store.reads.get("unknown", 0, 5, 1)
    assert (missing.status, missing.next_offset) == (GetStatus.NO_MATCHED_LOGIC_QUEUE, 0)


def test_neighbours_come_as_one_slice(opened, message):
    store = opened()
    put(store, *(message("t", n % 2, b"%d" % n) for n in (0, 0, 0, 1, 2)))
    found = store.reads.get("t", 0, 0, 32)
    assert (found.count, len(found.parts)) == (4, 2)
    assert bodies(found) == [b"0", b"0", b"0", b"2"]


def test_limits_of_a_read(opened, message):
    store = opened()
    stored = put(store, *(message(body=b"x" * 1000) for _ in range(5)))
    assert store.reads.get("t", 0, 0, 3).count == 3
    assert store.reads.get("t", 0, 0, 32, bytes_max=stored[0].size * 2).count == 2
    first = store.reads.get("t", 0, 1, 32, bytes_max=1)
    assert (first.count, first.next_offset) == (1, 2)


def test_tag_filter(opened, message):
    store = opened()
    put(store, *(message(body=b"%d" % n, TAGS="ab"[n % 2]) for n in range(6)))
    codes = {java_hash("b")}
    found = store.reads.get("t", 0, 0, 2, codes=codes)
    assert (bodies(found), found.next_offset) == ([b"1", b"3"], 5)
    nothing = store.reads.get("t", 0, 0, 2, codes={1})
    assert (nothing.status, nothing.next_offset, nothing.parts) == (GetStatus.NO_MATCHED_MESSAGE, 6, [])


def test_a_filtered_read_looks_at_a_bounded_number_of_entries(opened, message):
    store = opened(scan_entries_max=10)
    put(store, *(message() for _ in range(25)))
    found = store.reads.get("t", 0, 0, 2, codes={1})
    assert (found.status, found.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 10)
