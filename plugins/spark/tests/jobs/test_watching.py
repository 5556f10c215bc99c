"""Waiting for a stream, with one that is scripted."""

import json
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_spark.jobs.watching import StopRequest, Totals, follow


def report(batch: int, rows: int, waiting: int = 0) -> Any:
    table = {
        "batchId": batch,
        "numInputRows": rows,
        "batchDuration": 500,
        "sources": [{"endOffset": {"t": {"a/0": 0}}, "latestOffset": {"t": {"a/0": waiting}}}],
    }
    return SimpleNamespace(json=json.dumps(table))


class ScriptedQuery:
    """Each wait takes the next of `steps`: reports that appear, and whether the query has ended by then.

    A callable among the reports is called.
    """

    def __init__(self, *steps: tuple[list[Any], bool], problem: Exception | None = None) -> None:
        self._steps = list(steps)
        self._problem = problem
        self.recentProgress: list[Any] = []
        self.active = True
        self.stopped = 0

    @property
    def status(self) -> dict[str, Any]:
        return {"isTriggerActive": self.active}

    def awaitTermination(self, timeout: int | None = None) -> bool:
        assert timeout, "signals could not be heeded"
        if not self._steps:
            assert self._problem is not None, "waited for a query that has ended, or for ever"
            raise self._problem
        found, ended = self._steps.pop(0)
        for each in found:
            if callable(each):
                each()
            else:
                self.recentProgress.append(each)
        return ended

    def stop(self) -> None:
        self.stopped += 1


def test_every_batch_with_rows_is_told_once() -> None:
    query = ScriptedQuery(
        ([report(0, 5, 12)], False), ([], False), ([report(1, 7, 5), report(2, 0), report(2, 5)], True)
    )
    told: list[int] = []
    totals = follow(query, lambda progress: told.append(progress.batch))
    assert told == [0, 1, 2]
    assert totals == Totals(batches=3, rows=17, seconds=1.5, backlog=0)
    assert totals.row() == {
        "rows": 17,
        "batches": 3,
        "seconds": 1.5,
        "rows_per_second": 11.3,
        "backlog": 0,
        "stopped": False,
    }
    assert query.stopped == 0


def test_what_ended_the_query_is_raised() -> None:
    with pytest.raises(RuntimeError, match="gone"):
        follow(ScriptedQuery(([report(0, 5)], False), problem=RuntimeError("gone")))


def test_asked_to_stop_it_waits_for_the_batch_under_way() -> None:
    stop = StopRequest()
    query = ScriptedQuery(([report(0, 5)], False), ([stop.ask], False), ([], False), ([report(1, 4)], False))
    totals = follow(query, stop=stop)
    assert (totals.rows, totals.stopped, query.stopped) == (9, True, 1)


def test_asked_to_stop_between_batches_it_stops_at_once() -> None:
    stop = StopRequest()
    query = ScriptedQuery(([report(0, 5), stop.ask], False))
    query.active = False
    totals = follow(query, stop=stop)
    assert (totals.rows, totals.stopped, query.stopped) == (5, True, 1)


def test_asked_twice_it_does_not_wait() -> None:
    stop = StopRequest()
    query = ScriptedQuery(([stop.ask], False), ([stop.ask], False))
    assert follow(query, stop=stop).stopped
    assert query.stopped == 1


def test_a_query_that_ends_by_itself_was_not_stopped() -> None:
    stop = StopRequest()
    totals = follow(ScriptedQuery(([report(0, 5), stop.ask], True)), stop=stop)
    assert not totals.stopped


@pytest.mark.parametrize(("number", "interrupt"), [(signal.SIGTERM, False), (signal.SIGINT, True)])
def test_signals_ask_and_their_handlers_come_back(number, interrupt) -> None:
    before = signal.getsignal(number)
    stop = StopRequest()
    with stop.on_signals():
        os.kill(os.getpid(), number)
        assert (stop.count, stop.by_interrupt) == (1, interrupt)
    assert signal.getsignal(number) is before
