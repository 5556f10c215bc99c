"""`spark.readStream.format("mqframe")`: micro-batches; their offsets live in Spark's checkpoint only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from mqframe.core.message import MessageQueue
from mqframe_spark.options import SourceOptions
from mqframe_spark.planning import Planner
from mqframe_spark.positions import Positions, from_json, limited, next_positions, spans, to_json
from mqframe_spark.reading import QueueSpan, read_partition
from mqframe_spark.schema import check_schema


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans on the driver, in one process for as long as the query runs; `read` runs in tasks.

    Queues and brokers that appear are taken in, from their beginning; those that vanish keep their offsets.
    `planner` is handed in by tests.
    """

    def __init__(self, options: SourceOptions, schema: StructType, planner: Planner | None = None) -> None:
        check_schema(schema)
        self._options = options
        self._planner = planner
        self._target: Positions | None = None
        self._heads: Positions | None = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """As `maxOffsetsPerTrigger` says."""
        most = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember where all queues end now: the query stops there."""
        planner = self._plan()
        self._target = planner.heads(planner.route())

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins."""
        return to_json(self._plan().initial())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next micro-batch ends; `start` itself when there is nothing new."""
        begun = from_json(start, self._options.topic)
        end = next_positions(begun, *self._now(begun))
        if isinstance(limit, ReadMaxRows):
            end = limited(begun, end, limit.max_rows)
        return to_json(end)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """Where the queues ended when they were last asked, for the progress report."""
        return None if self._heads is None else to_json(self._heads)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """One partition for each queue that has something between the two."""
        topic = self._options.topic
        return [QueueSpan(span) for span in spans(from_json(start, topic), from_json(end, topic))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        return read_partition(self._options, partition)

    def stop(self) -> None:
        """Close the connections, should Spark ever call it."""
        if self._planner is not None:
            self._planner.close()
            self._planner = None

    def _now(self, begun: Mapping[MessageQueue, int]) -> tuple[Positions, Positions]:
        """Beginnings of the queues that are new, and the ends of all, as far as the query may go."""
        planner = self._plan()
        self._heads = self._target or planner.heads(planner.route(), patient=True)
        return planner.beginnings(queue for queue in self._heads if queue not in begun), self._heads

    def _plan(self) -> Planner:
        if self._planner is None:
            self._planner = Planner(self._options)
        return self._planner

    def __getstate__(self) -> dict[str, Any]:
        # Tasks get a copy of the reader, but never its connections.
        return {**self.__dict__, "_planner": None}
