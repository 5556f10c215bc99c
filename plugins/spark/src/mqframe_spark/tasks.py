"""What a task does: reads [start, end) of one queue, all of it and nothing twice, as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from mqframe_spark.positions import Span

if TYPE_CHECKING:
    from mqframe_spark.options import SourceOptions
    from mqframe_spark.origin import Origin


class QueueSpan(InputPartition):
    """The work of one task."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self.span = span

    def __repr__(self) -> str:
        queue, start, end = self.span
        return f"QueueSpan({queue.topic}, {queue.broker_name}/{queue.queue_id}, {start}..{end})"


def open_origin(options: SourceOptions) -> Origin:
    """Whatever `options` say that messages come from."""
    if options.stores:
        from mqframe_spark.file_origin import FileOrigin

        return FileOrigin(options)
    from mqframe_spark.broker_origin import BrokerOrigin

    return BrokerOrigin(options)


def read_partition(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The batches of `partition`. One that is no `QueueSpan` is Spark's stand-in for "nothing to read"."""
    if not isinstance(partition, QueueSpan):
        return
    if options.stores:
        from mqframe_spark.file_reading import FileSpanReader

        yield from FileSpanReader(options, partition.span).batches()
    else:
        from mqframe_spark.broker_reading import BrokerSpanReader
        from mqframe_spark.wire import connect

        wire = connect(options.nameserver, options.group, options.access)
        try:
            yield from BrokerSpanReader(wire, options, partition.span).batches()
        finally:
            wire.close()
