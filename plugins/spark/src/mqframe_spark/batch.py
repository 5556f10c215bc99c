"""`spark.read.format("mqframe")`: what the topic holds at the moment of planning."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mqframe.core.errors import SettingError
from mqframe_spark.options import LATEST, SourceOptions
from mqframe_spark.planning import Planner
from mqframe_spark.positions import spans
from mqframe_spark.reading import QueueSpan, read_partition
from mqframe_spark.schema import check_schema


class BatchReader(DataSourceReader):
    """One partition for each queue that holds something.

    Raises `SettingError` for options that only a stream has; while planning, `FixError` for a topic that does
    not exist and `RouteError` when no name server answers.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        if options.starting_offsets == LATEST:
            raise SettingError(
                "option startingOffsets = 'latest': a batch would be empty; it must be earliest"
            )
        if options.max_offsets_per_trigger is not None:
            raise SettingError(
                f"option maxOffsetsPerTrigger = {options.max_offsets_per_trigger}: only streams have triggers"
            )
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Exact offsets of every queue, asked now."""
        planner = Planner(self._options)
        try:
            route = planner.route()
            start = planner.beginnings(route.read_queues())
            # A queue that retention empties between the two questions begins after its end: nothing to read.
            end = {queue: max(head, start[queue]) for queue, head in planner.heads(route).items()}
            return [QueueSpan(span) for span in spans(start, end)]
        finally:
            planner.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        return read_partition(self._options, partition)
