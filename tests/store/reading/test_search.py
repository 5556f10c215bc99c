"""Searches by log offset and key."""

from __future__ import annotations

from stores import put

from mqframe.core.storage.record import decode_records


def test_key_look_up_compares_the_key_itself(opened, message):
    store = opened()
    # "Aa" and "BB" have the same hash.
    put(
        store,
        message(body=b"1", KEYS="Aa"),
        message(body=b"2", KEYS="BB x"),
        message("u", 0, b"3", KEYS="Aa"),
    )
    assert [next(iter(decode_records(r))).body for r in store.search.query("t", "Aa", 9).records] == [b"1"]
    put(store, message(body=b"4", UNIQ_KEY="Aa"))
    assert len(store.search.query("t", "Aa", 9).records) == 2
    assert len(store.search.query("t", "Aa", 9, unique=True).records) == 1
    assert len(store.search.query("t", "Aa", 1).records) == 1


def test_query_tells_how_far_the_index_reaches(opened, message, clock):
    store = opened()
    assert store.search.query("t", "k", 9) == ([], 0, 0)
    stored = put(store, message(KEYS="k"), message(KEYS="k"))
    assert store.search.query("t", "k", 9)[1:] == (clock.now_ms(), stored[1].commit_log_offset)


def test_record_at(opened, message):
    store = opened()
    first, second = put(store, message(body=b"1"), message(body=b"2"))
    assert next(iter(decode_records(store.search.record_at(second.commit_log_offset)))).body == b"2"
    for wrong in (1, second.end_offset, 1 << 50, -5):
        assert store.search.record_at(wrong) is None
    assert first.size == second.commit_log_offset
