"""Writing with `format("mqframe")`, in batch and as a stream: rows become messages, at least once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import attrs
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from mqframe.core.errors import FixError, RetryError
from mqframe_spark.retrying import retrying
from mqframe_spark.sink.delivery import GROUP, find_queues, send_rows, writable_queues
from mqframe_spark.sink.frame_columns import check_columns
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.task_facts import BATCH_ID, QUERY_ID, partition, told
from mqframe_spark.wire import connect
from mqframe_spark.worker_socket import InTasks


@attrs.frozen
class TaskSent(WriterCommitMessage):
    """What a task tells the driver: how many messages brokers have confirmed."""

    count: int


def check_target(options: SinkOptions, schema: StructType, *, patient: bool) -> None:
    """Raise `SettingError` or `FixError` for what can be known to fail before anything is sent.

    `patient`: give brokers time to start again, and leave it to the tasks when no name server answers.
    """
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


class BatchWriter(InTasks, DataSourceArrowWriter):
    """Sends each partition in its task. A task that failed leaves what it has sent: rows may come twice."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options
        self._write_id = uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs in a task; returns when brokers have confirmed all of its messages."""
        number = partition()
        idempotence = f"{self._write_id}-{number}-" if self._options.idempotence_keys else ""
        where = f"partition {number}"
        return TaskSent(send_rows(self._options, iterator, idempotence=idempotence, where=where))


class StreamWriter(InTasks, DataSourceStreamArrowWriter):
    """As `BatchWriter`, for each micro-batch."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs in a task; returns when brokers have confirmed all of its messages."""
        number = partition()
        idempotence = ""
        if self._options.idempotence_keys:
            query, batch = (told(name, "idempotenceKeys") for name in (QUERY_ID, BATCH_ID))
            idempotence = f"{query}-{batch}-{number}-"
        where = f"partition {number}"
        return TaskSent(send_rows(self._options, iterator, idempotence=idempotence, where=where))
