"""Reads with a filter that looks at the records themselves."""

from __future__ import annotations

import asyncio

import pytest

from mqframe.core.messages.java_hash import java_hash
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import decode_records
from mqframe.core.storage.record_filter import record_filter
from mqframe.store.files.log_file import LogFile

WANTED = record_filter(lambda properties: properties.get("n", "0") in ("3", "4", "7"))


def put(store, *messages):
    stored = [store.writes.put(message) for message in messages]
    store.dispatch.now()
    return stored


def numbers(found):
    return [m.properties["n"] for part in found.parts for m in decode_records(part)]


def cold(store, *args, **options):
    return asyncio.run(store.reads.get_cold(*args, **options))


@pytest.fixture(params=["get", "get_now", "copied", "get_cold"])
def read(request, opened, message):
    """Ten messages, and each way in which a reader gets at them."""
    store = opened(mapped_read_bytes=0 if request.param == "copied" else 1 << 30)
    put(store, *(with_number(message(body=b"x" * (n + 1), TAGS="ab"[n % 2]), n) for n in range(10)))
    ways = {"get": store.reads.get, "get_now": store.reads.get_now, "copied": store.reads.get_now}
    return ways.get(request.param, lambda *args, **options: cold(store, *args, **options))


def with_number(message, number):
    message.properties += f"n\x01{number}\x02"
    return message


def test_only_wanted_records_are_read(read):
    found = read("t", 0, 0, 32, records=WANTED)
    assert found.status is GetStatus.FOUND
    assert (numbers(found), found.count, found.next_offset) == (["3", "4", "7"], 3, 10)
    assert len(found.parts) == 2  # neighbours are one stretch


def test_the_reader_goes_on_behind_the_last_one_that_it_got(read):
    found = read("t", 0, 0, 2, records=WANTED)
    assert (numbers(found), found.next_offset) == (["3", "4"], 5)
    found = read("t", 0, 5, 2, records=WANTED)
    assert (numbers(found), found.next_offset) == (["7"], 10)


def test_tags_and_records_are_both_asked(read):
    found = read("t", 0, 0, 32, codes={java_hash("b")}, records=WANTED)
    assert numbers(found) == ["3", "7"]


def test_bytes_are_counted_of_wanted_records_only(read):
    first = read("t", 0, 0, 1, records=WANTED).size_bytes
    assert numbers(read("t", 0, 0, 32, records=WANTED, bytes_max=first)) == ["3"]


def test_nothing_matches(read):
    found = read("t", 0, 2, 32, records=record_filter(lambda properties: False))
    assert (found.status, found.next_offset, found.parts) == (GetStatus.NO_MATCHED_MESSAGE, 10, [])


def test_a_bounded_number_of_entries_is_looked_at(opened, message):
    store = opened(scan_entries_max=10)
    put(store, *(message() for _ in range(25)))
    looked: list[object] = []
    found = store.reads.get("t", 0, 0, 2, records=lambda record: bool(looked.append(record)))
    assert (found.status, found.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 10)
    assert len(looked) == 10


def test_what_memory_does_not_hold_is_left_to_a_thread(opened, message, monkeypatch):
    store = opened(mapped_read_bytes=0)
    put(store, with_number(message(), 3))
    monkeypatch.setattr("mqframe.store.files.log_file.LogFile.read_now", lambda *args: None)
    assert store.reads.get_now("t", 0, 0, 32, records=WANTED) is None
    assert numbers(cold(store, "t", 0, 0, 32, records=WANTED)) == ["3"]


@pytest.fixture
def copies(monkeypatch):
    """Sizes of what was copied from the log, in order."""
    found = []
    read_now = LogFile.read_now

    def noted(file, at, size):
        found.append(size)
        return read_now(file, at, size)

    monkeypatch.setattr(LogFile, "read_now", noted)
    return found


def looked_at(store, count):
    """All records of queue 0, as a filter that wants none of them sees them."""
    seen = []
    found = store.reads.get_now("t", 0, 0, 32, records=lambda record: bool(seen.append(bytes(record))))
    assert (found.count, found.next_offset) == (0, count)
    return [message.body for record in seen for message in decode_records(record)]


def test_old_records_that_lie_near_to_each_other_are_copied_together(opened, message, copies):
    store = opened(mapped_read_bytes=0)
    bodies = [b"%d" % n + b"x" * (n % 400) for n in range(500)]
    bodies[250:253] = [b"long" * 30_000, b"short", b"long" * 5000]
    put(store, *(message(body=body) for body in bodies))
    assert looked_at(store, len(bodies)) == bodies
    assert 0 < len(copies) < 20


def test_old_records_that_lie_far_from_each_other_are_copied_alone(opened, message, copies):
    store = opened(mapped_read_bytes=0)
    bodies = [b"%d" % n for n in range(50)]
    for body in bodies:
        put(store, message(topic="other", body=b"x" * 20_000), message(body=body))
    assert looked_at(store, len(bodies)) == bodies
    assert len(copies) == len(bodies)
    assert max(copies) == 4096


def test_a_record_that_is_in_memory_is_found_where_the_next_ones_are_not(opened, message, monkeypatch):
    store = opened(mapped_read_bytes=0)
    bodies = [b"%d" % n for n in range(5)]
    put(store, *(message(body=body) for body in bodies))
    read_now = LogFile.read_now
    monkeypatch.setattr(
        LogFile, "read_now", lambda file, at, size: read_now(file, at, size) if size < 300 else None
    )
    assert looked_at(store, len(bodies)) == bodies
