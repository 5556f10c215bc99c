"""Threads that call listeners: every call once, slow ones beside each other, results on the loop."""

from __future__ import annotations

import asyncio
import threading

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.push.consume_call import ConsumeCall, ListenerCaller
from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.watched_call import ListenerHooks
from mqframe.client.consuming.push.worker_tasks import WorkerTasks
from mqframe.client.consuming.push.worker_threads import NamedThreads, WorkerThreads
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.net.clock import SystemClock

HELD = MessageQueue("orders", "broker-a", 0)
WAIT = 120.0
"""Seconds after which a test that would hang fails instead."""


def calls_of(listener, count: int, held: ProcessQueue | None = None) -> list[ConsumeCall]:
    held = held or ProcessQueue(HELD, 0.0)
    wanted = subscription("orders", "*", listener, 1, 1)
    return [
        ConsumeCall(
            held,
            [ReceivedMessage("orders", 0, n, n, 1, 0, 0, b"", b"", 0, 0, 0, 0, 0, b"%d" % n, b"")],
            wanted,
            0.0,
        )
        for n in range(count)
    ]


class Pool:
    """Workers of one kind, and the calls that came back."""

    def __init__(self, make, limit: int) -> None:
        self.back: list[ConsumeCall] = []
        self.changed = asyncio.Event()
        clock = SystemClock()
        caller = ListenerCaller("g", ListenerHooks(), clock.monotonic, 900.0)
        self.workers = make(caller, self.done, clock, limit)

    def done(self, calls) -> None:
        assert threading.current_thread() is threading.main_thread()
        self.back += calls
        self.changed.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(WAIT):
            while len(self.back) < count:
                self.changed.clear()
                await self.changed.wait()


def threads(caller, done, clock, limit):
    return WorkerThreads(caller.call, done, clock, NamedThreads("test", limit))


def tasks(caller, done, clock, limit):
    return WorkerTasks(caller.call_async, done, clock, limit)


def as_listener(make, function):
    """`function` in the form that workers of this kind call."""
    if make is threads:
        return function

    async def listener(messages, context):
        return function(messages, context)

    return listener


@pytest.mark.parametrize("make", [threads, tasks])
async def test_every_call_is_made_once_and_comes_back(make) -> None:
    pool = Pool(make, 8)
    seen = []

    def take(messages, context):
        seen.append(messages[0].queue_offset)
        return ConsumeResult.SUCCESS

    listener = as_listener(make, take)
    calls = calls_of(listener, 2000)
    for start in range(0, 2000, 50):
        pool.workers.put(calls[start : start + 50])
        await asyncio.sleep(0)
    await pool.until(2000)
    assert sorted(seen) == list(range(2000))
    assert {id(call) for call in pool.back} == {id(call) for call in calls}
    assert {call.result for call in calls} == {ConsumeResult.SUCCESS}
    assert await pool.workers.stop(WAIT)
    assert pool.workers.waiting == 0


@pytest.mark.parametrize("make", [threads, tasks])
async def test_whatever_a_listener_raises_is_noted(make) -> None:
    pool = Pool(make, 2)
    problem = ValueError("no")

    def fail(messages, context):
        raise problem

    pool.workers.put(calls_of(as_listener(make, fail), 3))
    await pool.until(3)
    assert [call.error for call in pool.back] == [problem] * 3
    assert await pool.workers.stop(WAIT)


async def test_a_listener_that_ends_its_thread_does_not() -> None:
    pool = Pool(threads, 1)

    def leave(messages, context):
        raise SystemExit

    pool.workers.put(calls_of(leave, 3))
    await pool.until(3)
    assert all(isinstance(call.error, SystemExit) for call in pool.back)
    assert await pool.workers.stop(WAIT)


async def test_slow_listeners_run_beside_each_other_up_to_the_limit() -> None:
    pool = Pool(threads, 4)
    together = threading.Barrier(4)

    def meet(messages, context):
        together.wait(WAIT)
        return ConsumeResult.SUCCESS

    pool.workers.put(calls_of(meet, 8))
    await pool.until(8)
    assert {call.error for call in pool.back} == {None}
    assert await pool.workers.stop(WAIT)


async def test_quick_listener_that_turns_slow_gets_more_threads() -> None:
    pool = Pool(threads, 3)
    pool.workers.put(calls_of(lambda messages, context: ConsumeResult.SUCCESS, 500))
    await pool.until(500)
    together = threading.Barrier(3)

    def meet(messages, context):
        together.wait(WAIT)
        return ConsumeResult.SUCCESS

    pool.workers.put(calls_of(meet, 3))
    await pool.until(503)
    assert {call.error for call in pool.back} == {None}
    assert await pool.workers.stop(WAIT)


@pytest.mark.parametrize("make", [threads, tasks])
async def test_dropped_queues_and_calls_that_are_over_are_passed_over(make) -> None:
    pool = Pool(make, 2)
    held = ProcessQueue(HELD, 0.0)
    held.dropped = True
    seen = []
    listener = as_listener(make, lambda messages, context: seen.append(messages))
    late = calls_of(listener, 1)
    late[0].over = True
    pool.workers.put(calls_of(listener, 3, held) + late)
    await pool.until(4)
    assert seen == []
    assert {call.context for call in pool.back} == {None}
    assert await pool.workers.stop(WAIT)


async def test_stop_waits_for_what_runs_and_forgets_what_does_not() -> None:
    pool = Pool(threads, 1)
    started, gate = threading.Event(), threading.Event()

    def slow(messages, context):
        started.set()
        gate.wait(WAIT)
        return ConsumeResult.SUCCESS

    pool.workers.put(calls_of(slow, 5))
    await asyncio.to_thread(started.wait, WAIT)
    stopping = asyncio.ensure_future(pool.workers.stop(WAIT))
    await asyncio.sleep(0)
    assert not stopping.done()
    gate.set()
    assert await stopping
    assert len(pool.back) == 1


async def test_stop_does_not_wait_for_ever() -> None:
    clock = ManualClock()
    back: list[ConsumeCall] = []
    caller = ListenerCaller("g", ListenerHooks(), clock.monotonic, 900.0)
    workers = WorkerThreads(caller.call, back.extend, clock, NamedThreads("test", 1))
    started, gate = threading.Event(), threading.Event()

    def slow(messages, context):
        started.set()
        gate.wait(WAIT)

    workers.put(calls_of(slow, 1))
    await asyncio.to_thread(started.wait, WAIT)
    stopping = asyncio.ensure_future(workers.stop(30.0))
    await clock.aadvance(29.0)
    assert not stopping.done()
    await clock.aadvance(1.0)
    assert await stopping is False
    assert back == []
    gate.set()
