"""`spark.read.format("mqframe")`: what the topics hold at the moment of planning."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mqframe_spark.records.schema import check_schema
from mqframe_spark.source.options import STREAM_ONLY, SourceOptions
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.tasks import QueueSpan, open_origin, read_partition


class BatchReader(DataSourceReader):
    """Exact offsets of every queue, asked when the query is planned.

    Raises `SettingError` for options that only a stream has; while planning, `FixError` for a topic that does
    not exist and `RouteError` when no name server answers.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema, options.columns)
        options.refuse(STREAM_ONLY, "only streams have it")
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """One for each queue that holds something, several for a long one."""
        planner = Planner(self._options, open_origin(self._options))
        try:
            return [QueueSpan(span) for span in planner.batch()]
        finally:
            planner.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        return read_partition(self._options, partition)
