"""A program with a stream from one topic to another that is killed, driver and JVM, at a chosen place.

    python dying_writer.py '{"kill": ["before record", 1], "read": {…}, "write": {…}, "failing": false, …}'

It is run by the tests of crashes. The place is one of the commit of a micro-batch, `before record`, `after
record` or `between ends`, with the number of the batch. The sink itself knows nothing of all this: a subclass
that is registered under another name does it. With `failing` the first attempt of each task fails after it
has stored its messages, and the second one dies.

Tests that have a Spark running import it, too, and let a query of that Spark lose, at such a place, the
process that commits: what is recorded and what brokers hold then is the same, and no Spark needs to start.
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
from pyspark import TaskContext, cloudpickle
from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType
from pyspark_mqframe import DefaultSource

from mqframe import BatchTransactionProducer


class DyingWriter(ExactStreamWriter):
    """Fails in its tasks, and dies around its commit."""

    kill: tuple[str, int]
    failing: bool
    victims: list[int]

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        message = super().write(iterator)
        attempt = TaskContext.get().attemptNumber()
        if self.failing and attempt == 0:
            raise RuntimeError("this attempt fails")
        if self.failing and attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return message

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        publish, end = CommitRecord.publish, BatchTransactionProducer.end
        place, batch = self.kill

        def publishing(record: Any, version: SinkRecord) -> None:
            under_way = [opened.batch for opened in version.open if not opened.left]
            if under_way == [batch] and place == "before record":
                self._die()
            publish(record, version)
            if under_way == [batch] and place == "after record":
                self._die()
            if under_way == [batch] and place == "between ends":
                BatchTransactionProducer.end = ending

        def ending(producer: Any, halves: Iterable[Any], outcome: Any, **more: Any) -> Any:
            halves = list(halves)
            end(producer, halves[: len(halves) // 2], outcome, **more)
            self._die()

        CommitRecord.publish = publishing
        try:
            super().commit(messages, batchId)
        finally:  # Spark may use this process for another query
            CommitRecord.publish, BatchTransactionProducer.end = publish, end

    def _die(self) -> None:
        """End the victims, and the process that Spark made for this commit."""
        for pid in [*self.victims, os.getpid()]:
            os.kill(pid, signal.SIGKILL)


class DyingSource(DefaultSource):
    """`format("dying")`: the sink, watched."""

    @classmethod
    def name(cls) -> str:
        return "dying"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return DyingWriter(parse_sink_options(self.options), schema)


def start(spark: Any, given: dict[str, Any], victims: list[int]) -> Any:
    """The query that copies what the topic holds now; `victims` die with the process that is at the place."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # with what its classes are told here
    DyingWriter.kill = tuple(given["kill"])
    DyingWriter.failing = given["failing"]
    DyingWriter.victims = victims
    spark.dataSource.register(DyingSource)
    return (
        spark.readStream.format("mqframe")
        .options(**given["read"])
        .load()
        .select("body", "tags")
        .writeStream.format("dying")
        .options(**given["write"])
        .trigger(availableNow=True)
        .start()
    )


def main(given: dict[str, Any]) -> None:
    """Copy what the topic holds; exit code 0 when the query came to its end."""
    spark = local_session(
        "dying",
        master="local[2,4]",
        log_level="OFF",
        **{"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
    )
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    start(spark, given, [os.getpid(), jvm]).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
