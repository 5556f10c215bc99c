"""A server that is away for a moment is no warning, one that stays away is, and not too often."""

from __future__ import annotations

import logging

import pytest

from mqframe.client.connection.outages import AGAIN_SECONDS, QUIET_SECONDS, Outages
from mqframe.core.errors import AccessError, AnswerError, CallTimeout, ConnectError, ConnectionLost
from mqframe.testing.manual_clock import ManualClock


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


@pytest.fixture
def scene(caplog) -> Scene:
    return Scene(caplog)


def test_a_restart_is_no_warning(scene) -> None:
    assert scene.fails(ConnectionLost("reset")) == ("INFO", "pull failed group='g' reason='reset'")
    assert scene.fails(after=QUIET_SECONDS - 0.1)[0] == "INFO"


def test_an_outage_is_one_warning_a_minute(scene) -> None:
    scene.fails()
    text = "pull failed group='g' away_seconds=10 reason='refused'"
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
def test_any_other_problem_is_a_warning_at_once(scene, problem) -> None:
    assert scene.fails(problem)[0] == "WARNING"
    assert scene.fails(problem)[0] == "WARNING"


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
