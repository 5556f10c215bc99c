from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from mqframe_grpc.transport.steps import Finished, run_at_once


def begin(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    rest = run_at_once(work)
    assert not isinstance(rest, Finished)
    return asyncio.ensure_future(rest)


async def test_what_waits_for_nothing_is_done_at_once() -> None:
    async def work() -> int:
        return 7

    assert run_at_once(work()) == Finished(7)


async def test_what_it_raises_is_raised() -> None:
    async def work() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_at_once(work())


async def test_the_rest_goes_on_in_a_task() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def work() -> int:
        first = await future
        await asyncio.sleep(0)
        return first + 1

    task = begin(work())
    future.set_result(1)
    assert await task == 2


async def test_what_waits_for_a_turn_gets_it() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 3

    assert await begin(work()) == 3


async def test_a_failure_of_what_it_waits_for_reaches_it() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        try:
            await future
        except ValueError as problem:
            return str(problem)
        return ""

    task = begin(work())
    future.set_exception(ValueError("so"))
    assert await task == "so"


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_it_hears_of_being_cancelled_at_any_time(turns: int) -> None:
    heard = []
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        try:
            await future
        except asyncio.CancelledError:
            heard.append("cancelled")
            await asyncio.sleep(0)
            heard.append("cleaned")
            raise

    task = begin(work())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == ["cancelled", "cleaned"]
    assert future.cancelled()


@pytest.mark.parametrize("turns", [0, 1])
async def test_cancelling_reaches_a_task_that_it_waits_for(turns: int) -> None:
    async def inner() -> None:
        await asyncio.get_running_loop().create_future()

    waited = asyncio.ensure_future(inner())
    await asyncio.sleep(0)

    async def work() -> None:
        await waited

    task = begin(work())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert waited.cancelled()


@pytest.mark.parametrize("turns", [0, 1])
async def test_cancelling_that_is_refused_is_refused(turns: int) -> None:
    async def work() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return "went on"
        return ""

    task = begin(work())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    assert await task == "went on"


async def test_it_is_cancelled_before_its_first_step_while_it_waits_for_a_turn() -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    task = begin(work())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_result_that_is_there_before_the_task_begins_is_not_lost() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def work() -> int:
        return await future

    rest = run_at_once(work())
    assert not isinstance(rest, Finished)
    future.set_result(5)
    assert await asyncio.ensure_future(rest) == 5


async def test_a_task_is_called_after_what_it_does() -> None:
    async def look_around() -> None:
        await asyncio.get_running_loop().create_future()

    task = begin(look_around())
    assert "look_around" in repr(task)
    task.cancel()


async def test_what_is_dropped_is_closed() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)

    rest = run_at_once(work())
    assert not isinstance(rest, Finished)
    rest.close()
    assert ended == [True]


async def test_only_tasks_take_the_rest() -> None:
    async def work() -> None:
        await asyncio.get_running_loop().create_future()

    rest = run_at_once(work())
    assert not isinstance(rest, Finished)
    with pytest.raises(TypeError, match="task"):
        await rest
    rest.close()
