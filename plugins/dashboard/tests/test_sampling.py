"""Rates of topics and brokers between looks, by a clock that is moved."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_admin.bodies import TopicTotal
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.curves import CurveSpan
from mqframe_dashboard.sampling import CURVES_MAX, Samples
from mqframe_dashboard.series import LOOKS_MAX, Rate

from mqframe.core.errors import ConnectError


class FakeAdmin:
    """Two brokers; `ends` are messages ever stored, by topic, all on the broker a."""

    def __init__(self) -> None:
        self.ends = {"orders": 10, "parcels": 0}
        self.away: set[str] = set()
        self.puts = {"a": 100, "b": 50}
        self.asked = 0
        self.topics = self.cluster = self.brokers = self

    async def masters(self) -> dict[str, str]:
        self.asked += 1
        if "all" in self.away:
            raise ConnectError("away")
        return {name: f"{name}:1" for name in self.puts}

    async def totals(self, address: str) -> dict[str, TopicTotal]:
        if address in self.away:
            raise ConnectError("silent")
        ends = self.ends if address == "a:1" else {}
        return {topic: TopicTotal(1, end, max(0, end - 2)) for topic, end in ends.items()}

    async def runtime(self, address: str) -> dict[str, str]:
        if address in self.away:
            raise ConnectError("silent")
        puts = self.puts[address[0]]
        return {"msgPutTotalTodayNow": str(puts), "msgGetTotalTodayNow": str(2 * puts)}


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
    samples = bench.samples
    await bench.later(0)
    assert (samples.rates("orders"), samples.rate("orders")) == ([], None)
    await bench.later(10, orders=60)
    assert samples.rate("orders") == 5.0
    await bench.later(5, orders=70)
    assert samples.rates("orders") == [Rate(100, 110, 5.0), Rate(110, 115, 2.0)]
    assert samples.totals.topics["orders"] == TopicTotal(1, 70, 68)
    assert samples.rates("nothing") is None
    assert samples.span == CurveSpan(100, 115)


async def test_a_topic_that_was_made_anew_has_a_gap():
    bench = Bench()
    for end in (10, 60, 3, 13):
        await bench.later(10, orders=end)
    assert bench.samples.rates("orders") == [Rate(110, 120, 5.0), Rate(130, 140, 1.0)]


async def test_a_look_that_failed_and_one_that_came_late_leave_gaps():
    bench = Bench()
    await bench.later(0)
    await bench.later(10, orders=20)
    bench.admin.away = {"all"}
    with pytest.raises(ConnectError):
        await bench.later(10)
    assert bench.samples.rate("orders") is None
    assert bench.samples.span == CurveSpan(100, 120)
    bench.admin.away = set()
    await bench.later(10, orders=40)
    await bench.later(10, orders=50)
    await bench.later(60, orders=60)  # the machine stood still
    await bench.later(10, orders=80)
    assert bench.samples.rates("orders") == [
        Rate(100, 110, 1.0),
        Rate(130, 140, 1.0),
        Rate(200, 210, 2.0),
    ]


async def test_a_broker_that_is_silent_makes_no_rate_up():
    bench = Bench()
    await bench.later(0)
    await bench.later(10, orders=20)
    bench.admin.away = {"a:1"}
    await bench.later(10, orders=1000)
    assert (bench.samples.rate("orders"), list(bench.samples.totals.silent)) == (None, ["a"])
    bench.admin.away = set()
    await bench.later(10, orders=2000)
    assert bench.samples.rate("orders") is None
    await bench.later(10, orders=2010)
    assert bench.samples.rate("orders") == 1.0
    assert bench.samples.rates("orders") == [Rate(100, 110, 1.0), Rate(130, 140, 1.0)]


async def test_brokers_and_all_of_them_have_rates_of_their_own():
    bench = Bench()
    await bench.later(0)
    bench.admin.puts = {"a": 200, "b": 50}
    await bench.later(10)
    samples = bench.samples
    assert samples.brokers["a"].puts.rates() == [Rate(100, 110, 10.0)]
    assert samples.brokers["a"].gets.rates() == [Rate(100, 110, 20.0)]
    assert samples.brokers["b"].puts.rates() == [Rate(100, 110, 0.0)]
    assert samples.cluster.puts.rates() == [Rate(100, 110, 10.0)]
    bench.admin.puts = {"a": 0, "b": 5000}  # a was started anew
    await bench.later(10)
    assert samples.cluster.puts.rates() == [Rate(100, 110, 10.0)]
    assert samples.brokers["b"].puts.rates()[-1] == Rate(110, 120, 495.0)
    del bench.admin.puts["b"]
    await bench.later(10)
    assert samples.brokers["b"].puts.rates()[-1].end == 120
    await bench.later(3600)
    assert list(samples.brokers) == ["a"]


async def test_a_new_topic_began_with_nothing():
    bench = Bench()
    await bench.later(0)
    await bench.later(10, **{"new": 30, "%DLQ%billing": 2})
    assert bench.samples.rates("new") == [Rate(100, 110, 3.0)]
    assert bench.samples.new_letters() == {"billing": 2}
    await bench.later(10, **{"%DLQ%billing": 5, "%DLQ%quiet": 0})
    assert bench.samples.new_letters() == {"billing": 5}


async def test_letters_that_were_there_before_are_not_new():
    bench = Bench()
    bench.admin.ends["%DLQ%old"] = 7
    await bench.later(0)
    await bench.later(10)
    assert bench.samples.new_letters() == {}


async def test_deleted_topics_are_forgotten():
    bench = Bench()
    await bench.later(0)
    del bench.admin.ends["parcels"]
    await bench.later(10)
    assert (bench.samples.rates("parcels"), "parcels" in bench.samples.totals.topics) == (None, False)


async def test_memory_is_bounded_and_busy_topics_take_the_place_of_quiet_ones():
    bench = Bench(interval=1.0)
    bench.admin.ends = {f"t{number:04}": 1 for number in range(CURVES_MAX + 50)}
    await bench.later(0)
    last = f"t{CURVES_MAX + 49:04}"
    assert bench.samples.rates("t0000") == []
    assert bench.samples.rates(last) is None
    for at in range(LOOKS_MAX + 5):
        await bench.later(1, **{last: 10 + at})
    rates = bench.samples.rates(last)
    assert rates
    assert len(rates) < LOOKS_MAX
    kept = [topic for topic in bench.admin.ends if bench.samples.rates(topic) is not None]
    assert len(kept) == CURVES_MAX


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
    bench.admin.away = {"all"}
    task = asyncio.create_task(bench.samples.run())
    while bench.admin.asked < 2:
        await asyncio.sleep(0)
    assert bench.samples.totals.topics == {}
    bench.admin.away = set()
    while not bench.samples.totals.topics:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    lines = [(each.levelname, each.getMessage()) for each in caplog.records]
    told = [(level, line.partition(" problem=")[0].partition(" after_")[0]) for level, line in lines]
    assert told == [("WARNING", "rates were not sampled"), ("WARNING", "rates are sampled again")]


async def test_an_answer_that_makes_no_sense_does_not_end_the_looks(caplog):
    bench = Bench(interval=0.0)
    bench.admin.ends = None
    task = asyncio.create_task(bench.samples.run())
    while "rates were not sampled" not in caplog.text:
        await asyncio.sleep(0)
    bench.admin.ends = {"orders": 1}
    while not bench.samples.totals.topics:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
