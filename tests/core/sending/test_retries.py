"""What is tried again, code by code, as Apache RocketMQ has it."""

import pytest

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    CallTimeout,
    ConnectError,
    ConnectionLost,
    HeaderError,
    RouteError,
    TlsError,
    TooMuchInFlight,
    answer_error,
)
from mqframe.core.sending.retries import NEVER, awaited_rules, submitted_rules

RETRIED = {1, 2, 14, 16, 17, 204, 205, 1500}


def half():
    return 0.5


@pytest.mark.parametrize("code", sorted(set(ResponseCode) | {999}))
def test_answers_of_awaited_sends(code):
    delay = awaited_rules(2).next_delay(1, answer_error(code, "no", "b:1"), 3.0, half)
    assert (delay is not None) == (code in RETRIED)
    if code in RETRIED:
        assert delay == (1.0 if code == 2 else 0.0)


@pytest.mark.parametrize("code", sorted(ResponseCode))
def test_answers_of_submitted_messages_are_final(code):
    assert submitted_rules(2).next_delay(1, answer_error(code, "no", "b:1"), 3.0, half) is None


@pytest.mark.parametrize(
    ("problem", "awaited", "submitted"),
    [
        (ConnectError("x"), True, True),
        (ConnectionLost("x"), True, True),
        (CallTimeout("x"), True, True),
        (TooMuchInFlight("x"), True, False),
        (RouteError("x"), True, False),
        (HeaderError("x"), False, False),
        (TlsError("x"), False, False),
        (answer_error(ResponseCode.NO_PERMISSION, "check signature failed.", "b:1"), False, False),
    ],
)
def test_failures_on_the_way(problem, awaited, submitted):
    assert (awaited_rules(2).next_delay(1, problem, 3.0, half) == 0.0) == awaited
    assert (submitted_rules(2).next_delay(1, problem, 3.0, half) == 0.0) == submitted
    assert NEVER.next_delay(1, problem, 3.0, half) is None


def test_the_number_of_tries_and_the_time_are_limits():
    rules = awaited_rules(2)
    assert rules.next_delay(2, ConnectError("x"), 0.1, half) == 0.0
    assert rules.next_delay(3, ConnectError("x"), 0.1, half) is None
    assert rules.next_delay(1, ConnectError("x"), 0.0, half) is None


def test_flow_control_backs_off_only_while_time_is_left():
    busy = answer_error(2, "busy", "b:1")
    rules = awaited_rules(5)
    assert rules.next_delay(2, busy, 3.0, half) == pytest.approx(1.6)
    assert rules.next_delay(2, busy, 1.6, half) is None


def test_more_codes_can_be_retried():
    rules = awaited_rules(2, (13, 215))
    assert rules.next_delay(1, answer_error(13, "no", "b:1"), 3.0, half) == 0.0
    assert rules.next_delay(1, answer_error(215, "no", "b:1"), 3.0, half) == 1.0
