"""Tasks that call listeners: how many at once, in which order, and how they end, on a manual clock."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.push.worker_tasks import WorkerTasks


class Call:
    """A call that ends when `gate` is set."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.elapsed = 1.0
        self.gate = asyncio.Event()


class Scene:
    def __init__(self, tasks_max: int) -> None:
        self.clock = ManualClock()
        self.begun: list[str] = []
        self.back: list[str] = []
        self.tasks: WorkerTasks[Call] = WorkerTasks(self.run, self.done, self.clock, tasks_max)

    async def run(self, call: Call) -> None:
        self.begun.append(call.name)
        await call.gate.wait()

    def done(self, calls: list[Call]) -> None:
        self.back += [call.name for call in calls]


@asynccontextmanager
async def staged(tasks_max=2):
    scene = Scene(tasks_max)
    try:
        yield (scene, [Call(name) for name in "abcd"])
    finally:
        stopping = asyncio.ensure_future(scene.tasks.stop(1.0))
        await scene.clock.aadvance(2.0)
        await stopping


async def test_no_more_than_the_limit_are_begun_at_once_and_in_their_order():
    async with staged() as (scene, calls):
        scene.tasks.put(calls)
        await scene.clock.aadvance(0)
        assert (scene.begun, scene.tasks.waiting, scene.back) == (["a", "b"], 2, [])
        calls[1].gate.set()
        await scene.clock.aadvance(0)
        assert (scene.begun, scene.tasks.waiting, scene.back) == (["a", "b", "c"], 1, ["b"])
        for call in calls:
            call.gate.set()
        await scene.clock.aadvance(0)
        assert (scene.begun, scene.tasks.waiting) == (["a", "b", "c", "d"], 0)
        assert sorted(scene.back) == ["a", "b", "c", "d"]


async def test_a_stop_forgets_what_waits_and_waits_for_what_runs():
    async with staged() as (scene, calls):
        scene.tasks.put(calls)
        await scene.clock.aadvance(0)
        stopping = asyncio.ensure_future(scene.tasks.stop(5.0))
        await scene.clock.aadvance(4.0)
        assert not stopping.done()
        for call in calls:
            call.gate.set()
        await scene.clock.aadvance(0)
        assert await stopping is True
        assert (scene.begun, sorted(scene.back)) == (["a", "b"], ["a", "b"])


async def test_what_does_not_end_in_time_is_cancelled():
    async with staged() as (scene, calls):
        scene.tasks.put(calls[:1])
        await scene.clock.aadvance(0)
        stopping = asyncio.ensure_future(scene.tasks.stop(5.0))
        await scene.clock.aadvance(5.1)
        assert await stopping is False
        assert (scene.begun, scene.back) == (["a"], [])
