from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import Standing

from mqframe.core.errors import CallTimeout
from mqframe.net.clock import Every, SystemClock, boot_id, to_wait_on, within


def test_the_system_clock_tells_real_time() -> None:
    clock = SystemClock()
    assert abs(clock.now_ms() - time.time() * 1000) < 60_000
    assert clock.monotonic() <= clock.monotonic()


def test_all_processes_of_a_run_of_the_machine_give_it_one_name() -> None:
    command = [sys.executable, "-c", "from mqframe.net.clock import boot_id; print(boot_id())"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{boot_id()}\n"


async def test_the_system_clock_wakes_the_running_loop() -> None:
    clock = SystemClock()
    woken = asyncio.get_running_loop().create_future()
    clock.call_later(0, lambda: woken.set_result("woken"))
    await clock.sleep(0)
    assert (await woken) == "woken"


async def test_within_gives_the_result_or_cancels() -> None:
    clock = ManualClock()
    assert await within(clock, 1, asyncio.sleep(0, "done")) == "done"
    assert clock.timers == 0
    endless = asyncio.get_running_loop().create_future()
    waiting = asyncio.ensure_future(within(clock, 5, endless))
    await clock.aadvance(4.9)
    assert not waiting.done()
    await clock.aadvance(0.1)
    with pytest.raises(CallTimeout, match="within 5 s"):
        await waiting
    assert endless.cancelled()


async def test_within_waits_a_little_longer_where_the_process_stood_still() -> None:
    clock = Standing()
    answers = [asyncio.get_running_loop().create_future() for _ in range(2)]
    waiting = [asyncio.ensure_future(within(clock, 3, answer)) for answer in answers]
    await asyncio.sleep(0)
    clock.stand_still(4)
    await clock.aadvance(0.9)
    answers[0].set_result("read late")
    assert await waiting[0] == "read late"
    await clock.aadvance(0.2)
    with pytest.raises(CallTimeout, match="within 3 s"):
        await waiting[1]
    assert [to_wait_on(late) for late in (0.0, 0.2, 0.5, 3600.0)] == [0.0, 0.0, 0.5, 3.0]


async def test_within_hands_on_errors_and_cancellation() -> None:
    async def fail() -> None:
        raise ValueError("no")

    clock = ManualClock()
    with pytest.raises(ValueError, match="no"):
        await within(clock, 1, fail())
    task = asyncio.ensure_future(within(clock, 1, asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.timers == 0


def test_every_calls_until_stopped_with_its_own_first_delay() -> None:
    clock = ManualClock()
    called: list[float] = []
    every = Every(clock, 10, lambda: called.append(clock.monotonic()), name="test", first=1)
    clock.advance(21)
    every.stop()
    clock.advance(100)
    assert called == [1, 11, 21]
    assert clock.timers == 0


def test_every_goes_on_after_errors_and_logs_them(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    called: list[float] = []

    def fail() -> None:
        called.append(clock.monotonic())
        raise ValueError("broken")

    with caplog.at_level(logging.ERROR, "mqframe"):
        Every(clock, 1, fail, name="faulty task")
        clock.advance(2)
    assert called == [1, 2]
    assert "faulty task" in caplog.text
    assert "broken" in caplog.text


async def test_every_waits_for_an_async_callback_before_it_counts_again() -> None:
    clock = ManualClock()
    called: list[float] = []

    async def slow() -> None:
        called.append(clock.monotonic())
        await clock.sleep(5)
        raise ValueError("logged")

    every = Every(clock, 10, slow, name="slow")
    await clock.aadvance(40)
    assert called == [10, 25, 40]
    every.stop()
    await clock.aadvance(100)
    assert called == [10, 25, 40]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_failures_of_a_periodic_task_are_all_counted_and_not_all_told(
    caplog: pytest.LogCaptureFixture, asynchronous: bool
) -> None:
    def fail() -> None:
        raise ValueError("always")

    async def fail_later() -> None:
        raise ValueError("always")

    clock = ManualClock()
    every = Every(clock, 1, fail_later if asynchronous else fail, name="x")
    await clock.aadvance(100)
    assert every.failures.total == 100
    every.stop()
    told = [record for record in caplog.records if "periodic task failed" in record.getMessage()]
    assert len(told) == 7
