"""How many messages of each topic wait for a given time: the table behind the file timermetrics.

Source: TimerMetrics.java.
"""

from __future__ import annotations

from mqframe.core.clock import Clock
from mqframe.core.wire.bodies import Body, DataVersion


class TimerMetric(Body):
    """How many messages of a topic wait for a given time; `time_stamp`: of the last change, ms."""

    count: int = 0
    time_stamp: int = 0


class TimerMetricTable(Body):
    """`config/timermetrics`: waiting messages by topic."""

    data_version: DataVersion | None = None
    timing_count: dict[str, TimerMetric] = {}


class TimerMetrics:
    """Counts by topic. `changes` grows with every change; the file follows after a while."""

    __slots__ = ("_clock", "_counts", "changes", "version")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, TimerMetric] = {}
        self.version = DataVersion(timestamp=clock.now_ms())
        self.changes = 0

    def count(self, topic: str) -> int:
        """How many messages of `topic` wait."""
        metric = self._counts.get(topic)
        return 0 if metric is None else metric.count

    def add(self, topic: str, change: int) -> None:
        """`change` more messages of `topic` wait."""
        self._counts[topic] = TimerMetric(self.count(topic) + change, self._clock.now_ms())
        self.changes += 1

    def load(self, table: TimerMetricTable) -> None:
        """Take over what was saved."""
        self._counts = dict(table.timing_count)
        self.version = table.data_version or self.version

    def dump(self) -> TimerMetricTable:
        """Everything that is saved."""
        if self.changes:
            self.version = self.version.next(self._clock.now_ms())
        return TimerMetricTable(data_version=self.version, timing_count=dict(self._counts))
