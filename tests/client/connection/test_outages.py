"""A server that is away for a moment is no warning, one that stays away is, and not too often."""

from __future__ import annotations

import logging

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.connection.outages import Outages
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AccessError, AnswerError, CallTimeout, ConnectError, ConnectionLost
from mqframe.trouble import AGAIN_SECONDS, QUIET_SECONDS


class Scene:
    def __init__(self, caplog) -> None:
        caplog.set_level(logging.INFO, "mqframe")
        self.caplog, self.clock = caplog, ManualClock()
        self.outages = Outages(self.clock)

    def fails(self, problem=None, after: float = 0.0, whom="broker-a") -> tuple[str, str]:
        """Level and text of what is logged."""
        self.clock.advance(after)
        self.caplog.clear()
        self.outages.note("pull failed", whom, problem or ConnectError("refused"), group="g")
        (record,) = [each for each in self.caplog.records if each.name == "mqframe.client"]
        return record.levelname, record.getMessage()

    def over(self) -> list[tuple[str, str]]:
        """What is logged when it is."""
        self.caplog.clear()
        self.outages.over("pull failed", "broker-a")
        return [(each.levelname, each.getMessage()) for each in self.caplog.records]


@pytest.fixture
def scene(caplog) -> Scene:
    return Scene(caplog)


def test_a_restart_is_no_warning(scene) -> None:
    assert scene.fails(ConnectionLost("reset")) == ("INFO", "pull failed group='g' reason='reset'")
    assert scene.fails(after=QUIET_SECONDS - 0.1)[0] == "INFO"


def test_a_broker_that_is_back_and_has_no_heartbeat_yet_is_no_warning(scene) -> None:
    unknown = AnswerError(ResponseCode.SUBSCRIPTION_NOT_EXIST, "group g has no member here", "10.0.0.1:10911")
    assert scene.fails(unknown)[0] == "INFO"
    assert scene.fails(unknown, after=QUIET_SECONDS)[0] == "WARNING"


def test_an_outage_is_one_warning_a_minute(scene) -> None:
    scene.fails()
    text = "pull failed count=2 group='g' away_seconds=10 reason='refused'"
    assert scene.fails(after=QUIET_SECONDS) == ("WARNING", text)
    assert scene.fails(after=3.0)[0] == "INFO"
    assert scene.fails(after=AGAIN_SECONDS - 3.1)[0] == "INFO"
    assert scene.fails(after=0.1)[0] == "WARNING"


def test_who_came_back_begins_anew(scene) -> None:
    scene.fails()
    scene.fails(whom="broker-b")
    scene.outages.over("pull failed", "broker-a")
    assert scene.fails(after=QUIET_SECONDS)[0] == "INFO"
    assert scene.fails(whom="broker-b")[0] == "WARNING"


@pytest.mark.parametrize("problem", [CallTimeout("3 s"), AnswerError(16, "no", "b:1")])
def test_any_other_problem_is_a_warning_at_once_and_then_one_a_minute(scene, problem) -> None:
    assert scene.fails(problem)[0] == "WARNING"
    assert scene.fails(problem, after=1)[0] == "INFO"
    assert scene.fails(problem, after=AGAIN_SECONDS)[0] == "WARNING"


def test_that_it_is_over_is_told_where_it_was_told_that_it_began(scene) -> None:
    scene.fails()
    assert scene.over() == [("INFO", "pull failed; that is over group='g' after_seconds=0")]
    assert scene.over() == []
    scene.fails()
    scene.fails(after=QUIET_SECONDS)
    assert scene.over() == [("WARNING", "pull failed; that is over group='g' after_seconds=10")]


def test_who_does_not_let_us_in_is_told_once_unless_that_is_over(scene) -> None:
    first, second = (AccessError(16, f"User:{name} may not", "10.0.0.1:1") for name in ("shop", "other"))
    assert scene.outages.take_refusal() is None
    assert scene.fails(first)[0] == "WARNING"
    scene.fails(second, whom="broker-b")
    assert scene.outages.take_refusal() is second
    assert scene.outages.take_refusal() is None
    scene.fails(first)
    scene.outages.over("pull failed", "broker-b")
    scene.fails(ConnectionLost("reset"), whom="broker-b")
    assert scene.outages.take_refusal() is first
    scene.fails(first)
    scene.outages.over("pull failed", "broker-a")
    assert scene.outages.take_refusal() is None
