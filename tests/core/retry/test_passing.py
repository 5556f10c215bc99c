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
from mqframe.core.retry.passing import is_passing


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
