from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mqframe.turns import Pace, in_turns, next_turn


async def test_each_slice_has_a_turn_of_the_loop_of_its_own() -> None:
    turns: list[object] = []
    loop = asyncio.get_running_loop()

    async def work() -> None:
        async for some in in_turns(range(5), 2):
            turns.append(some)
            loop.call_soon(turns.append, "others")

    await work()
    assert turns[:5] == [[0, 1], "others", [2, 3], "others", [4]]


async def test_there_may_be_nothing_and_the_last_slice_may_be_full() -> None:
    async def slices(count: int) -> list[Sequence[int]]:
        return [some async for some in in_turns(range(count), 2)]

    assert await slices(0) == []
    assert await slices(2) == [[0, 1]]


async def test_of_many_works_one_goes_on_in_a_turn() -> None:
    loop = asyncio.get_running_loop()
    turn = 0
    done: list[int] = []

    def count() -> None:
        nonlocal turn
        turn += 1
        if len(done) < 30:
            loop.call_soon(count)

    async def work(name: int) -> None:
        done.extend([turn async for _ in in_turns(range(3), 1)])

    cancelled = asyncio.ensure_future(work(99))
    works = [asyncio.ensure_future(work(name)) for name in range(10)]
    await asyncio.sleep(0)
    cancelled.cancel()
    loop.call_soon(count)
    await asyncio.gather(*works)
    assert len(done) == len(set(done)) == 30


async def test_a_pace_waits_after_so_many_steps() -> None:
    turns: list[int] = []

    async def work() -> None:
        pace = Pace(10)
        for number in range(6):
            turns.append(number)
            await pace.step(4)

    task = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    assert turns == [0, 1, 2]
    await next_turn()
    await task
    assert turns == list(range(6))
