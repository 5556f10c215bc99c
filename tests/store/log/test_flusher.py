"""Asynchronous flush, group commit, and what consumers see meanwhile."""

from __future__ import annotations

import asyncio
import errno
import threading

import pytest

from mqframe.core.errors import StoreUnavailable
from mqframe.store.files.log_file import LogFile


class Disk:
    """Counts syncs of log files; holds them back while `gate` is shut."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.syncs = 0
        self.gate = threading.Event()
        self.gate.set()
        self.broken = False
        real = LogFile.sync

        def sync(file: LogFile) -> None:
            assert self.gate.wait(120)
            if self.broken:
                raise OSError(errno.EIO, "Input/output error")
            self.syncs += 1
            real(file)

        monkeypatch.setattr(LogFile, "sync", sync)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


async def until(condition):
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0)


async def test_async_flush_waits_for_four_pages_or_ten_seconds(opened, message, clock, disk):
    store = opened()
    store.start()
    store.writes.put(message(body=b"x" * 100))
    await clock.aadvance(5)
    assert (disk.syncs, store.log.flushed_offset) == (0, 0)
    await clock.aadvance(5.1)
    await until(lambda: store.log.flushed_offset == store.log.max_offset)
    assert disk.syncs == 1
    store.writes.put(message(body=b"x" * 5 * 4096))
    await clock.aadvance(0.6)
    await until(lambda: store.log.flushed_offset == store.log.max_offset)
    assert disk.syncs == 2
    await store.stop()


def test_async_flush_confirms_at_once(opened, message):
    store = opened()
    told = []
    stored = store.writes.put(message())
    store.confirming.when_confirmed(stored.end_offset, told.append)
    assert told == [True]


async def test_group_commit_shares_one_flush(opened, message, disk):
    store = opened(flush="SYNC_FLUSH")
    store.start()
    told = []
    disk.gate.clear()

    def send(name):
        end = store.writes.put(message(body=name)).end_offset
        store.confirming.when_confirmed(end, lambda ok: told.append((name, ok)))

    send(b"1")
    await asyncio.sleep(0)
    for name in (b"2", b"3", b"4"):
        send(name)
    store.dispatch.now()
    assert told == []
    assert store.queues.max_offset("t", 0) == 0, "not on disk, so not for consumers"
    disk.gate.set()
    await until(lambda: len(told) == 4)
    assert told == [(b"1", True), (b"2", True), (b"3", True), (b"4", True)]
    assert disk.syncs == 2
    assert store.queues.max_offset("t", 0) == 4
    await store.stop()


async def test_arrivals_are_told_before_the_answer(opened, message):
    order = []
    store = opened(flush="SYNC_FLUSH", options={"on_arrival": lambda *_: order.append("arrival")})
    store.start()
    end = store.writes.put(message()).end_offset
    store.confirming.when_confirmed(end, lambda ok: order.append(ok))
    await until(lambda: len(order) == 2)
    assert order == ["arrival", True]
    await store.stop()


async def test_sync_flush_gives_up_after_five_seconds(opened, message, clock, disk):
    store = opened(flush="SYNC_FLUSH")
    store.start()
    told = []
    disk.gate.clear()
    store.confirming.when_confirmed(store.writes.put(message()).end_offset, told.append)
    await clock.aadvance(4.9)
    assert told == []
    await clock.aadvance(0.7)
    assert told == [False]
    disk.gate.set()
    await until(lambda: store.queues.max_offset("t", 0) == 1)
    assert told == [False]
    await store.stop()


async def test_a_disk_that_fails_confirms_nothing(opened, message, clock, disk, tmp_path):
    store = opened(flush="SYNC_FLUSH")
    store.start()
    told = []
    store.writes.put(message(body=b"good"))
    store.confirming.when_confirmed(store.log.max_offset, told.append)
    await until(lambda: told == [True])
    good = store.log.max_offset
    disk.broken = True
    store.confirming.when_confirmed(store.writes.put(message(body=b"lost")).end_offset, told.append)
    await until(lambda: told == [True, False])
    disk.broken = False
    # The kernel dropped what it could not write; a later success means nothing.
    await clock.aadvance(30)
    assert (store.log.flushed_offset, store.queues.max_offset("t", 0)) == (good, 1)
    with pytest.raises(
        StoreUnavailable,
        match=r"could not be flushed: Input/output error; check the disk and restart",
    ):
        store.writes.put(message())
    store.confirming.when_confirmed(store.log.max_offset, told.append)
    assert told == [True, False, False]
    await store.stop()
    assert (tmp_path / "store/abort").exists()


async def test_one_who_cannot_be_told_keeps_nobody_waiting(opened, message, disk):
    store = opened(flush="SYNC_FLUSH")
    store.start()
    told = []

    def gone(done):
        raise ConnectionError("its caller is gone")

    disk.gate.clear()
    end = store.writes.put(message()).end_offset
    store.confirming.when_confirmed(end, gone)
    store.confirming.when_confirmed(end, told.append)
    cancelled = asyncio.ensure_future(store.confirming.until_confirmed(end))
    waiting = asyncio.ensure_future(store.confirming.until_confirmed(end))
    await asyncio.sleep(0)
    cancelled.cancel()
    disk.gate.set()
    assert await waiting
    assert told == [True]
    await store.stop()


async def test_stop_flushes_and_tells_all(opened, message):
    store = opened(flush="SYNC_FLUSH")
    store.start()
    told = []
    store.confirming.when_confirmed(store.writes.put(message()).end_offset, told.append)
    await store.stop()
    assert told == [True]
    await store.stop()
    assert opened().queues.max_offset("t", 0) == 1


def test_without_a_loop_a_flush_is_done_at_once(opened, message):
    store = opened(flush="SYNC_FLUSH")
    told = []
    store.confirming.when_confirmed(store.writes.put(message()).end_offset, told.append)
    assert told == [True]
    assert store.log.flushed_offset == store.log.max_offset
