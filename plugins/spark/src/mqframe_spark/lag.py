"""How far a streaming query is behind its topics, queue by queue, from Spark's reports of its progress.

Spark takes no metrics from Python sources; it does report where a micro-batch ended and where the queues did.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from mqframe.core.messages.message import MessageQueue


@attrs.frozen
class Lag:
    """After one micro-batch. `query`: the name of the query, its id where it has none; `batch`: number of the
    micro-batch; `messages`: by queue, how many waited behind it when it was planned; `rows_per_second`: how
    many were processed."""

    query: str
    batch: int
    messages: Mapping[MessageQueue, int]
    rows_per_second: float

    @property
    def total(self) -> int:
        """Of all queues."""
        return sum(self.messages.values())

    def __str__(self) -> str:
        """For people: the query, its micro-batch, what waits in each topic, and how fast it goes."""
        waiting: Counter[str] = Counter()
        for queue, count in self.messages.items():
            waiting[queue.topic] += count
        topics = ", ".join(f"{topic}: {count}" for topic, count in sorted(waiting.items()))
        rate = f"{self.rows_per_second:.0f} rows/s"
        return f"{self.query}, batch {self.batch}: {self.total} messages wait ({topics}), {rate}"


class LagListener(StreamingQueryListener):
    """Calls `tell` with the lag of each micro-batch of queries that read topics.

        spark.streams.addListener(LagListener(lambda lag: print(lag)))

    `tell` runs in a thread of Spark's, between micro-batches: it should not take long. Queries over other
    sources are passed over. Through Spark Connect, it is the client where `tell` runs.
    """

    def __init__(self, tell: Callable[[Lag], None]) -> None:
        self._tell = tell

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing to tell yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """A micro-batch is done."""
        lag = lag_of(json.loads(event.progress.json))
        if lag is not None:
            self._tell(lag)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing changed."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing to tell any more."""


def lag_of(report: Mapping[str, Any]) -> Lag | None:
    """What Spark's report says, as `json.loads(progress.json)` gives it; `None` without a topic in it."""
    waiting: dict[MessageQueue, int] = {}
    for source in report.get("sources", ()):
        latest = offsets(source.get("latestOffset"))
        read = offsets(source.get("endOffset")) or {}
        for (topic, name), head in (latest or {}).items():
            broker, _, number = name.rpartition("/")
            if broker and number.isdecimal():
                queue = MessageQueue(topic, broker, int(number))
                waiting[queue] = max(0, head - read.get((topic, name), head))
    if not waiting:
        return None
    return Lag(
        query=report.get("name") or str(report["id"]),
        batch=int(report["batchId"]),
        messages=waiting,
        rows_per_second=_rate(source.get("processedRowsPerSecond") for source in report["sources"]),
    )


def offsets(value: Any) -> dict[tuple[str, str], int] | None:
    """{(topic, "broker/queue"): offset} of an offset in a report; `None` when it is of another source."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, Mapping):
        return None
    found: dict[tuple[str, str], int] = {}
    for topic, queues in value.items():
        for queue, offset in queues.items() if isinstance(queues, Mapping) else ():
            if not isinstance(offset, int):
                return None
            found[topic, queue] = offset
    return found if found or not value else None


def _rate(values: Iterable[Any]) -> float:
    return sum(float(value or 0) for value in values)
