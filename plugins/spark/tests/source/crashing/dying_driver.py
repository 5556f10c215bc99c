"""A program with a streaming query that is killed, driver and JVM, at a chosen place; or whose tasks fail.

    python dying_driver.py '{"out": …, "checkpoint": …, "log": …, "kill": "after latestOffset 2", …}'

It is run by the tests of crashes. Each call of Spark to the source is written down before and after it, and
the place to die is one of those lines: `after latestOffset 2` is the second one of this run. The source
itself knows nothing of all this: a subclass that is registered under another name does it.

Tests that have a Spark running import it, too, and let a query of that Spark lose, at such a place, the
process that plans or reads for it: what is on disk then is the same, and no Spark needs to start for it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from mqframe_spark import local_session
from mqframe_spark.source.stream import StreamReader
from pyspark import TaskContext, cloudpickle
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType
from pyspark_mqframe import DefaultSource

ROWS_BETWEEN_KILLS = 2


class Places:
    """Writes places down as they are passed, and ends the victims at the one that was chosen.

    The process that is there dies last, with no more chance to say anything than the others.
    """

    def __init__(self, log: str, kill: str, victims: list[int]) -> None:
        self._log = log
        self._kill = kill
        self._victims = victims
        self._passed: dict[str, int] = {}

    def passed(self, place: str) -> None:
        number = self._passed[place] = self._passed.get(place, 0) + 1
        line = f"{place} {number}"
        with open(self._log, "a") as log:
            log.write(f"{line}\n")
        if line == self._kill:
            for pid in self._victims:
                os.kill(pid, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)


class DyingReader(StreamReader):
    """Passes a place before and after each call."""

    def __init__(self, source: DyingSource, schema: StructType) -> None:
        super().__init__(source._settings(schema), schema)
        self._places = source.places
        self._failing = source.failing

    def initialOffset(self) -> dict[str, Any]:
        return self._around("initialOffset", super().initialOffset)

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        call = super().latestOffset
        return self._around("latestOffset", lambda: call(start, limit))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        call = super().partitions
        return self._around("partitions", lambda: call(start, end))

    def commit(self, end: dict[str, Any]) -> None:
        call = super().commit
        self._around("commit", lambda: call(end))

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._around("reportLatestOffset", super().reportLatestOffset)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        attempt = 0 if context is None else context.attemptNumber()
        self._places.passed("before read")
        for batch in super().read(partition):
            for at in range(0, batch.num_rows, ROWS_BETWEEN_KILLS):
                yield batch.slice(at, ROWS_BETWEEN_KILLS)
                self._places.passed("within read")
                if self._failing and attempt == 0:
                    raise RuntimeError("this attempt fails")
                if self._failing and attempt == 1:
                    self._places.passed("worker dies")
                    os.kill(os.getpid(), signal.SIGKILL)
        self._places.passed("after read")

    def _around(self, name: str, call: Any) -> Any:
        self._places.passed(f"before {name}")
        result = call()
        self._places.passed(f"after {name}")
        return result


class DyingSource(DefaultSource):
    """`format("dying")`: the source, watched."""

    places: Places
    failing: bool

    @classmethod
    def name(cls) -> str:
        return "dying"

    def streamReader(self, schema: StructType) -> StreamReader:
        return DyingReader(self, schema)


def start(spark: Any, given: dict[str, Any], victims: list[int]) -> Any:
    """The query over what the topic holds now; `victims` die with the process that is at the place."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # with what its classes are told here
    DyingSource.places = Places(given["log"], given["kill"], victims)
    DyingSource.failing = given["failing"]
    spark.dataSource.register(DyingSource)
    return (
        spark.readStream.format("dying")
        .options(**given["options"])
        .load()
        .writeStream.format("parquet")
        .option("path", given["out"])
        .option("checkpointLocation", given["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )


def main(given: dict[str, Any]) -> None:
    """Read what the topic holds; exit code 0 when the query came to its end."""
    spark = local_session(
        "dying",
        master="local[2,3]",
        log_level="OFF",
        **{"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
    )
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    start(spark, given, [os.getpid(), jvm]).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    Path(json.loads(sys.argv[1])["log"]).touch()
    main(json.loads(sys.argv[1]))
