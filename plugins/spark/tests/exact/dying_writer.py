"""A program with a stream from one topic to another that is killed, driver and JVM, at a chosen place.

    python dying_writer.py '{"kill": ["before record", 1], "read": {…}, "write": {…}, "failing": false, …}'

It is run by the tests of crashes. The place is one of the commit of a micro-batch, `before record`, `after
record` or `between ends`, with the number of the batch. The sink itself knows nothing of all this: a subclass
that is registered under another name does it. With `failing` the first attempt of each task fails after it
has stored its messages, and the second one dies.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from mqframe_spark import local_session
from mqframe_spark.exact.commit_record import CommitRecord
from mqframe_spark.exact.rules import SinkRecord
from mqframe_spark.exact.writers import ExactStreamWriter
from mqframe_spark.sink.options import parse_sink_options
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType
from pyspark_mqframe import DefaultSource

from mqframe import BatchTransactionProducer


class DyingWriter(ExactStreamWriter):
    """Fails in its tasks."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        message = super().write(iterator)
        attempt = TaskContext.get().attemptNumber()
        if attempt == 0:
            raise RuntimeError("this attempt fails")
        if attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return message


class DyingSource(DefaultSource):
    """`format("dying")`: the sink, watched."""

    kill: tuple[str, int]
    failing: bool
    victims: list[int]

    @classmethod
    def name(cls) -> str:
        return "dying"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        self._watch()
        kind = DyingWriter if self.failing else ExactStreamWriter
        return kind(parse_sink_options(self.options), schema)

    def _watch(self) -> None:
        """In this process, which Spark made for one commit, or for one plan."""
        place, batch = self.kill
        victims = self.victims
        publish, end = CommitRecord.publish, BatchTransactionProducer.end

        def die() -> None:
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

        def publishing(record: Any, version: SinkRecord) -> None:
            under_way = [opened.batch for opened in version.open if not opened.left]
            if under_way == [batch] and place == "before record":
                die()
            publish(record, version)
            if under_way == [batch] and place == "after record":
                die()
            if under_way == [batch] and place == "between ends":
                BatchTransactionProducer.end = ending

        def ending(producer: Any, halves: Iterable[Any], outcome: Any, **more: Any) -> Any:
            halves = list(halves)
            end(producer, halves[: len(halves) // 2], outcome, **more)
            die()

        CommitRecord.publish = publishing


def main(given: dict[str, Any]) -> None:
    """Copy what the topic holds; exit code 0 when the query came to its end."""
    spark = local_session(
        "dying",
        master="local[2,4]",
        log_level="OFF",
        **{"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
    )
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    DyingSource.kill = tuple(given["kill"])
    DyingSource.failing = given["failing"]
    DyingSource.victims = [os.getpid(), jvm]
    spark.dataSource.register(DyingSource)
    query = (
        spark.readStream.format("mqframe")
        .options(**given["read"])
        .load()
        .select("body", "tags")
        .writeStream.format("dying")
        .options(**given["write"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
