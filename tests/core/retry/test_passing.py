"""Which problems pass by themselves."""

import pytest

from mqframe.core.errors import (
    BadAnswer,
    CallTimeout,
    ClosedError,
    ConnectError,
    ConnectionLost,
    FixError,
    RouteError,
    TooMuchInFlight,
    answer_error,
)
from mqframe.core.retry.passing import is_passing, told_seconds


@pytest.mark.parametrize(
    "problem",
    [ConnectError("x"), RouteError("x"), TooMuchInFlight("x")]
    + [answer_error(code, "x", "b:1") for code in (2, 14, 215)],
)
def test_nothing_was_done_and_the_next_try_may_do_better(problem):
    assert is_passing(problem)


@pytest.mark.parametrize(
    "problem",
    [ConnectionLost("x"), CallTimeout("x"), BadAnswer("x"), ClosedError("x"), FixError("x")]
    + [answer_error(code, "x", "b:1") for code in (1, 13, 16, 17, 1500)]
    + [answer_error(16, "check signature failed", "b:1")],
)
def test_something_may_be_done_or_the_next_try_meets_the_same(problem):
    assert not is_passing(problem)


@pytest.mark.parametrize("kind", [ConnectionLost, CallTimeout])
def test_what_was_lost_before_it_left_passes(kind):
    problem = kind("x")
    problem.maybe_stored = False
    assert is_passing(problem)


def test_who_is_not_let_in_is_not_let_in_later():
    assert not is_passing(answer_error(14, "org.apache.rocketmq.acl.common.AclException: x", "b:1"))


def test_a_busy_broker_may_say_when_to_come_again():
    told = "[QUOTA] alice may send 10 messages/s; send again in 1350 ms"
    assert told_seconds(answer_error(2, told, "b:1")) == told_seconds(answer_error(215, told, "b:1")) == 1.35
    assert told_seconds(answer_error(2, "busy: pull again later", "b:1")) == 0.0
    assert told_seconds(answer_error(2, None, "b:1")) == 0.0
    assert told_seconds(answer_error(14, told, "b:1")) == 0.0
    assert told_seconds(ConnectError(told)) == 0.0
