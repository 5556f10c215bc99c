from mqframe.core.delay.timer_metrics import TimerMetrics, TimerMetricTable
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.testing.manual_clock import ManualClock


def test_what_monitoring_is_shown_has_the_labels_that_are_asked_for():
    metrics = TimerMetrics(ManualClock(1000))
    metrics.add("a", 2)
    metrics.taken_in("a", 90.5)
    metrics.taken_in("a", -3)
    metrics.delivered["a"] += 1
    waiting, taken, given, delays = metrics.families(("medium",), ("disk",))
    assert waiting.labels == taken.labels == given.labels == delays.labels == ("medium", "topic")
    assert [family.series for family in (waiting, taken, given)] == [
        [(("disk", "a"), 2)],
        [(("disk", "a"), 2)],
        [(("disk", "a"), 1)],
    ]
    ((labels, histogram),) = delays.series
    assert (labels, histogram.counts, histogram.sum) == (("disk", "a"), [1, 1, 0, 0, 0, 0, 0], 90)


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
