"""Clients that are run wait for name servers, say so, and are ended while they wait."""

from __future__ import annotations

import asyncio
import logging

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.connection.patient_start import start_or_end
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerFix, FixError, RouteError


class Scene:
    def __init__(self, *answers) -> None:
        self.clock = ManualClock()
        self.ended = asyncio.Event()
        self.answers = list(answers)
        self.tries: list[float] = []

    async def start(self) -> None:
        self.tries.append(self.clock.monotonic())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == "hang":
            await asyncio.get_running_loop().create_future()
        if answer is not None:
            raise answer

    def begin(self, **options):
        return asyncio.ensure_future(start_or_end(self.start, self.ended, self.clock, "billing", **options))


def nobody() -> RouteError:
    return RouteError("no name server answered (n:1): refused")


def lines(caplog) -> list[str]:
    assert all(r.exc_info is None for r in caplog.records)
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


async def test_it_waits_with_a_line_a_minute_until_one_answers(caplog) -> None:
    scene = Scene(*[nobody() for _ in range(62)], None)
    running = scene.begin()
    await scene.clock.aadvance(61.9)
    assert not running.done()
    await scene.clock.aadvance(0.1)
    await running
    assert scene.tries == list(range(63))
    reason = "reason='no name server answered (n:1): refused'"
    assert lines(caplog) == [
        f"waiting for name servers group='billing' seconds=0 {reason}",
        f"waiting for name servers count=60 group='billing' seconds=60 {reason}",
        "name servers answer; the consumer has started group='billing' after_seconds=62",
    ]


async def test_a_start_that_goes_well_says_nothing(caplog) -> None:
    await Scene(None).begin()
    assert lines(caplog) == []


async def test_where_it_shall_not_wait_the_error_is_one_without_a_chain(caplog) -> None:
    scene = Scene(nobody())
    with pytest.raises(RouteError) as caught:
        await scene.begin(fail_fast=True)
    assert str(caught.value) == (
        "no name server answered (n:1): refused; the consumer of group billing was not started"
    )
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert lines(caplog) == []


@pytest.mark.parametrize("answers", [(nobody(), "hang"), ("hang",)])
async def test_who_is_to_end_waits_no_more(answers, caplog) -> None:
    scene = Scene(*answers)
    running = scene.begin()
    await scene.clock.aadvance(1.0)
    assert not running.done()
    scene.ended.set()
    await scene.clock.aadvance(0)
    assert running.done()
    assert running.result() is None
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancellation_ends_the_start_as_well() -> None:
    scene = Scene("hang")
    running = scene.begin()
    await scene.clock.aadvance(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_other_problems_are_raised_as_they_are() -> None:
    unknown = RouteError("no route to topic orders")
    unknown.__cause__ = AnswerFix(ResponseCode.TOPIC_NOT_EXIST, "none", "n:1")

    async def story(problem):
        with pytest.raises(type(problem)) as caught:
            await Scene(problem).begin()
        assert caught.value is problem

    for problem in (FixError("no subscription"), unknown):
        await story(problem)
