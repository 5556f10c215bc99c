"""A stream from topic to topic, with a Spark that notes what it is told."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_spark.jobs.transferring import transfer
from mqframe_spark.jobs.watching import Totals
from pyspark.errors import AnalysisException

from mqframe.core.errors import FixError

READING = {"nameserver": "n:1", "topic": "t"}
WRITING = {"nameserver": "n:1", "topic": "u", "exactlyOnce": "true"}
REPORT = {"batchId": 0, "numInputRows": 5, "batchDuration": 500, "sources": []}


class Query:
    """Has done one micro-batch, and ends; or raises `problem`, and goes on."""

    def __init__(self, problem: Exception | None = None) -> None:
        self._problem = problem
        self.isActive = problem is not None
        self.recentProgress = [SimpleNamespace(json=json.dumps(REPORT))]
        self.stopped = 0

    def awaitTermination(self, timeout: int | None = None) -> bool:
        if self._problem is not None:
            raise self._problem
        return True

    def stop(self) -> None:
        self.stopped += 1


class Spark:
    """Reader, frame and writer in one: `told` is all that is said to them, in order."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.told: list[Any] = []

    @property
    def readStream(self) -> "Spark":
        return self._tell("read")

    @property
    def writeStream(self) -> "Spark":
        return self._tell("write")

    def format(self, name: str) -> "Spark":
        return self._tell(name)

    def options(self, **given: str) -> "Spark":
        return self._tell(given)

    def option(self, name: str, value: str) -> "Spark":
        return self._tell((name, value))

    def trigger(self, **given: Any) -> "Spark":
        return self._tell(given)

    def load(self) -> "Spark":
        return self._tell("load")

    def start(self) -> Query:
        self._tell("start")
        return self.query

    def made(self, frame: "Spark") -> "Spark":
        assert frame is self
        return self._tell("made")

    def _tell(self, what: Any) -> "Spark":
        self.told.append(what)
        return self


def test_what_is_there_now_is_read_made_over_and_written() -> None:
    spark, rows = Spark(Query()), []
    totals = transfer(spark, READING, spark.made, WRITING, "/cp", tell=lambda each: rows.append(each.rows))
    assert spark.told == [
        "read", "mqframe", READING, "load", "made",
        "write", "mqframe", WRITING, ("checkpointLocation", "/cp"), {"availableNow": True}, "start",
    ]  # fmt: skip
    assert totals == Totals(batches=1, rows=5, seconds=0.5)
    assert rows == [5]
    assert spark.query.stopped == 0


def test_a_stream_that_is_given_up_is_stopped() -> None:
    spark = Spark(Query(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        transfer(spark, READING, spark.made, WRITING, "/cp")
    assert spark.query.stopped == 1


def test_sparks_errors_are_one_line_for_who_can_mend_them() -> None:
    def refuse(frame: Any) -> Any:
        raise AnalysisException("`colour` cannot be resolved\n\tat org.apache.spark.Here")

    spark = Spark(Query())
    with pytest.raises(FixError, match=r"^`colour` cannot be resolved$"):
        transfer(spark, READING, refuse, WRITING, "/cp")
    assert "start" not in spark.told
