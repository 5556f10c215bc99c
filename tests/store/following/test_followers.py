"""Following dispatchers: their own thread, their own cursor, at least once."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from mqframe.core.errors import StoreError
from mqframe.hooks.interfaces.dispatcher import Dispatcher


class Collector(Dispatcher):
    def __init__(self, name="collector", fail_times=0, own=None):
        self.name = name
        self.bodies = []
        self.stretches = []
        self.fail_times = fail_times
        self.own = own
        self.started = threading.Event()
        self.release = threading.Event()
        self.release.set()
        self.stopped = False
        self.began = None

    def start(self, data_directory, broker_name):
        self.began = (data_directory, broker_name)
        self.started.set()
        return self.own

    def dispatch(self, stretch):
        assert self.release.wait(120)
        if self.fail_times:
            self.fail_times -= 1
            raise RuntimeError("not now")
        self.bodies += [message.body for message in stretch.records()]
        self.stretches.append((stretch.start, stretch.end))
        return stretch.end

    def stop(self):
        self.stopped = True


async def until(condition):
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.001)


def behind(store, name="collector"):
    return next(lag.size_bytes for lag in store.lags(count=False) if lag.name == name)


def fill(store, message, count, first=0):
    for n in range(first, first + count):
        store.writes.put(message(body=b"%d" % n * 100))
    store.dispatch.now()


def expected(count, first=0):
    return [b"%d" % n * 100 for n in range(first, first + count)]


async def test_follows_over_files_and_restarts(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    one = Collector()
    store.followers.add(one, "broker-a")
    store.start()
    fill(store, message, 40)
    await until(lambda: behind(store) == 0)
    assert one.bodies == expected(40)
    assert all(start // 4096 == (end - 1) // 4096 for start, end in one.stretches)
    assert one.began == (tmp_path / "store", "broker-a")
    await store.stop()
    assert one.stopped
    store = opened(commit_log_file_bytes=4096)
    two = Collector()
    store.followers.add(two)
    store.start()
    fill(store, message, 5, 40)
    await until(lambda: behind(store) == 0)
    assert two.bodies == expected(5, 40)
    await store.stop()


async def test_slow_one_delays_nobody_and_says_so(opened, message):
    store = opened()
    slow, quick = Collector("slow"), Collector("quick")
    slow.release.clear()
    store.followers.add(slow)
    store.followers.add(quick)
    store.start()
    fill(store, message, 10)
    await until(lambda: behind(store, "quick") == 0)
    assert behind(store, "slow") == store.log.max_offset
    slow.release.set()
    await until(lambda: behind(store, "slow") == 0)
    assert slow.bodies == quick.bodies == expected(10)
    await store.stop()


class Gatherer(Collector):
    """Nothing is durable before it idles; the first time it has two stretches it fails."""

    def dispatch(self, stretch):
        super().dispatch(stretch)
        if len(self.stretches) == 2:
            raise RuntimeError("not now")
        return 0

    def idle(self):
        return self.stretches[-1][1] if self.stretches else None


async def test_what_is_gathered_is_handed_over_once_unless_it_fails(opened, message, monkeypatch):
    monkeypatch.setattr("mqframe.store.following.followers._RETRY_SECONDS", 0.01)

    store = opened(commit_log_file_bytes=4096)
    one = Gatherer()
    fill(store, message, 40)
    store.followers.add(one)
    store.start()
    await until(lambda: behind(store) == 0)
    starts = [start for start, _ in one.stretches]
    assert starts[:2] == [0, one.stretches[0][1]]
    assert starts[2:] == [0, *(end for _, end in one.stretches[2:-1])]
    await store.stop()


async def test_own_durable_offset_wins(opened, message):
    store = opened()
    fill(store, message, 5)
    third = store.search.record_at(0)
    one = Collector(own=2 * len(third))
    store.followers.add(one)
    store.start()
    await until(lambda: behind(store) == 0)
    assert one.bodies == expected(3, 2)
    await store.stop()


class InParts(Collector):
    """Takes in one record of a stretch at a time; what it has not taken must come again, at once."""

    def dispatch(self, stretch):
        self.end = stretch.end
        for message in stretch.records():
            self.bodies.append(message.body)
            self.end = message.commit_log_offset + message.store_size
            break
        return self.end

    def taken(self, stretch):
        return self.end


async def test_a_stretch_may_be_taken_in_parts(opened, message):
    store = opened(commit_log_file_bytes=4096)
    fill(store, message, 40)
    one = InParts()
    store.followers.add(one)
    store.start()
    await until(lambda: behind(store) == 0)
    assert one.bodies == expected(40)
    await store.stop()


class Reluctant(Collector):
    """Starts at the third attempt, and fails when it is stopped."""

    attempts = 0

    def start(self, data_directory, broker_name):
        self.attempts += 1
        if self.attempts < 3:
            raise OSError(28, "No space left")
        return None

    def stop(self):
        super().stop()
        raise RuntimeError("not in good order")


async def test_a_start_that_fails_is_tried_again_and_a_stop_that_fails_stays_with_the_plugin(
    opened, message, monkeypatch
):
    monkeypatch.setattr("mqframe.store.following.followers._RETRY_SECONDS", 0.01)

    store = opened()
    fill(store, message, 5)
    one = Reluctant()
    store.followers.add(one)
    store.start()
    await until(lambda: behind(store) == 0)
    assert (one.attempts, one.bodies) == (3, expected(5))
    await store.stop()
    assert one.stopped


class Patient(Collector):
    """Has messages gathered until the store stops; what was stored before that is one stretch."""

    gather_seconds = 3600.0


async def test_messages_are_gathered_while_a_dispatcher_wants_it(opened, message):
    store = opened()
    fill(store, message, 5)
    one = Patient()
    store.followers.add(one)
    store.start()
    await until(lambda: behind(store) == 0)
    fill(store, message, 5, 5)
    fill(store, message, 5, 10)
    assert behind(store) > 0
    assert one.bodies == expected(5)
    await store.stop()
    # It comes at the next start.
    store = opened()
    two = Collector()
    store.followers.add(two)
    store.start()
    await until(lambda: behind(store) == 0)
    assert two.bodies == expected(10, 5)
    assert len(two.stretches) == 1
    await store.stop()


def test_two_of_one_name(opened):
    store = opened()
    store.followers.add(Collector())
    with pytest.raises(StoreError, match="two dispatchers are named 'collector'"):
        store.followers.add(Collector())


def saved_cursor(tmp_path):
    path = tmp_path / "store/config/dispatchers.json"
    return json.loads(path.read_text())["offsetTable"]["collector"] if path.exists() else 0


async def test_a_cursor_is_saved_as_far_as_the_log_is_on_disk(opened, message, clock, tmp_path):
    store = opened(flush_thorough_ms=60_000)
    one = Collector()
    store.followers.add(one)
    store.start()
    fill(store, message, 3)
    assert await store.confirming.flush_log()
    await until(lambda: behind(store) == 0)
    await until(lambda: saved_cursor(tmp_path) == store.log.flushed_offset)
    on_disk = store.log.flushed_offset
    fill(store, message, 3, 3)
    await until(lambda: behind(store) == 0)
    assert one.bodies == expected(6)
    assert saved_cursor(tmp_path) == on_disk < store.log.max_offset
    await store.stop()
    assert saved_cursor(tmp_path) == store.log.max_offset


@pytest.mark.parametrize("own", [None, 10**9])
async def test_a_cursor_behind_the_log_goes_on_at_its_end_and_misses_nothing_new(
    opened, message, tmp_path, own
):
    store = opened()
    fill(store, message, 3)
    await store.stop()
    path = tmp_path / "store/config/dispatchers.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"offsetTable": {"collector": 999999}}')
    store = opened()
    one = Collector(own=own)
    store.followers.add(one)
    assert saved_cursor(tmp_path) == store.log.max_offset, "before anything new is stored there"
    fill(store, message, 2, 3)
    store.start()
    await until(lambda: one.bodies == expected(2, 3))
    await store.stop()
