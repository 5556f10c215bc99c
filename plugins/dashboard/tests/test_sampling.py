"""Rates of topics between looks, by a clock that is moved."""

from __future__ import annotations

import asyncio
import builtins
from typing import Any

import pytest
from mqframe_admin.bodies import TopicOffset
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.sampling import LOOKS_KEPT, Samples

from mqframe.core.errors import ConnectError
from mqframe.core.messages.message import MessageQueue


class FakeAdmin:
    def __init__(self) -> None:
        self.ends = {"orders": 10, "parcels": 0}
        self.away = False
        self.asked = 0
        self.topics = self

    async def list(self) -> builtins.list[str]:
        self.asked += 1
        if self.away:
            raise ConnectError("away")
        return sorted(self.ends)

    async def stats(self, topic: str) -> dict[MessageQueue, TopicOffset]:
        if topic == "broken":
            raise ConnectError("broken")
        return {MessageQueue(topic, "a", 0): TopicOffset(max_offset=self.ends[topic], min_offset=2)}


class Bench:
    def __init__(self, interval: float = 10.0) -> None:
        self.now = 100.0
        self.admin: Any = FakeAdmin()
        self.samples = Samples(Asking(self.admin, self.admin), interval, lambda: self.now)

    async def later(self, seconds: float, **ends: int) -> None:
        self.now += seconds
        self.admin.ends |= ends
        await self.samples.look()


async def test_rates_are_what_came_between_two_looks():
    bench = Bench()
    await bench.later(0)
    assert bench.samples.rates("orders") == []
    await bench.later(10, orders=60)
    await bench.later(5, orders=70)
    await bench.later(10, orders=3)  # made anew
    assert bench.samples.rates("orders") == [5.0, 2.0, 0.0]
    last = bench.samples.last("orders")
    assert last is not None
    assert (last.end, last.held, last.queues) == (3, 1, 1)
    assert bench.samples.last("nothing") is None
    assert bench.samples.rates("nothing") == []


async def test_deleted_topics_are_forgotten_and_broken_ones_left_out():
    bench = Bench()
    await bench.later(0, broken=1)
    assert bench.samples.topics() == ["orders", "parcels"]
    del bench.admin.ends["parcels"]
    await bench.later(10)
    assert bench.samples.topics() == ["orders"]


async def test_memory_is_bounded():
    bench = Bench()
    for _ in range(LOOKS_KEPT + 5):
        await bench.later(1)
    assert len(bench.samples.rates("orders")) == LOOKS_KEPT - 1


async def test_pages_do_not_look_more_often_than_the_interval():
    bench = Bench()
    await asyncio.gather(*[bench.samples.fresh() for _ in range(5)])
    bench.now += 9.9
    await bench.samples.fresh()
    assert bench.admin.asked == 1
    bench.now += 0.1
    await bench.samples.fresh()
    assert bench.admin.asked == 2


async def test_it_goes_on_looking_when_the_cluster_comes_back(caplog):
    bench = Bench(interval=0.0)
    bench.admin.away = True
    task = asyncio.create_task(bench.samples.run())
    while bench.admin.asked < 2:
        await asyncio.sleep(0)
    assert bench.samples.topics() == []
    bench.admin.away = False
    while not bench.samples.topics():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    lines = [(each.levelname, each.getMessage()) for each in caplog.records]
    told = [(level, line.partition(" problem=")[0].partition(" after_")[0]) for level, line in lines]
    assert told == [("WARNING", "rates were not sampled"), ("WARNING", "rates are sampled again")]


async def test_what_rates_cover_is_told():
    bench = Bench()
    await bench.later(0)
    assert bench.samples.span("orders") == 0
    await bench.later(10)
    await bench.later(15)
    assert bench.samples.span("orders") == 25
    assert bench.samples.span("none") == 0
