from __future__ import annotations

import asyncio
import threading

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
