from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mqframe.net.turns import in_turns


def test_each_slice_has_a_turn_of_the_loop_of_its_own() -> None:
    async def scenario() -> None:
        turns: list[object] = []
        loop = asyncio.get_running_loop()

        async def work() -> None:
            async for some in in_turns(range(5), 2):
                turns.append(some)
                loop.call_soon(turns.append, "others")

        await work()
        assert turns == [[0, 1], "others", [2, 3], "others", [4]]

    asyncio.run(scenario())


def test_there_may_be_nothing_and_the_last_slice_may_be_full() -> None:
    async def slices(count: int) -> list[Sequence[int]]:
        return [some async for some in in_turns(range(count), 2)]

    assert asyncio.run(slices(0)) == []
    assert asyncio.run(slices(2)) == [[0, 1]]
