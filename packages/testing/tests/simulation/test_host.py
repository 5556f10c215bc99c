"""Hosts: whose code runs, and what stands still with them."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from echo import PORT, Echo, run
from mqframe_testing.simulation import Host, SimulatedLoop
from mqframe_testing.simulation.host import current_name


def test_what_a_host_begins_is_its_own() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host, seen = Host(loop, "a"), []

        async def work() -> str:
            loop.call_soon(lambda: seen.append(current_name()))
            loop.call_later(1, lambda: seen.append(current_name()))
            await asyncio.create_task(asyncio.sleep(2))
            return current_name()

        task = asyncio.ensure_future(host.run(work()))
        await loop.clock.advance(3)
        assert await task == "a"
        assert seen == ["a", "a"]
        assert current_name() == "outside"
        loop.clock.call_later(1, lambda: seen.append(current_name()))
        host.clock.call_later(2, lambda: seen.append(current_name()))
        host.call(seen.append, "called")
        await loop.clock.advance(3)
        assert seen[2:] == ["called", "outside", "a"]

    run(scenario)


def test_work_is_cancelled_with_who_waits_for_it() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        ended: list[str] = []

        async def work() -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                ended.append(current_name())

        waiting = asyncio.ensure_future(Host(loop, "a").run(work()))
        await loop.settle()
        waiting.cancel()
        await loop.settle()
        assert ended == ["a"]

    run(scenario)


def test_a_host_that_stands_still_catches_up_all_at_once() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host, seen = Host(loop, "a"), []

        async def tick() -> None:
            while True:
                seen.append(host.clock.monotonic())
                await host.clock.sleep(1)

        def note(name: str) -> None:
            seen.append((name, host.clock.monotonic()))

        task = host.spawn(tick())
        for seconds in (4, 5, 6):
            host.clock.call_later(seconds, lambda seconds=seconds: note(f"due at {seconds}"))  # type: ignore[misc]
        await loop.clock.advance(2)
        assert seen == [0, 1, 2]
        host.pause(10)
        assert host.paused
        host.call(note, "called")
        await loop.clock.advance(9.5)
        assert seen == [0, 1, 2]
        await loop.clock.advance(0.5)
        assert not host.paused
        late = [(f"due at {seconds}", 12) for seconds in (4, 5, 6)]
        assert seen[3] == ("called", 12)
        assert sorted(seen[4:], key=str) == sorted([*late, 12.0], key=str)
        await loop.clock.advance(2)
        assert seen[-2:] == [13, 14]
        task.cancel()

    run(scenario)


def test_timers_that_were_cancelled_before_a_host_goes_on_do_not_fire() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host, seen = Host(loop, "a"), []
        timer = host.clock.call_later(1, lambda: seen.append("late"))
        host.pause(5)
        soon = loop.call_soon(seen.append, "soon", context=host.context())
        await loop.clock.advance(4)
        timer.cancel()
        soon.cancel()
        host.resume()
        await loop.clock.advance(4)
        assert seen == []

    run(scenario)


def test_pauses_overlap_and_end_early_when_told() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host = Host(loop, "a")
        host.pause(10)
        host.pause(3)
        await loop.clock.advance(9)
        assert host.paused
        host.pause(5)
        await loop.clock.advance(4)
        assert host.paused
        host.resume()
        assert not host.paused
        host.pause(7)
        await loop.clock.advance(6.9)
        assert host.paused
        await loop.clock.advance(0.2)
        assert not host.paused
        assert loop.told[0] == "0.000 s: a stands still for 10 s"
        assert loop.told[-1] == "20.000 s: a goes on"

    run(scenario)


def test_a_host_can_stand_still_by_its_own_doing() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host = Host(loop, "a")

        async def work() -> float:
            host.pause(7)
            await asyncio.sleep(0)
            return host.clock.monotonic()

        task = host.spawn(work())
        await loop.clock.advance(10)
        assert task.result() == 7

    run(scenario)


def test_connections_of_a_host_that_stands_still_stay_and_new_ones_wait_for_it() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host, far = Host(loop, "server"), [Echo(), Echo()]
        servers = iter(far)
        await host.run(loop.create_server(lambda: next(servers), "127.0.0.1", PORT))
        old, new = Echo(), Echo()
        await loop.create_connection(lambda: old, "127.0.0.1", PORT)
        host.pause(60)
        old.transport.write(b"old")
        await loop.create_connection(lambda: new, "127.0.0.1", PORT)
        new.transport.write(b"new")
        await loop.clock.advance(59)
        assert (far[0].heard, far[1].transport, old.transport.get_write_buffer_size()) == ([], None, 3)
        await loop.clock.advance(1)
        assert (old.heard, new.heard) == ([b"OLD"], [b"NEW"])

    run(scenario)


def test_a_connection_that_is_cut_before_its_host_goes_on_is_not_taken() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host = Host(loop, "server")
        taken: list[Echo] = []

        def take() -> Echo:
            taken.append(Echo())
            return taken[-1]

        await host.run(loop.create_server(take, "127.0.0.1", PORT))
        host.pause(60)
        near = Echo()
        await loop.create_connection(lambda: near, "127.0.0.1", PORT)
        near.transport.write(b"X" * 1000)
        loop.network.cut("outside", "server")
        await loop.clock.advance(70)
        assert (taken, near.events) == ([], ["lost"])

    run(scenario, Random(1))


def test_what_has_arrived_comes_before_or_after_timers_by_chance() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host, far = Host(loop, "server"), Echo()
        await host.run(loop.create_server(lambda: far, "127.0.0.1", PORT))
        near = Echo()
        await loop.create_connection(lambda: near, "127.0.0.1", PORT)
        for _ in range(30):
            far.heard.clear()
            host.clock.call_later(1, lambda: far.heard.append(b"timer"))
            host.pause(2)
            near.transport.write(b"X")
            await loop.clock.advance(3)
            orders.add(tuple(far.heard))

    orders: set[tuple[bytes, ...]] = set()
    run(scenario, Random(1))
    assert orders == {(b"timer", b"X"), (b"X", b"timer")}


def test_asyncio_timeouts_go_by_the_clock_of_the_host() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        host = Host(loop, "slow", rate=0.5)

        async def wait() -> float:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.Event().wait(), 10)
            return loop.time()

        task = host.spawn(wait())
        await loop.clock.advance(19)
        assert not task.done()
        await loop.clock.advance(1)
        assert task.result() == 10

    run(scenario)
