"""How far a stream is: Spark's report of one micro-batch, as few numbers and as one line. Plain rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from mqframe_spark.lag import offsets

WRITTEN: Final = "mqframe_written"
"""The name under which a job has Spark count the rows that it writes."""


@attrs.frozen
class BatchProgress:
    """One micro-batch. `rows`: messages read, or written where a job counts them; `seconds`: how long it
    took; `backlog`: messages that waited behind it when it was planned, `None` where the source does not say.
    """

    batch: int
    rows: int
    rows_per_second: float
    seconds: float
    backlog: int | None

    def line(self) -> str:
        """For people."""
        waiting = "" if self.backlog is None else f", {self.backlog:,} waiting"
        return (
            f"batch {self.batch}: {self.rows:,} rows in {self.seconds:.1f} s, "
            f"{self.rows_per_second:,.0f} rows/s{waiting}"
        )

    def row(self) -> dict[str, Any]:
        """For programs."""
        return {
            "batch": self.batch,
            "rows": self.rows,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
            "backlog": self.backlog,
        }


def read_progress(report: Mapping[str, Any]) -> BatchProgress:
    """What Spark's report says, as `json.loads(progress.json)` gives it."""
    milliseconds = report.get("batchDuration") or report.get("durationMs", {}).get("triggerExecution") or 0
    rows = _written(report)
    seconds = milliseconds / 1000
    return BatchProgress(
        batch=int(report["batchId"]),
        rows=rows,
        rows_per_second=round(rows / seconds, 1) if seconds else 0.0,
        seconds=seconds,
        backlog=_sum(backlog_of(source) for source in report.get("sources", ())),
    )


def rows_of(report: Mapping[str, Any]) -> int:
    """How many rows were read. Reports through Spark Connect say it by source only."""
    if "numInputRows" in report:
        return int(report["numInputRows"])
    return sum(int(source.get("numInputRows") or 0) for source in report.get("sources", ()))


def _written(report: Mapping[str, Any]) -> int:
    counted = report.get("observedMetrics", {}).get(WRITTEN)
    return rows_of(report) if counted is None else int(counted["rows"])


def backlog_of(source: Mapping[str, Any]) -> int | None:
    """Messages between where a micro-batch of `source` ended and where its queues did; `None`: not told."""
    end, latest = offsets(source.get("endOffset")), offsets(source.get("latestOffset"))
    if latest is None:
        return None
    read = end or {}
    return sum(max(0, head - read.get(queue, head)) for queue, head in latest.items())


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
