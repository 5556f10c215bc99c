"""Bodies that tell of messages that wait."""

from __future__ import annotations

from mqframe.core.wire.bodies import Body, DataVersion


class TimerMetric(Body):
    """How many messages of a topic wait for a given time; `time_stamp`: of the last change, ms."""

    count: int = 0
    time_stamp: int = 0


class TimerMetricTable(Body):
    """`config/timermetrics`: waiting messages by topic."""

    data_version: DataVersion | None = None
    timing_count: dict[str, TimerMetric] = {}
