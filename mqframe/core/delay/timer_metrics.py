"""How many messages of each topic wait for a given time: the table behind the file timermetrics.

Source: TimerMetrics.java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.measuring.family import Family, Kind
from mqframe.core.measuring.histogram import Histogram
from mqframe.core.wire.bodies import Body, DataVersion

_BOUNDS_SECONDS: Final = (60, 600, 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600)
"""Delays that senders asked for, told apart so."""


class TimerMetric(Body):
    """How many messages of a topic wait for a given time; `time_stamp`: of the last change, ms."""

    count: int = 0
    time_stamp: int = 0


class TimerMetricTable(Body):
    """`config/timermetrics`: waiting messages by topic."""

    data_version: DataVersion | None = None
    timing_count: dict[str, TimerMetric] = {}


class TimerMetrics:
    """Counts by topic. `changes` grows with every change; the file follows after a while.

    `delivered`: messages that left the timer since the start, by topic.
    """

    __slots__ = ("_clock", "_counts", "_delays", "changes", "delivered", "version")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, TimerMetric] = {}
        self.version = DataVersion(timestamp=clock.now_ms())
        self.changes = 0
        self.delivered: Counter[str] = Counter()
        self._delays: dict[str, Histogram] = {}

    def count(self, topic: str) -> int:
        """How many messages of `topic` wait."""
        metric = self._counts.get(topic)
        return 0 if metric is None else metric.count

    def add(self, topic: str, change: int) -> None:
        """`change` more messages of `topic` wait."""
        self._counts[topic] = TimerMetric(self.count(topic) + change, self._clock.now_ms())
        self.changes += 1

    def taken_in(self, topic: str, delay_seconds: float) -> None:
        """A message of `topic` was put into the wheel, which asked for this delay."""
        delays = self._delays.get(topic)
        if delays is None:
            delays = self._delays[topic] = Histogram(_BOUNDS_SECONDS)
        delays.add(max(0, int(delay_seconds)))

    def families(self, labels: tuple[str, ...], values: tuple[str, ...]) -> Sequence[Family]:
        """What monitoring is shown, with `labels` of these `values` beside the topic."""
        names = (*labels, "topic")
        waiting = Family("rocketmq_timing_messages", Kind.GAUGE, "Messages that wait for their time.", names)
        taken = Family("rocketmq_timer_enqueue_total", Kind.COUNTER, "Messages taken into the timer.", names)
        given = Family(
            "rocketmq_timer_dequeue_total", Kind.COUNTER, "Messages that the timer delivered.", names
        )
        delays = Family(
            "rocketmq_delay_message_latency_seconds",
            Kind.HISTOGRAM,
            "Delays of messages taken into the timer, from their birth on.",
            names,
        )
        for topic, metric in self._counts.items():
            waiting.add(metric.count, *values, topic)
        for topic, histogram in self._delays.items():
            taken.add(sum(histogram.counts), *values, topic)
            delays.add(histogram, *values, topic)
        for topic, count in self.delivered.items():
            given.add(count, *values, topic)
        return waiting, taken, given, delays

    def load(self, table: TimerMetricTable) -> None:
        """Take over what was saved."""
        self._counts = dict(table.timing_count)
        self.version = table.data_version or self.version

    def dump(self) -> TimerMetricTable:
        """Everything that is saved."""
        if self.changes:
            self.version = self.version.next(self._clock.now_ms())
        return TimerMetricTable(data_version=self.version, timing_count=dict(self._counts))
