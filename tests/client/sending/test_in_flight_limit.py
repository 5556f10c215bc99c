import asyncio
import threading

import pytest

from mqframe.client.blocking_port import run_blocking
from mqframe.client.room import AsyncRoom, BlockingRoom
from mqframe.core.budget import Budget
from mqframe.core.errors import ClosedError, TooMuchInFlight
from mqframe.testing.manual_clock import ManualClock


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def test_those_who_wait_are_served_in_order():
    async def scene():
        room = AsyncRoom(Budget(2, 100), ManualClock())
        assert room.take(10)
        assert room.take(80)
        served = []

        async def want(name, size):
            await room.wait(size, 60)
            served.append(name)

        tasks = [asyncio.ensure_future(want("big", 90)), asyncio.ensure_future(want("small", 1))]
        await settle()
        assert not room.take(1), "a newcomer must not overtake those who wait"
        room.give(10)
        await settle()
        assert served == []
        room.give(80)
        await asyncio.gather(*tasks)
        assert served == ["big", "small"]

    asyncio.run(scene())


def test_giving_up_leaves_the_room_to_others():
    async def scene():
        clock = ManualClock()
        room = AsyncRoom(Budget(1, 100), clock)
        assert room.take(1)
        first = asyncio.ensure_future(room.wait(1, 1.0))
        second = asyncio.ensure_future(room.wait(1, 10.0))
        await settle()
        await clock.aadvance(1.0)
        with pytest.raises(TooMuchInFlight, match="1 of 1 messages"):
            await first
        room.give(1)
        await second
        assert room.budget.count == 1

    asyncio.run(scene())


def test_cancelled_in_the_turn_of_the_grant_gives_it_back():
    async def scene():
        room = AsyncRoom(Budget(1, 100), ManualClock())
        assert room.take(1)
        waiting = asyncio.ensure_future(room.wait(1, 10.0))
        await settle()
        room.give(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert room.budget.count == 0

    asyncio.run(scene())


def test_closing_tells_those_who_wait():
    async def scene():
        room = AsyncRoom(Budget(1, 100), ManualClock())
        assert room.take(1)
        waiting = asyncio.ensure_future(room.wait(1, 10.0))
        await settle()
        room.close()
        with pytest.raises(ClosedError):
            await waiting
        with pytest.raises(ClosedError):
            await room.wait(1, 10.0)

    asyncio.run(scene())


def test_threads_wait_for_room():
    room = BlockingRoom(Budget(1, 100))
    assert room.take(1)
    with pytest.raises(TooMuchInFlight, match="nothing was sent"):
        run_blocking(room.wait(1, 0.0))
    thread = threading.Thread(target=lambda: run_blocking(room.wait(1, 10.0)))
    thread.start()
    room.give(1)
    thread.join()
    assert not room.take(1)
