"""Writing with `format("mqframe")`, in batch and as a stream: rows become messages, at least once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import attrs
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from mqframe.core.errors import FixError, RetryError, SettingError
from mqframe_spark.delivery import GROUP, find_queues, send_rows, writable_queues
from mqframe_spark.frame_columns import check_columns
from mqframe_spark.retrying import retrying
from mqframe_spark.sink_options import SinkOptions
from mqframe_spark.wire import connect

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"
"""Names under which Spark tells tasks of a stream which query and batch they work for."""


@attrs.frozen
class Sent(WriterCommitMessage):
    """What a task tells the driver: how many messages brokers have confirmed."""

    count: int


def check_target(options: SinkOptions, schema: StructType, *, overwrite: bool, patient: bool) -> None:
    """Raise `SettingError` or `FixError` for what can be known to fail before anything is sent.

    `patient`: give brokers time to start again, and leave it to the tasks when no name server answers.
    """
    if overwrite:
        raise SettingError(
            "topics cannot be overwritten: use mode('append'); of a stream outputMode('append') or ('update')"
        )
    check_columns(schema, options)
    if not options.topic:
        return
    wire = connect(options.nameserver, options.group or GROUP, options.access)
    try:
        if patient:
            find_queues(wire, options.topic)
        else:
            retrying(lambda: writable_queues(wire, options.topic))
    except RetryError as problem:
        if not patient:
            raise
        if isinstance(problem.__cause__, FixError):
            raise problem.__cause__ from None
    finally:
        wire.close()


def batch_writer(options: SinkOptions, schema: StructType, overwrite: bool) -> DataSourceWriter:
    """The writer that `options` ask for."""
    check_target(options, schema, overwrite=overwrite, patient=False)
    if options.exactly_once:
        from mqframe_spark.exact_sink import ExactBatchWriter

        return ExactBatchWriter(options, schema)
    return BatchWriter(options, schema)


def stream_writer(options: SinkOptions, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
    """The writer that `options` ask for; made on the driver for each micro-batch, and for each commit."""
    check_target(options, schema, overwrite=overwrite, patient=True)
    if options.exactly_once:
        from mqframe_spark.exact_sink import ExactStreamWriter

        return ExactStreamWriter(options, schema)
    return StreamWriter(options, schema)


class BatchWriter(DataSourceArrowWriter):
    """Sends each partition in its task. A task that failed leaves what it has sent: rows may come twice."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options
        self._write_id = uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs in a task; returns when brokers have confirmed all of its messages."""
        partition = _partition()
        idempotence = f"{self._write_id}-{partition}-" if self._options.idempotence_keys else ""
        where = f"partition {partition}"
        return Sent(send_rows(self._options, iterator, idempotence=idempotence, where=where))


class StreamWriter(DataSourceStreamArrowWriter):
    """As `BatchWriter`, for each micro-batch."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs in a task; returns when brokers have confirmed all of its messages."""
        partition = _partition()
        idempotence = ""
        if self._options.idempotence_keys:
            idempotence = f"{_told(QUERY_ID)}-{_told(BATCH_ID)}-{partition}-"
        where = f"partition {partition}"
        return Sent(send_rows(self._options, iterator, idempotence=idempotence, where=where))


def _partition() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _told(name: str) -> str:
    context = TaskContext.get()
    value = None if context is None else context.getLocalProperty(name)
    if value is None:
        raise FixError(f"option idempotenceKeys = 'true': Spark does not tell its tasks {name}; leave it out")
    return value
