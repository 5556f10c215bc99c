from __future__ import annotations

import asyncio

import pytest
from mqframe_grpc.outside.kept import KEPT_SECONDS, KeptAnswers
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import ConnectError, FixError, RetryError


class Source:
    """Answers what the test says, once `open` is set; `asked`: the names."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: str | Exception = "first"
        self.open = asyncio.Event()
        self.open.set()

    async def ask(self, name: str) -> str:
        self.asked.append(name)
        await self.open.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return f"{self.answer} {name}"


async def test_what_was_asked_for_is_kept_for_a_while() -> None:
    source, clock = Source(), ManualClock()
    kept = KeptAnswers(source.ask, clock)
    assert await kept.get("a") == "first a"
    source.answer = "second"
    clock.advance(KEPT_SECONDS - 0.1)
    assert await kept.get("a") == "first a"
    clock.advance(0.1)
    assert (await kept.get("a"), await kept.get("b")) == ("second a", "second b")
    assert source.asked == ["a", "a", "b"]


async def test_all_who_want_it_at_the_same_time_share_a_call() -> None:
    source = Source()
    kept = KeptAnswers(source.ask, ManualClock())
    source.open.clear()
    first, second = asyncio.ensure_future(kept.get("a")), asyncio.ensure_future(kept.get("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    source.open.set()
    assert await second == "first a"
    assert first.cancelled()
    assert source.asked == ["a"]


async def test_all_who_gave_up_leave_no_error_behind() -> None:
    source = Source()
    kept = KeptAnswers(source.ask, ManualClock())
    source.open.clear()
    only = asyncio.ensure_future(kept.get("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    only.cancel()
    source.answer = FixError("no")
    source.open.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(FixError):
        await kept.get("a")


@pytest.mark.parametrize("problem", [RetryError("later"), ConnectError("away")])
async def test_what_cannot_be_asked_for_stays_as_it_was(problem: RetryError) -> None:
    source, clock = Source(), ManualClock()
    kept = KeptAnswers(source.ask, clock)
    source.answer = problem
    with pytest.raises(type(problem)):
        await kept.get("a")
    source.answer = "first"
    await kept.get("a")
    clock.advance(KEPT_SECONDS)
    source.answer = problem
    assert (await kept.get("a"), await kept.get("a")) == ("first a", "first a")
    assert len(source.asked) == 3  # not for each who wants it
    clock.advance(1.0)
    source.answer = "second"
    assert await kept.get("a") == "second a"


async def test_what_is_gone_is_not_kept() -> None:
    source, clock = Source(), ManualClock()
    kept = KeptAnswers(source.ask, clock)
    await kept.get("a")
    clock.advance(KEPT_SECONDS)
    source.answer = FixError("there is none")
    for _ in range(2):
        with pytest.raises(FixError):
            await kept.get("a")
    source.answer = RetryError("later")
    with pytest.raises(RetryError):
        await kept.get("a")


async def test_doubt() -> None:
    source, clock = Source(), ManualClock()
    kept = KeptAnswers(source.ask, clock)
    await kept.get("a")
    kept.doubt()
    source.answer = RetryError("later")
    assert await kept.get("a") == "first a"
    clock.advance(1.0)
    source.answer = "second"
    assert await kept.get("a") == "second a"


async def test_no_more_than_most_are_kept() -> None:
    source = Source()
    kept = KeptAnswers(source.ask, ManualClock(), 2)
    for name in ("a", "b", "a", "c", "b"):
        await kept.get(name)
    assert (source.asked, len(kept)) == (["a", "b", "c"], 2)
    await kept.get("a")
    assert source.asked[-1] == "a"
