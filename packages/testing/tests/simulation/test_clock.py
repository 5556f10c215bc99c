"""The right time, and what hosts make of it."""

from __future__ import annotations

import asyncio
import weakref
from functools import partial

import pytest
from echo import run
from hypothesis import given
from hypothesis import strategies as st
from mqframe_testing.simulation import Host, SimulatedLoop
from mqframe_testing.simulation.clock import START_MS, instead_of_system_clocks

from mqframe.net.clock import SystemClock


def test_time_passes_in_steps_and_wall_time_jumps() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        clock, seen = loop.clock, []
        clock.call_later(3, lambda: seen.append((clock.monotonic(), clock.now_ms() - START_MS)))
        clock.call_later(1, lambda: clock.jump(3600))
        never = clock.call_later(2, lambda: seen.append("never"))
        never.cancel()
        assert clock.alarms == 2
        sleeper = asyncio.ensure_future(clock.sleep(5))
        await clock.advance(4.9)
        assert seen == [(3, 3_603_000)]
        assert not sleeper.done()
        await clock.advance(0.1)
        assert sleeper.done()

    run(scenario)


def test_calls_of_one_moment_come_in_the_order_in_which_they_were_asked_for() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        seen: list[int] = []
        for number in range(5):
            loop.clock.call_later(1, lambda number=number: seen.append(number))  # type: ignore[misc]
        await loop.clock.advance(1)
        assert seen == [0, 1, 2, 3, 4]

    run(scenario)


def test_a_sleep_that_is_cancelled_leaves_no_alarm() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        sleeper = asyncio.ensure_future(loop.clock.sleep(5))
        await loop.settle()
        assert loop.clock.alarms == 1
        sleeper.cancel()
        await loop.settle()
        assert loop.clock.alarms == 0

    run(scenario)


def test_an_alarm_that_is_cancelled_keeps_nothing() -> None:
    class Service:
        def call(self) -> None:
            raise AssertionError

    async def scenario(loop: SimulatedLoop) -> None:
        service = Service()
        loop.clock.call_later(1e9, partial(service.call)).cancel()
        kept = weakref.ref(service)
        del service
        assert kept() is None

    run(scenario)


@pytest.mark.parametrize("rate", [0.999, 1.0, 1.001])
def test_the_clock_of_a_host_goes_at_its_own_rate(rate: float) -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        clock, seen = Host(loop, "a", rate).clock, []
        clock.call_later(1000, lambda: seen.append((loop.clock.monotonic(), clock.monotonic())))
        await loop.clock.advance(2000)
        assert seen == [(pytest.approx(1000 / rate), pytest.approx(1000))]
        assert clock.now_ms() == START_MS + round(2_000_000 * rate)

    run(scenario)


@given(st.floats(0.999, 1.001), st.lists(st.floats(0, 5), min_size=1, max_size=10))
def test_a_timer_never_comes_before_its_time_by_the_clock_that_it_was_set_by(
    rate: float, waits: list[float]
) -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        clock = Host(loop, "a", rate).clock
        for seconds in waits:
            due = clock.monotonic() + seconds
            early: list[bool] = []
            clock.call_later(seconds, lambda due=due, early=early: early.append(clock.monotonic() < due))  # type: ignore[misc]
            await loop.clock.advance(6)
            assert early == [False]

    run(scenario)


def test_setting_the_wall_clock_of_a_host_touches_nothing_else() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        one, other = Host(loop, "one", 1.0005, ahead=5), Host(loop, "other")
        assert one.clock.now_ms() == START_MS + 5000
        await loop.clock.advance(10)
        before = one.clock.monotonic()
        fired: list[float] = []
        one.clock.call_later(10, lambda: fired.append(loop.clock.monotonic()))
        one.clock.jump(-3600)
        assert one.clock.monotonic() == before
        assert one.clock.now_ms() == START_MS + 5000 - 3_600_000 + 10_005
        assert other.clock.now_ms() == loop.clock.now_ms() == START_MS + 10_000
        await loop.clock.advance(10)
        assert fired == [pytest.approx(10 + 10 / 1.0005)]

    run(scenario)


def test_who_was_given_no_clock_goes_by_that_of_the_host() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host, clock = Host(loop, "a", rate=0.5, ahead=3), SystemClock()

        async def wait() -> tuple[int, float]:
            await clock.sleep(10)
            return clock.now_ms() - START_MS, clock.monotonic()

        with instead_of_system_clocks(loop.current_clock):
            task = host.spawn(wait())
            await loop.clock.advance(20)
            assert task.result() == (13_000, 10)
            assert (clock.now_ms(), clock.monotonic()) == (START_MS + 20_000, 20)
        assert clock.now_ms() > START_MS + 20_000

    run(scenario)
