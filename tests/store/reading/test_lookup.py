"""Reads by queue offset, key and log offset."""

from __future__ import annotations

from stores import bodies, put

from mqframe.core.messages.java_hash import java_hash
from mqframe.core.storage.record import decode_records
from mqframe.store.incoming import GetStatus


def test_statuses_outside_a_queue(opened, message):
    store = opened()
    put(store, message(), message())
    answers = {offset: store.get("t", 0, offset, 1) for offset in (-1, 2, 7)}
    assert [(found.status, found.next_offset) for found in answers.values()] == [
        (GetStatus.OFFSET_TOO_SMALL, 0),
        (GetStatus.OFFSET_OVERFLOW_ONE, 2),
        (GetStatus.OFFSET_OVERFLOW_BADLY, 2),
    ]
    missing = store.get("unknown", 0, 5, 1)
    assert (missing.status, missing.next_offset) == (GetStatus.NO_MATCHED_LOGIC_QUEUE, 0)


def test_neighbours_come_as_one_slice(opened, message):
    store = opened()
    put(store, *(message("t", n % 2, b"%d" % n) for n in (0, 0, 0, 1, 2)))
    found = store.get("t", 0, 0, 32)
    assert (found.count, len(found.parts)) == (4, 2)
    assert bodies(found) == [b"0", b"0", b"0", b"2"]


def test_limits_of_a_read(opened, message):
    store = opened()
    stored = put(store, *(message(body=b"x" * 1000) for _ in range(5)))
    assert store.get("t", 0, 0, 3).count == 3
    assert store.get("t", 0, 0, 32, bytes_max=stored[0].size * 2).count == 2
    first = store.get("t", 0, 1, 32, bytes_max=1)
    assert (first.count, first.next_offset) == (1, 2)


def test_tag_filter(opened, message):
    store = opened()
    put(store, *(message(body=b"%d" % n, TAGS="ab"[n % 2]) for n in range(6)))
    codes = {java_hash("b")}
    found = store.get("t", 0, 0, 2, codes=codes)
    assert (bodies(found), found.next_offset) == ([b"1", b"3"], 5)
    nothing = store.get("t", 0, 0, 2, codes={1})
    assert (nothing.status, nothing.next_offset, nothing.parts) == (GetStatus.NO_MATCHED_MESSAGE, 6, [])


def test_a_filtered_read_looks_at_a_bounded_number_of_entries(opened, message):
    store = opened(scan_entries_max=10)
    put(store, *(message() for _ in range(25)))
    found = store.get("t", 0, 0, 2, codes={1})
    assert (found.status, found.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 10)


def test_key_look_up_compares_the_key_itself(opened, message):
    store = opened()
    # "Aa" and "BB" have the same hash.
    put(
        store,
        message(body=b"1", KEYS="Aa"),
        message(body=b"2", KEYS="BB x"),
        message("u", 0, b"3", KEYS="Aa"),
    )
    assert [next(iter(decode_records(r))).body for r in store.query("t", "Aa", 9).records] == [b"1"]
    put(store, message(body=b"4", UNIQ_KEY="Aa"))
    assert len(store.query("t", "Aa", 9).records) == 2
    assert len(store.query("t", "Aa", 9, unique=True).records) == 1
    assert len(store.query("t", "Aa", 1).records) == 1


def test_query_tells_how_far_the_index_reaches(opened, message, clock):
    store = opened()
    assert store.query("t", "k", 9) == ([], 0, 0)
    stored = put(store, message(KEYS="k"), message(KEYS="k"))
    assert store.query("t", "k", 9)[1:] == (clock.now_ms(), stored[1].commit_log_offset)


def test_record_at(opened, message):
    store = opened()
    first, second = put(store, message(body=b"1"), message(body=b"2"))
    assert next(iter(decode_records(store.record_at(second.commit_log_offset)))).body == b"2"
    for wrong in (1, second.end_offset, 1 << 50, -5):
        assert store.record_at(wrong) is None
    assert first.size == second.commit_log_offset
