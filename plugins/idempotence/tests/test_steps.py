import asyncio
from typing import Any

import pytest
from mqframe_idempotence import WrongUse
from mqframe_idempotence.steps import Steps, run, run_async


def adding(calls: list[Any]) -> Steps[int]:
    total = 0
    for call in calls:
        try:
            total += yield call
        except ValueError:
            total += 100
    return total


def broken() -> int:
    raise ValueError


async def later() -> int:
    await asyncio.sleep(0)
    return 5


def test_calls_are_made_in_turn_and_what_they_raise_is_raised_in_the_steps() -> None:
    assert run(adding([lambda: 1, broken, lambda: 2])) == 103


async def test_in_a_loop_awaitables_are_awaited() -> None:
    assert await run_async(adding([lambda: 1, later, broken])) == 106


def test_without_a_loop_an_awaitable_is_refused() -> None:
    with pytest.raises(WrongUse, match="async def"):
        run(adding([later]))


async def test_a_cancellation_reaches_the_steps() -> None:
    seen: list[str] = []

    def steps() -> Steps[None]:
        try:
            yield lambda: asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            yield lambda: asyncio.sleep(0)
            seen.append("cleaned up")
            raise

    task = asyncio.ensure_future(run_async(steps()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled", "cleaned up"]
