import asyncio
import threading

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.client.sending.in_flight_limit import AsyncInFlightLimit, BlockingInFlightLimit
from mqframe.core.errors import ClosedError, TooMuchInFlight
from mqframe.core.sending.in_flight import InFlightCount


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_those_who_wait_are_served_in_order():
    in_flight = AsyncInFlightLimit(InFlightCount(2, 100), ManualClock())
    assert in_flight.acquire(10)
    assert in_flight.acquire(80)
    served = []

    async def want(name, size):
        await in_flight.wait(size, 60)
        served.append(name)

    tasks = [asyncio.ensure_future(want("big", 90)), asyncio.ensure_future(want("small", 1))]
    await settle()
    assert not in_flight.acquire(1), "a newcomer must not overtake those who wait"
    in_flight.release(10)
    await settle()
    assert served == []
    in_flight.release(80)
    await asyncio.gather(*tasks)
    assert served == ["big", "small"]


async def test_giving_up_leaves_the_room_to_others():
    clock = ManualClock()
    in_flight = AsyncInFlightLimit(InFlightCount(1, 100), clock)
    assert in_flight.acquire(1)
    first = asyncio.ensure_future(in_flight.wait(1, 1.0))
    second = asyncio.ensure_future(in_flight.wait(1, 10.0))
    await settle()
    await clock.aadvance(1.0)
    with pytest.raises(TooMuchInFlight, match="1 of 1 messages"):
        await first
    in_flight.release(1)
    await second
    assert in_flight.count.count == 1


async def test_cancelled_in_the_turn_of_the_grant_gives_it_back():
    in_flight = AsyncInFlightLimit(InFlightCount(1, 100), ManualClock())
    assert in_flight.acquire(1)
    waiting = asyncio.ensure_future(in_flight.wait(1, 10.0))
    await settle()
    in_flight.release(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert in_flight.count.count == 0


async def test_closing_tells_those_who_wait():
    in_flight = AsyncInFlightLimit(InFlightCount(1, 100), ManualClock())
    assert in_flight.acquire(1)
    waiting = asyncio.ensure_future(in_flight.wait(1, 10.0))
    await settle()
    in_flight.close()
    with pytest.raises(ClosedError):
        await waiting
    with pytest.raises(ClosedError):
        await in_flight.wait(1, 10.0)


def test_threads_wait_for_room():
    in_flight = BlockingInFlightLimit(InFlightCount(1, 100))
    assert in_flight.acquire(1)
    with pytest.raises(TooMuchInFlight, match="nothing was sent"):
        run_blocking(in_flight.wait(1, 0.0))
    thread = threading.Thread(target=lambda: run_blocking(in_flight.wait(1, 10.0)))
    thread.start()
    in_flight.release(1)
    thread.join()
    assert not in_flight.acquire(1)


def test_threads_that_wait_for_room_are_refused_when_it_closes():
    in_flight, met = BlockingInFlightLimit(InFlightCount(1, 100)), []
    assert in_flight.acquire(1)

    def want():
        try:
            run_blocking(in_flight.wait(1, 3600))
        except ClosedError as problem:
            met.append(str(problem))

    threads = [threading.Thread(target=want) for _ in range(3)]
    for thread in threads:
        thread.start()
    in_flight.close()
    for thread in threads:
        thread.join(120)
    assert met == ["the producer was stopped; nothing was sent"] * 3
