"""`spark.read.format("mqframe")`: what the topics hold at the moment of planning."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import attrs
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mqframe_spark.records.schema import check_schema
from mqframe_spark.source.options import STREAM_ONLY, SourceOptions
from mqframe_spark.source.planning import Narrow, Planner
from mqframe_spark.source.tasks import QueueSpan, open_origin, read_partition
from mqframe_spark.worker_socket import InTasks

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter


class BatchReader(InTasks, DataSourceReader):
    """Exact offsets of every queue, asked when the query is planned.

    Raises `SettingError` for options that only a stream has; while planning, `FixError` for a topic that does
    not exist and `RouteError` when no name server answers.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema, options.columns)
        options.refuse(STREAM_ONLY, "only streams have it")
        self._options = options
        self._narrow: Narrow | None = None

    def partitions(self) -> list[InputPartition]:
        """One for each queue that holds something, several for a long one."""
        planner = Planner(self._options, open_origin(self._options))
        try:
            return [QueueSpan(span) for span in planner.batch(self._narrow)]
        finally:
            planner.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        return read_partition(self._options, partition)


class FilteredBatchReader(BatchReader):
    """The same for those who are handed the filters of a query: Spark's worker that pushes them down.

    Anywhere else a reader must not have the method, or Spark refuses it unless its setting
    `spark.sql.python.filterPushdown.enabled` is on.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 - Spark's name
        """Read less, and have Spark check all `filters` again."""
        from mqframe_spark.source.narrowing import narrowing_of

        narrowing = narrowing_of(filters)
        self._narrow = narrowing.within
        if self._options.tags == "*" and not self._options.sql:
            self._options = attrs.evolve(cast("Any", self._options), tags=narrowing.tags())
        return iter(filters)


def pushes_filters() -> bool:
    """Whether this process is Spark's worker that pushes filters down."""
    name = "pyspark.sql.worker.data_source_pushdown_filters"
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return name in sys.modules or (spec is not None and spec.name == name)
