"""The loop: what is measured, what is noted, what waits."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from echo import run
from mqframe_testing.simulation import SimulatedLoop
from mqframe_testing.simulation.pools import work_at_once


def work() -> None:
    end = 0  # some work that takes processor time, whatever the machine
    for number in range(400_000):
        end += number


def test_stalls_and_errors_are_noted_but_not_those_of_pools_and_of_the_test() -> None:
    def fail() -> None:
        raise RuntimeError("odd")

    async def scenario(loop: SimulatedLoop) -> None:
        loop.leave_out(asyncio.current_task())
        work()
        await asyncio.sleep(0)
        assert loop.stalls == []
        with work_at_once():
            loop.call_soon(lambda: ThreadPoolExecutor(1).submit(work))
            await loop.settle()
        assert loop.stalls == []
        loop.call_soon(work)
        loop.call_soon(fail)
        loop.clock.call_later(1, work)
        await loop.clock.advance(1)

    loop = run(scenario, stall_seconds=0.002)
    assert [("work" in stall.what, stall.seconds > 0.002) for stall in loop.stalls] == [(True, True)] * 2
    assert [problem.partition("RuntimeError")[1] for problem in loop.problems] == ["RuntimeError"]


def test_nothing_is_measured_unless_asked_for() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        loop.call_soon(work)
        await loop.settle()

    assert run(scenario).stalls == []


def test_timers_of_the_loop_go_by_simulated_time() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        seen: list[object] = []
        loop.call_later(3600, seen.append, "an hour")
        loop.call_at(60, seen.append, "a minute")
        loop.call_at(-1, seen.append, "overdue")
        never = loop.call_later(30, seen.append, "never")
        never.cancel()
        assert never.cancelled()
        await loop.clock.advance(3600)
        assert seen == ["overdue", "a minute", "an hour"]
        assert loop.time() == 3600

    run(scenario)


def test_a_loop_that_does_not_come_to_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        def again() -> None:
            loop.call_soon(again)

        again()
        with pytest.raises(AssertionError, match="does not come to rest"):
            await loop.settle()

    monkeypatch.setattr("mqframe_testing.simulation.loop.TURNS_MAX", 1000)
    run(scenario)


def test_notes_have_their_time() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        await loop.clock.advance(1.5)
        loop.note("something")

    assert run(scenario).told == ["1.500 s: something"]


def test_what_a_thread_hands_over_is_run() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        with work_at_once():
            assert await loop.run_in_executor(None, lambda: 7) == 7
            assert await asyncio.to_thread(lambda: 8) == 8

    run(scenario)
