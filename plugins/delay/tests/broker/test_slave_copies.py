"""What slaves keep of the timer."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_delay.broker.slave_copies import TimerCopies
from mqframe_delay.requests import GetTimerCheckPoint
from mqframe_delay.rules.bodies import TimerMetric, TimerMetricTable
from mqframe_delay.settings import DelaySettings
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.tables.live_settings import LiveSection
from mqframe.core.requests.admin import GetTimerMetrics
from mqframe.core.wire.bodies import DataVersion


class Port:
    def __init__(self, settings: DelaySettings) -> None:
        self.clock = ManualClock(1000)
        self._settings = settings

    def settings(self, kind: type[Any]) -> LiveSection[Any]:
        assert kind is DelaySettings
        return LiveSection(self._settings)


def copies(**settings: Any) -> TimerCopies:
    port: Any = Port(DelaySettings(**settings))
    return TimerCopies(port)


def test_slaves_ask_for_how_much_waits_and_how_far_the_timer_is() -> None:
    it = copies()
    assert [type(each.request) for each in it.tables()] == [GetTimerMetrics]
    assert [(type(each.request), each.name) for each in it.files()] == [
        (GetTimerCheckPoint, "the timer's check point")
    ]
    assert all(list(each.absent) == [1] for each in (*it.tables(), *it.files()))


def test_a_table_is_taken_over_once() -> None:
    (table,) = copies().tables()
    body = TimerMetricTable(
        data_version=DataVersion(timestamp=5, counter=3), timing_count={"t": TimerMetric(7, 1)}
    )
    assert (table.saved.name, table.saved.body) == ("timermetrics", TimerMetricTable)
    for _ in range(2):
        table.take(body)
        assert table.saved.table.changes == 1
    assert table.saved.table.dump().timing_count["t"].count == 7


@pytest.mark.parametrize("part", ["tables", "files"])
def test_where_the_timer_is_switched_off_there_is_nothing_to_keep(part: str) -> None:
    assert getattr(copies(timer_enabled=False), part)() == ()
