"""How many messages of each topic wait for a given time: the table behind the file timermetrics.

Source: TimerMetrics.java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.measuring.family import KEYS_MAX, Family, Labels, MetricKind, MetricTable, Row, key_in
from mqframe.core.measuring.histogram import Histogram
from mqframe.core.wire.bodies import DataVersion
from mqframe_delay.rules.bodies import TimerMetric, TimerMetricTable

_BOUNDS_SECONDS: Final = (60, 600, 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600)
"""Delays that senders asked for, told apart so."""


class TimerMetrics:
    """Counts by topic. `changes` grows with every change; the file follows after a while."""

    __slots__ = ("_clock", "_counts", "_delays", "_delivered", "changes", "version")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, TimerMetric] = {}
        self.version = DataVersion(timestamp=clock.now_ms())
        self.changes = 0
        self._delays: dict[Labels | None, Histogram] = {}
        self._delivered: Counter[Labels | None] = Counter()

    def count(self, topic: str) -> int:
        """How many messages of `topic` wait."""
        metric = self._counts.get(topic)
        return 0 if metric is None else metric.count

    def add(self, topic: str, change: int) -> None:
        """`change` more messages of `topic` wait."""
        count = self.count(topic) + change
        self._counts[topic] = TimerMetric(count, self._clock.now_ms())
        if not count and len(self._counts) > KEYS_MAX:
            del self._counts[topic]
        self.changes += 1

    def taken_in(self, topic: str, delay_seconds: float) -> None:
        """A message of `topic` was put into the wheel, which asked for this delay."""
        key = key_in(self._delays, (topic,))
        delays = self._delays.get(key)
        if delays is None:
            delays = self._delays[key] = Histogram(_BOUNDS_SECONDS)
        delays.add(max(0, int(delay_seconds)))

    def delivered(self, topic: str) -> None:
        """A message of `topic` left the timer for its topic."""
        self._delivered[key_in(self._delivered, (topic,))] += 1

    def tables(self, labels: tuple[str, ...], values: Labels) -> Sequence[MetricTable]:
        """What monitoring is shown, with `labels` of these `values` beside the topic."""
        names = (*labels, "topic")
        waiting = Family(
            "rocketmq_timing_messages", MetricKind.GAUGE, "Messages that wait for their time.", names
        )
        taken = Family(
            "rocketmq_timer_enqueue_total", MetricKind.COUNTER, "Messages taken into the timer.", names
        )
        given = Family(
            "rocketmq_timer_dequeue_total", MetricKind.COUNTER, "Messages that the timer delivered.", names
        )
        delays = Family(
            "rocketmq_delay_message_latency_seconds",
            MetricKind.HISTOGRAM,
            "Delays of messages taken into the timer, from their birth on.",
            names,
        )
        return (
            MetricTable((waiting,), self._waiting(values)),
            MetricTable((taken, delays), self._taken(values)),
            MetricTable((given,), self._given(values)),
        )

    async def _waiting(self, values: Labels) -> AsyncIterator[Row]:
        for topic in tuple(self._counts):
            yield (*values, topic), (self.count(topic),)

    async def _taken(self, values: Labels) -> AsyncIterator[Row]:
        for key in tuple(self._delays):
            histogram = self._delays[key]
            yield None if key is None else (*values, *key), (sum(histogram.counts), histogram)

    async def _given(self, values: Labels) -> AsyncIterator[Row]:
        for key in tuple(self._delivered):
            yield None if key is None else (*values, *key), (self._delivered[key],)

    def load(self, table: TimerMetricTable) -> None:
        """Take over what was saved."""
        self._counts = dict(table.timing_count)
        self.version = table.data_version or self.version

    def dump(self) -> TimerMetricTable:
        """Everything that is saved."""
        if self.changes:
            self.version = self.version.next(self._clock.now_ms())
        return TimerMetricTable(data_version=self.version, timing_count=dict(self._counts))
