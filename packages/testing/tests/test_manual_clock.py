from __future__ import annotations

import asyncio
import socket
import threading

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.net.clock import Every


def test_timers_fire_in_the_order_of_their_times_each_at_its_own() -> None:
    clock = ManualClock(now_ms=1000)
    fired: list[tuple[str, float, int]] = []
    for name, delay in (("c", 3), ("a", 1), ("b", 2), ("b2", 2), ("late", 10)):
        clock.call_later(delay, lambda name=name: fired.append((name, clock.monotonic(), clock.now_ms())))
    clock.advance(5)
    assert fired == [("a", 1, 2000), ("b", 2, 3000), ("b2", 2, 3000), ("c", 3, 4000)]
    assert (clock.monotonic(), clock.now_ms(), clock.timers) == (5, 6000, 1)


def test_a_cancelled_timer_does_not_fire_and_a_new_one_within_the_span_does() -> None:
    clock = ManualClock()
    fired: list[float] = []

    def again() -> None:
        fired.append(clock.monotonic())
        clock.call_later(2, again)

    clock.call_later(1, again)
    clock.call_later(1, lambda: fired.append(-1)).cancel()
    clock.advance(6)
    assert fired == [1, 3, 5]


async def test_sleepers_go_on_between_timers() -> None:
    clock = ManualClock()
    seen: list[tuple[int, float]] = []

    async def walk() -> None:
        for step in range(3):
            await clock.sleep(10)
            seen.append((step, clock.monotonic()))

    task = asyncio.ensure_future(walk())
    await clock.aadvance(30)
    await task
    assert seen == [(0, 10), (1, 20), (2, 30)]


async def test_what_follows_a_timer_has_come_to_its_end_before_the_next_one() -> None:
    """Through callbacks one after the other, and to another socket and back."""

    clock, loop = ManualClock(), asyncio.get_running_loop()
    here, there = socket.socketpair()
    seen: list[str] = []

    def step(left: int) -> None:
        if left:
            loop.call_soon(step, left - 1)
        else:
            here.send(b"asked")

    def answer() -> None:
        there.send(there.recv(100).replace(b"asked", b"answered"))

    with here, there:
        here.setblocking(False)
        loop.add_reader(there, answer)
        loop.add_reader(here, lambda: seen.append(here.recv(100).decode()))
        clock.call_later(1, lambda: step(15))
        clock.call_later(2, lambda: seen.append("next"))
        await clock.aadvance(3)
        loop.remove_reader(there)
        loop.remove_reader(here)
    assert seen == ["answered", "next"]


async def test_timers_after_which_nothing_follows_take_few_turns() -> None:
    clock, turns = ManualClock(), 0

    for second in range(1000):
        clock.call_later(second, lambda: None)
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        select = selector.select

        def counted(timeout: float | None) -> list[object]:
            nonlocal turns
            turns += 1
            found: list[object] = select(timeout)
            return found

        patch.setattr(selector, "select", counted)
        await clock.aadvance(1000)
    assert turns < 4000


def test_a_loop_of_another_thread_can_be_moved_from_outside() -> None:
    clock = ManualClock()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    fired: list[float] = []

    async def begin() -> Every:
        return Every(clock, 5, lambda: fired.append(clock.monotonic()), name="test")

    every = asyncio.run_coroutine_threadsafe(begin(), loop).result()
    clock.advance_from_outside(loop, 21)
    assert fired == [5, 10, 15, 20]
    every.stop()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def test_time_that_another_thread_moved_meanwhile_does_not_go_back() -> None:
    clock = ManualClock()
    moved = asyncio.ensure_future(clock.aadvance(1.0))
    await asyncio.sleep(0)
    clock.advance(5.0)  # as a listener in a thread of its own does
    await moved
    assert clock.monotonic() == 5.0
