"""Refusals at the replication port: few lines, and the end as loud as the beginning."""

from __future__ import annotations

import logging

import pytest
from mqframe_replication.stream.refusals import ConnectionRefusals
from mqframe_testing.manual_clock import ManualClock


@pytest.fixture
def clock(caplog: pytest.LogCaptureFixture) -> ManualClock:
    caplog.set_level(logging.INFO, "mqframe.replication")
    return ManualClock()


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    lines = [(each.levelname, each.getMessage()) for each in caplog.records]
    caplog.clear()
    return lines


def test_strangers_are_a_warning_a_minute(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    refusals = ConnectionRefusals(clock)
    for number in range(300):
        refusals.note_unknown(f"192.0.2.{number % 250}:7", "it says nothing")
        clock.advance(0.1)
    refusals.tell()
    assert [level for level, _ in told(caplog)] == ["WARNING"]
    refusals.tell(last=True)
    ((level, line),) = told(caplog)
    assert level == "WARNING"
    assert " count=299 " in line


def test_a_slave_that_comes_again_and_again_is_one_error_and_its_coming_in_another(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = ConnectionRefusals(clock)
    for port in range(100):
        refusals.note(f"192.0.2.1:{port}", "its id is taken")
        clock.advance(0.3)
    refusals.note("192.0.2.2:1", "its id is taken")
    refusals.over("192.0.2.1:100", 4096)
    refusals.over("192.0.2.3:1", 0)
    assert told(caplog) == [
        ("ERROR", "a slave is refused slave='192.0.2.1:0' problem='its id is taken'"),
        ("ERROR", "a slave is refused slave='192.0.2.2:1' problem='its id is taken'"),
        ("ERROR", "a slave follows slave='192.0.2.1:100' offset=4096 after_seconds=30"),
        ("INFO", "a slave follows slave='192.0.2.3:1' offset=0"),
    ]


def test_a_slave_whose_connection_was_closed_comes_again_as_loud(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = ConnectionRefusals(clock)
    refusals.note_closed("192.0.2.1:1", "says")
    refusals.over("192.0.2.1:2", 64)
    assert told(caplog) == [
        ("WARNING", "a slave says nothing; its connection is closed slave='192.0.2.1:1'"),
        ("WARNING", "a slave follows slave='192.0.2.1:2' offset=64 after_seconds=0"),
    ]
