"""What a task does: reads [start, end) of one queue, all of it and nothing twice, as Arrow batches."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from mqframe.core.errors import FixError, RouteError
from mqframe_spark.source.planning import report
from mqframe_spark.source.positions import DataLoss, Span, lost

if TYPE_CHECKING:
    from mqframe_spark.source.options import SourceOptions
    from mqframe_spark.source.origin import Origin


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
    if options.path:
        from mqframe_spark.source.file_origin import FileOrigin

        return FileOrigin(options)
    from mqframe_spark.source.broker_origin import BrokerOrigin

    return BrokerOrigin(options)


def read_partition(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The batches of `partition`. One that is no `QueueSpan` is Spark's stand-in for "nothing to read".

    What cannot be read any more is a `DataLoss`, or told where that is no failure: else a planned batch of a
    stream could never be finished.
    """
    if not isinstance(partition, QueueSpan):
        return
    try:
        yield from _batches(options, partition.span)
    except DataLoss as problem:
        if options.fail_on_data_loss:
            raise
        report(options, str(problem))
    _settle()


def _batches(options: SourceOptions, span: Span) -> Iterator[pa.RecordBatch]:
    if options.path:
        from mqframe_spark.source.file_reading import FileSpanReader

        yield from FileSpanReader(options, span).batches()
    else:
        from mqframe_spark.source.broker_reading import BrokerSpanReader
        from mqframe_spark.source.deletions import is_deleted
        from mqframe_spark.wire import connect

        wire = connect(options.nameserver, options.group, options.access)
        try:
            yield from BrokerSpanReader(wire, options, span).batches()
        except (FixError, RouteError) as problem:
            if isinstance(problem, DataLoss) or not is_deleted(wire, span.queue):
                raise
            what = f"the topic is gone from its broker ({problem})"
            raise DataLoss(lost(span.queue, span.start, what)) from problem
        finally:
            wire.close()


@cache
def _settle() -> None:
    """Once in each worker, after its first task: keep what is imported out of the garbage collector's sight.

    Spark's daemon collects after every task, and would walk through all modules each time: that took longer
    than reading fifty thousand messages.
    """
    gc.collect()
    gc.freeze()
