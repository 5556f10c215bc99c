"""Waits for a stream: tells its progress, and stops it in good order when it is asked to."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

import attrs

from mqframe_spark.jobs.progress import BatchProgress, read_progress, rows_of

POLL_SECONDS: Final = 1
Tell = Callable[[BatchProgress], None]


class Query(Protocol):
    """What is used of Spark's StreamingQuery."""

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802 - Spark's name
        """The newest reports, the oldest first."""
        ...

    @property
    def status(self) -> Mapping[str, Any]:
        """Whether a micro-batch is under way."""
        ...

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's name
        """Whether it ended within `timeout` (s). Raises the error that ended it."""
        ...

    def stop(self) -> None:
        """End it now."""
        ...


class StopRequest:
    """How often somebody asked to stop: once, when the micro-batch under way is done; twice, at once."""

    def __init__(self) -> None:
        self.count = 0
        self.by_interrupt = False

    def ask(self, number: int = 0, _frame: object = None) -> None:
        """Ask; may be called by a signal handler."""
        self.count += 1
        self.by_interrupt = self.by_interrupt or number == signal.SIGINT

    @contextmanager
    def on_signals(self) -> Iterator[StopRequest]:
        """Within it, SIGINT and SIGTERM ask. For the main thread, after Spark was started."""
        numbers = (signal.SIGTERM, signal.SIGINT)
        before = [signal.signal(number, self.ask) for number in numbers]
        try:
            yield self
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)


@attrs.define
class Totals:
    """What a stream did in this run. `backlog`: messages left, `None` where nothing says; `stopped`: whether
    it was asked to stop before it was through."""

    batches: int = 0
    rows: int = 0
    seconds: float = 0.0
    backlog: int | None = None
    stopped: bool = False

    def add(self, progress: BatchProgress) -> None:
        """Count one more micro-batch."""
        self.batches += 1
        self.rows += progress.rows
        self.seconds = round(self.seconds + progress.seconds, 3)
        self.backlog = progress.backlog

    def row(self) -> dict[str, Any]:
        """For people and programs."""
        rate = round(self.rows / self.seconds, 1) if self.seconds else 0.0
        return {
            "rows": self.rows,
            "batches": self.batches,
            "seconds": self.seconds,
            "rows_per_second": rate,
            "backlog": self.backlog,
            "stopped": self.stopped,
        }


def follow(query: Query, tell: Tell | None = None, stop: StopRequest | None = None) -> Totals:
    """Wait until `query` ends; tell of each micro-batch with rows. Raises what ended the query.

    `stop`: asked to, the micro-batch under way is waited for first, so that nothing of it is done again;
    the next one may have begun by then and is done again when the query is started anew.
    """
    totals = Totals()
    seen = -1
    asked_at: int | None = None
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(POLL_SECONDS))
        for report in query.recentProgress:
            table: Mapping[str, Any] = json.loads(report.json)
            if table["batchId"] <= seen or not rows_of(table):
                continue
            progress = read_progress(table)
            seen = progress.batch
            totals.add(progress)
            if tell is not None:
                tell(progress)
        if stop is not None and stop.count and not ended:
            asked_at = totals.batches if asked_at is None else asked_at
            idle = not query.status.get("isTriggerActive")
            if idle or totals.batches > asked_at or stop.count > 1:
                query.stop()
                totals.stopped = True
                return totals
    return totals
