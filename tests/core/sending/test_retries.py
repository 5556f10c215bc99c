"""What is tried again, code by code: as Apache RocketMQ has it, and with pauses while it passes by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    BadAnswer,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    HeaderError,
    RouteError,
    TlsError,
    TooMuchInFlight,
    answer_error,
)
from mqframe.core.sending.retries import BOUND, ONCE, Tries, awaited_rules, submitted_rules

RETRIED = {1, 2, 14, 16, 17, 204, 205, 1500}
PASSING = {2, 14, 215}


def half():
    return 0.5


def delays(rules, problem, count, *, seconds=30.0, brokers=("b",)):
    """What `count` tries in turn are followed by, each of which meets `problem` at the first broker."""
    tries = Tries(rules, half)
    return [after(tries, problem, brokers[0], brokers, seconds) for _ in range(count)]


def after(tries, problem, broker, brokers, seconds):
    tries.tried.append(broker)
    return tries.next_delay(problem, brokers, seconds)


@pytest.mark.parametrize("code", sorted(set(ResponseCode) | {999}))
def test_answers_of_awaited_sends(code):
    found = delays(awaited_rules(2), answer_error(code, "no", "b:1"), 3)
    if code in PASSING:
        assert found == pytest.approx([0.1, 0.16, 0.256])
    else:
        assert found == ([0.0, 0.0, None] if code in RETRIED else [None] * 3)


@pytest.mark.parametrize("code", sorted(ResponseCode))
def test_other_answers_of_submitted_messages_are_final(code):
    found = delays(submitted_rules(2), answer_error(code, "no", "b:1"), 1)
    assert found == [pytest.approx(0.1) if code in PASSING else None]


def early(problem):
    """The same problem, met before anything was sent."""
    problem.maybe_stored = False
    return problem


@pytest.mark.parametrize(
    "problem",
    [
        ConnectError("x"),
        RouteError("x"),
        TooMuchInFlight("x"),
        early(ConnectionLost("x")),
        early(CallTimeout("x")),
        answer_error(2, "busy", "b:1"),
        answer_error(14, "no", "b:1"),
        answer_error(215, "slow down", "b:1"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("rules", [awaited_rules(0), awaited_rules(2), submitted_rules(2), BOUND])
def test_what_stored_nothing_and_passes_is_waited_for_however_many_tries_that_takes(problem, rules):
    found = delays(rules, problem, 50)
    assert found[:3] == pytest.approx([0.1, 0.16, 0.256])
    assert found[-1] == pytest.approx(2.0)
    assert delays(ONCE, problem, 1) == [None]


@pytest.mark.parametrize("problem", [ConnectionLost("x"), CallTimeout("x")], ids=repr)
def test_what_may_be_stored_is_tried_so_often_again_at_once_and_never_when_it_is_bound(problem):
    for rules in (awaited_rules(2), submitted_rules(2)):
        assert delays(rules, problem, 3) == [0.0, 0.0, None]
        assert rules.after(problem).retries == 1
        assert rules.after(problem).after(problem).after(problem) is None
    assert delays(BOUND, problem, 1) == [None]


@pytest.mark.parametrize(
    "problem",
    [
        HeaderError("x"),
        TlsError("x"),
        BadAnswer("x"),
        answer_error(ResponseCode.NO_PERMISSION, "check signature failed.", "b:1"),
        answer_error(
            ResponseCode.SERVICE_NOT_AVAILABLE, "org.apache.rocketmq.acl.common.AclException: x", "b:1"
        ),
    ],
    ids=repr,
)
def test_what_is_final(problem):
    for rules in (awaited_rules(2), submitted_rules(2), BOUND):
        assert delays(rules, problem, 1) == [None]
        assert rules.after(problem) is None


def test_both_kinds_of_problems_count_by_themselves():
    tries = Tries(awaited_rules(2), half)
    lost, away = ConnectionLost("x"), ConnectError("x")
    found = [after(tries, problem, "b", ("b",), 3.0) for problem in (lost, away, away, lost, away, lost)]
    assert found == [0.0, pytest.approx(0.1), pytest.approx(0.16), 0.0, pytest.approx(0.256), None]


def test_other_brokers_are_tried_at_once_and_all_are_waited_for_together():
    tries = Tries(awaited_rules(2), half)
    busy = answer_error(2, "busy", "b:1")
    found = [after(tries, busy, broker, ("a", "b", "c"), 3.0) for broker in "abcbca"]
    assert found == [0.0, 0.0, pytest.approx(0.1), 0.0, 0.0, pytest.approx(0.16)]


def test_a_broker_that_is_gone_from_the_route_is_not_waited_for():
    tries = Tries(awaited_rules(2), half)
    assert after(tries, ConnectError("x"), "gone", ("a",), 3.0) == 0.0
    assert after(tries, ConnectError("x"), "a", ("a",), 3.0) == pytest.approx(0.1)


@given(st.floats(0.2, 100), st.lists(st.floats(0, 1, exclude_max=True), min_size=200, max_size=200))
def test_the_time_is_the_limit_and_is_used_to_its_end(seconds, chance):
    tries = Tries(BOUND, iter(chance).__next__)
    left = seconds
    while (delay := after(tries, ConnectError("x"), "b", ("b",), left)) is not None:
        assert 0 < delay <= 2.0
        left -= delay
    assert 0 < left < 0.1
    assert after(tries, ConnectError("x"), "b", ("b",), 0.0) is None


def test_no_time_no_try():
    for problem in (ConnectError("x"), ConnectionLost("x"), answer_error(1, "no", "b:1")):
        assert delays(awaited_rules(2), problem, 1, seconds=0.0) == [None]


def test_more_codes_can_be_retried():
    rules = awaited_rules(2, (13, 215))
    assert delays(rules, answer_error(13, "no", "b:1"), 3) == [0.0, 0.0, None]
    assert delays(rules, answer_error(215, "no", "b:1"), 1) == [pytest.approx(0.1)]


def test_tries_that_are_counted_can_be_taken():
    tries = Tries(awaited_rules(2), half)
    assert tries.any_left
    assert [tries.take_one() for _ in range(3)] == [True, True, False]
    assert not tries.any_left


def test_a_broker_that_says_when_is_tried_again_then():
    told = answer_error(2, "send again in 1350 ms", "b:1")
    assert delays(awaited_rules(2), told, 3) == [1.35, 1.35, 1.35]
