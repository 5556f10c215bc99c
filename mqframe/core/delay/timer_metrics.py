"""How many messages of each topic wait for a given time: the table behind the file timermetrics.

Source: TimerMetrics.java.
"""

from __future__ import annotations

from mqframe.core.bodies import DataVersion
from mqframe.core.clock import Clock
from mqframe.core.data_version import next_version
from mqframe.core.delay_tables import TimerMetric, TimerMetricTable


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
            self.version = next_version(self.version, self._clock.now_ms())
        return TimerMetricTable(data_version=self.version, timing_count=dict(self._counts))
