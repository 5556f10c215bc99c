import pytest
from mqframe_spark.retrying import PAUSES_SECONDS
from mqframe_spark.source.progress import commit_forward

from mqframe.core.errors import ConnectError, FixError


def test_a_group_is_moved_forward_only(wire) -> None:
    queue = wire.add(0, 9)
    for offset, held in ((5, 5), (3, 5), (5, 5), (6, 6)):
        commit_forward(wire, "billing", queue, offset)
        assert wire.progress == {("billing", queue): held}
    assert wire.calls.count("commit") == 2


def test_a_broker_that_comes_back_is_told(wire) -> None:
    queue, slept = wire.add(0, 9), []
    wire.faults = [ConnectError("away"), ConnectError("away")]
    commit_forward(wire, "billing", queue, 5, sleep=slept.append)
    assert wire.progress == {("billing", queue): 5}
    assert slept == list(PAUSES_SECONDS[:2])


def test_a_broker_that_stays_away_is_passed_over_and_told_of(wire, caplog) -> None:
    queue, slept = wire.add(0, 9), []
    wire.unreachable = {"a"}
    commit_forward(wire, "billing", queue, 5, sleep=slept.append)
    assert wire.progress == {}
    assert slept == list(PAUSES_SECONDS)
    assert "the group was not told of the progress" in caplog.text


def test_a_refusal_is_an_error(wire) -> None:
    queue = wire.add(0, 9)
    wire.faults = [FixError("no permission")]
    with pytest.raises(FixError, match="no permission"):
        commit_forward(wire, "billing", queue, 5)
