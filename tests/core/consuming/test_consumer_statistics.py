"""What a consumer counts."""

from __future__ import annotations

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.consuming.running_info import ConsumeStatus


def minute(statistics: ConsumerStatistics, clock: ManualClock) -> None:
    for _ in range(6):
        clock.advance(10)
        statistics.sample()


def test_rates_are_those_of_the_last_minute() -> None:
    clock = ManualClock()
    statistics = ConsumerStatistics(clock)
    statistics.consumed("t", 30, 0, 0.010)
    statistics.consumed("t", 0, 6, 0.020)
    statistics.pulled("t", 32, 0.004)
    statistics.pulled("t", 28, 0.002)
    clock.advance(30)
    status = statistics.status("t")
    assert (status.consume_ok_tps, status.consume_failed_tps, status.pull_tps) == (1.0, 0.2, 2.0)
    assert (status.consume_rt, status.pull_rt, status.consume_failed_msgs) == (15.0, 3.0, 6)


def test_an_idle_consumer_shows_its_last_hours_time_and_failures() -> None:
    clock = ManualClock()
    statistics = ConsumerStatistics(clock)
    statistics.consumed("t", 1, 1, 0.008)
    minute(statistics, clock)
    minute(statistics, clock)
    status = statistics.status("t")
    assert (status.consume_ok_tps, status.consume_failed_tps) == (0.0, 0.0)
    assert (status.consume_rt, status.consume_failed_msgs) == (pytest.approx(8.0, abs=0.01), 1)


def test_an_unknown_topic_has_no_rates() -> None:
    assert ConsumerStatistics(ManualClock()).status("t") == ConsumeStatus()


def test_topics_that_are_given_up_are_forgotten() -> None:
    statistics = ConsumerStatistics(ManualClock())
    for number in range(100):
        statistics.consumed(f"t{number}", 1, 0, 0.001)
    statistics.keep({"t3"})
    assert statistics.topics == ["t3"]
    assert statistics.status("t3") != ConsumeStatus()
