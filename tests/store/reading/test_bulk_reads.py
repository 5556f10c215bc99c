"""Reads of many messages that lie among others'."""

from __future__ import annotations

import asyncio

import pytest

from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import decode_records
from mqframe.store.files.log_file import LogFile

QUEUES = 3
COUNT = 200


@pytest.fixture(params=["get", "mapped", "copied", "half copied", "cold"])
def read(request, opened, message):
    """Messages of three queues in turns, over several files, and each way in which a reader gets at them."""
    kept = {"mapped": 1 << 30, "half copied": 60_000}.get(request.param, 0)
    store = opened(mapped_read_bytes=kept, commit_log_file_bytes=1 << 15)
    for number in range(COUNT * QUEUES):
        store.writes.put(message(queue_id=number % QUEUES, body=b"%d" % number * (1 + number % 5)))
    store.dispatch.now()
    ways = {
        "get": store.reads.get,
        "cold": lambda *args, **named: asyncio.run(store.reads.get_cold(*args, **named)),
    }
    return ways.get(request.param, store.reads.get_now)


def bodies(found) -> list[bytes]:
    return [m.stored_body for part in found.parts for m in decode_records(part)]


def wanted(queue_id: int, first: int, last: int) -> list[bytes]:
    numbers = [n * QUEUES + queue_id for n in range(first, last)]
    return [b"%d" % n * (1 + n % 5) for n in numbers]


def test_all_that_was_asked_for_comes_in_order(read) -> None:
    for queue_id in range(QUEUES):
        found = read("t", queue_id, 3, COUNT, bytes_max=1 << 20)
        assert (found.status, found.count, found.next_offset) == (GetStatus.FOUND, COUNT - 3, COUNT)
        assert bodies(found) == wanted(queue_id, 3, COUNT)
        assert found.size_bytes == sum(map(len, found.parts))


def test_bytes_end_a_read(read) -> None:
    found = read("t", 1, 0, COUNT, bytes_max=5000)
    assert 10 < found.count < COUNT
    assert found.size_bytes <= 5000
    assert bodies(found) == wanted(1, 0, found.count)


def test_what_lies_close_together_is_read_at_once(opened, message, monkeypatch) -> None:
    store = opened(mapped_read_bytes=0)
    for number in range(60):
        store.writes.put(message(queue_id=number % 2))
    store.dispatch.now()
    calls: list[int] = []
    read_now = LogFile.read_now

    def counted(self, at: int, size: int):
        calls.append(size)
        return read_now(self, at, size)

    monkeypatch.setattr(LogFile, "read_now", counted)
    assert store.reads.get_now("t", 0, 0, 30).count == 30
    assert len(calls) == 1


async def test_what_memory_does_not_hold_is_left_to_a_thread(opened, message, monkeypatch) -> None:
    store = opened(mapped_read_bytes=0)
    for number in range(100):
        store.writes.put(message(queue_id=number % 2, body=b"%d" % number))
    store.dispatch.now()
    monkeypatch.setattr(LogFile, "read_now", lambda *arguments: None)
    assert store.reads.get_now("t", 0, 0, 50) is None
    found = await store.reads.get_cold("t", 0, 0, 50)
    assert bodies(found) == [b"%d" % number for number in range(0, 100, 2)]
    assert len(found.parts) == 1  # joined there, not on the loop


async def test_the_thread_tells_of_files_that_were_removed_meanwhile(opened, message, monkeypatch) -> None:
    store = opened()
    for number in range(4):
        store.writes.put(message(queue_id=number % 2))
    store.dispatch.now()
    monkeypatch.setattr("mqframe.store.files.log_files.LogFiles.fetch", lambda *arguments: None)
    assert (await store.reads.get_cold("t", 0, 0, 2)).status is GetStatus.MESSAGE_WAS_REMOVING
