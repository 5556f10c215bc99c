import asyncio

from mqframe_delay.rules import timer_metrics
from mqframe_delay.rules.bodies import TimerMetricTable
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.measuring import family
from mqframe.core.wire.loose_json import decode, dumps


def rows(table):
    async def gather():
        return [row async for row in table.rows]

    return asyncio.run(gather())


def test_what_monitoring_is_shown_has_the_labels_that_are_asked_for():
    metrics = TimerMetrics(ManualClock(1000))
    metrics.add("a", 2)
    metrics.taken_in("a", 90.5)
    metrics.taken_in("a", -3)
    metrics.delivered("a")
    waiting, taken, given = metrics.tables(("medium",), ("disk",))
    assert {family.labels for table in (waiting, taken, given) for family in table.families} == {
        ("medium", "topic")
    }
    assert rows(waiting) == [(("disk", "a"), (2,))]
    assert rows(given) == [(("disk", "a"), (1,))]
    ((labels, (count, histogram)),) = rows(taken)
    assert (labels, count) == (("disk", "a"), 2)
    assert (histogram.counts, histogram.sum) == ([1, 1, 0, 0, 0, 0, 0], 90)


def test_topics_beyond_the_limit_count_together(monkeypatch):
    monkeypatch.setattr(family, "KEYS_MAX", 2)
    metrics = TimerMetrics(ManualClock(1000))
    for topic in ("a", "b", "c", "d", "a"):
        metrics.taken_in(topic, 1)
        metrics.delivered(topic)
    _, taken, given = metrics.tables((), ())
    assert rows(given) == [(("a",), (2,)), (("b",), (1,)), (None, (2,))]
    assert [(labels, count) for labels, (count, _) in rows(taken)] == [(("a",), 2), (("b",), 1), (None, 2)]


def test_of_many_topics_those_that_nothing_waits_of_are_forgotten(monkeypatch):
    monkeypatch.setattr(timer_metrics, "KEYS_MAX", 1)
    metrics = TimerMetrics(ManualClock(1000))
    metrics.add("a", 1)
    metrics.add("a", -1)
    assert list(metrics.dump().timing_count) == ["a"]
    metrics.add("b", 1)
    metrics.add("c", 1)
    metrics.add("b", -1)
    assert list(metrics.dump().timing_count) == ["a", "c"]


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
