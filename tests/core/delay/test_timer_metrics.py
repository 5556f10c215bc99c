from mqframe.core.delay.timer_metrics import TimerMetrics, TimerMetricTable
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.testing.manual_clock import ManualClock


def test_counts_are_kept_by_topic():
    clock = ManualClock(1000)
    metrics = TimerMetrics(clock)
    assert (metrics.count("a"), metrics.changes) == (0, 0)
    metrics.add("a", 1)
    metrics.add("a", 1)
    clock.advance(1)
    metrics.add("b", 1)
    metrics.add("a", -1)
    saved = dumps(metrics.dump())
    assert b'"timingCount":{"a":{"count":1,"timeStamp":2000},"b":{"count":1,"timeStamp":2000}}' in saved
    again = TimerMetrics(clock)
    again.load(decode(saved, TimerMetricTable))
    assert (again.count("a"), again.count("b"), again.version) == (1, 1, metrics.version)
