"""Calls that wait for a server: how often, how long, and after which errors."""

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.connection.patience import Patience
from mqframe.core.errors import (
    AnswerError,
    BadAnswer,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    RouteError,
    answer_error,
)


class Work:
    """Meets `problems` one after the other, each after `seconds`, and is done then."""

    def __init__(self, clock, *problems, seconds=0.0):
        self.clock = clock
        self.problems = list(problems)
        self.seconds = seconds
        self.left = []

    async def __call__(self, left=None):
        self.left.append(left)
        await self.clock.sleep(self.seconds)
        if self.problems:
            raise self.problems.pop(0)
        return "done"


def staged(**options):
    clock = ManualClock()
    patience = Patience(clock.monotonic, clock.sleep, lambda: 0.5, **options)
    return clock, patience


def unknown_topic():
    problem = RouteError("no route to topic t")
    problem.__cause__ = answer_error(17, "no such topic", "n:1")
    return problem


async def test_what_passes_is_waited_for_and_each_try_knows_what_is_left():
    clock, patience = staged()
    busy = answer_error(2, "busy", "b:1")
    work = Work(clock, ConnectError("x"), busy, RouteError("no name server"))
    assert await clock.finish(patience.over(work, 3.0), 0.002) == "done"
    assert work.left == pytest.approx([3.0, 2.9, 2.74, 2.484], abs=0.02)


@pytest.mark.parametrize(
    "problem",
    [ConnectionLost("x"), CallTimeout("x"), BadAnswer("x"), answer_error(1, "no", "b:1"), unknown_topic()],
    ids=repr,
)
async def test_what_may_be_done_or_does_not_pass_is_raised_at_once(problem):
    clock, patience = staged()
    calls = [patience.over(Work(clock, problem), 3.0)]
    if not isinstance(problem, ConnectionLost):
        calls.append(patience.through(Work(clock, problem)))
    for call in calls:
        with pytest.raises(type(problem)) as caught:
            await clock.finish(call)
        assert caught.value is problem


async def test_what_may_be_done_twice_is_done_after_a_lost_connection_too():
    clock, patience = staged(seconds=3.0)
    lost = Work(clock, ConnectionLost("x"), ConnectError("x"))
    assert await clock.finish(patience.over(lost, 3.0, repeatable=True)) == "done"
    lost = Work(clock, ConnectionLost("x"), ConnectError("x"))
    assert await clock.finish(patience.through(lost)) == "done"


@pytest.mark.parametrize(("seconds", "patient"), [(3.0, 60.0), (60.0, 3.0)])
async def test_the_shorter_time_ends_it_with_the_last_problem(seconds, patient):
    clock, patience = staged(seconds=patient)
    problems = [ConnectError(str(number)) for number in range(100)]
    work = Work(clock, *problems)
    with pytest.raises(ConnectError) as caught:
        await clock.finish(patience.over(work, seconds), 0.01)
    assert 2.9 < clock.monotonic() <= 3.1
    assert str(caught.value) == str(len(work.left) - 1)
    assert len(work.left) < 15


async def test_no_patience():
    clock, patience = staged(seconds=0.0)
    with pytest.raises(AnswerError):
        await clock.finish(patience.over(Work(clock, answer_error(2, "busy", "b:1")), 3.0))
    with pytest.raises(ConnectError):
        await clock.finish(patience.through(Work(clock, ConnectError("x"))))
    assert clock.monotonic() < 0.3


async def test_long_work_begins_to_wait_when_trouble_begins_and_anew_after_each_connection():
    clock, patience = staged(seconds=3.0)
    lost = [ConnectionLost("x")] * 3
    work = Work(clock, *lost, seconds=20.0)
    assert await clock.finish(patience.through(work), 1.0) == "done"
    assert clock.monotonic() >= 80.0


async def test_nobody_who_cannot_be_connected_to_is_waited_for_twice():
    clock, patience = staged(seconds=3.0)
    work = Work(clock, *[ConnectError("no connection within 3 s")] * 9, seconds=3.0)
    with pytest.raises(ConnectError):
        await clock.finish(patience.through(work), 0.5)
    assert len(work.left) == 2
