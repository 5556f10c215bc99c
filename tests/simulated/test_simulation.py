"""What the simulations rest upon: connections in memory, time that is moved, stalls that are seen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from simulated.clock import START_MS, SimulatedClock
from simulated.loop import SimulatedLoop
from simulated.pools import spent_in_pools, work_at_once


class Echo(asyncio.Protocol):
    """Says back what it hears, in capitals, and notes what happens to it."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.events: list[str] = []
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard.append(data)
        if data.islower():
            self.transport.write(data.upper())

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")

    def connection_lost(self, problem: Exception | None) -> None:
        self.events.append("lost")


def run(scenario: Callable[[SimulatedLoop], Coroutine[Any, Any, None]]) -> SimulatedLoop:
    loop = SimulatedLoop(stall_seconds=0.002)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(scenario(loop))
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return loop


def test_bytes_go_both_ways_and_the_end_comes_behind_them() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = Echo(), Echo()
        server = await loop.create_server(lambda: far, "127.0.0.1", 99)
        transport, _ = await loop.create_connection(lambda: near, "127.0.0.1", 99)
        transport.write(b"one")
        transport.write(b"two")
        await loop.settle()
        assert (far.heard, near.heard) == ([b"one", b"two"], [b"ONE", b"TWO"])
        far.transport.write(b"LAST")
        far.transport.close()
        await loop.settle()
        assert near.heard[-1] == b"LAST"
        assert (near.events, far.events) == (["lost"], ["lost"])
        server.close()
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Echo, "127.0.0.1", 99)

    run(scenario)


def test_a_side_that_does_not_read_holds_the_other_up() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        near, far = Echo(), Echo()
        await loop.create_server(lambda: far, "127.0.0.1", 99)
        transport, _ = await loop.create_connection(lambda: near, "127.0.0.1", 99)
        transport.set_write_buffer_limits(high=10)
        far.transport.pause_reading()
        transport.write(b"X" * 11)
        await loop.settle()
        assert (near.events, far.heard, transport.get_write_buffer_size()) == (["pause"], [], 11)
        far.transport.resume_reading()
        await loop.settle()
        assert (near.events, far.heard) == (["pause", "resume"], [b"X" * 11])

    run(scenario)


def test_time_passes_in_steps_and_wall_time_jumps() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        clock, seen = SimulatedClock(loop), []
        clock.call_later(3, lambda: seen.append((clock.monotonic(), clock.now_ms() - START_MS)))
        clock.call_later(1, lambda: clock.jump(3600))
        never = clock.call_later(2, lambda: seen.append("never"))
        never.cancel()
        sleeper = asyncio.ensure_future(clock.sleep(5))
        await clock.advance(4.9)
        assert seen == [(3, 3_603_000)]
        assert not sleeper.done()
        await clock.advance(0.1)
        assert sleeper.done()

    run(scenario)


def test_stalls_and_errors_are_noted_but_not_those_of_pools_and_of_the_test() -> None:
    def work() -> None:
        end = asyncio.get_running_loop().steps  # some work that takes processor time, whatever the machine
        for number in range(400_000):
            end += number

    def fail() -> None:
        raise RuntimeError("odd")

    async def scenario(loop: SimulatedLoop) -> None:
        loop.leave_out(asyncio.current_task())
        work()
        await asyncio.sleep(0)
        assert loop.stalls == []
        with pytest.MonkeyPatch.context() as patch:
            work_at_once(patch)
            before = spent_in_pools()
            loop.call_soon(lambda: ThreadPoolExecutor(1).submit(work))
            await loop.settle()
            assert spent_in_pools() > before
        assert loop.stalls == []
        loop.call_soon(work)
        loop.call_soon(fail)
        await loop.settle()

    loop = run(scenario)
    assert [("work" in stall.what, stall.seconds > 0.002) for stall in loop.stalls] == [(True, True)]
    assert [problem.partition("RuntimeError")[1] for problem in loop.problems] == ["RuntimeError"]
