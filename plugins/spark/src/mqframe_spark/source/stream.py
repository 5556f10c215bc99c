"""`spark.readStream.format("mqframe")`: micro-batches; their offsets live in Spark's checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from mqframe.core.messages.message import MessageQueue
from mqframe_spark.records.schema import check_schema
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.positions import BEGIN, Positions, from_json, next_positions, to_json
from mqframe_spark.source.tasks import QueueSpan, open_origin, read_partition
from mqframe_spark.worker_socket import InTasks


class StreamReader(InTasks, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans on the driver, in one process for as long as the query runs; `read` runs in tasks.

    Queues, brokers and topics that appear are taken in, from their beginning; those that vanish keep their
    offsets. `planner` and `clock` (s) are handed in by tests.

    The first micro-batch of a query reads nothing: it only brings into the checkpoint where reading begins.
    Spark keeps no start of it, but asks for it again when it repeats the batch after a crash, and then the
    newest message, say, is another one. Which batch is the first one its start says (`BEGIN`), for Spark does
    not plan one again that its sink has already.
    """

    def __init__(
        self,
        options: SourceOptions,
        schema: StructType,
        planner: Planner | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_schema(schema, options.columns)
        self._options = options
        self._planner = planner
        self._target: Positions | None = None
        self._heads: Positions | None = None
        self._told: Positions = {}
        self._begin: dict[str, Any] | None = None
        self._clock = clock
        self._went_on_at: float | None = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """As `maxOffsetsPerTrigger` or `maxBytesPerTrigger` says; when both do, the second is kept, too."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._options.max_bytes_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember where all queues end now, or where the options say: the query stops there."""
        self._target = self._plan().target()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins, the same whenever Spark asks this reader.

        Raises `SettingError` for an end without the trigger `availableNow`.
        """
        if self._begin is None:
            if self._target is None:
                self._options.check_endless()
            self._begin = {**to_json(self._plan().initial()), BEGIN: {}}
        return self._begin

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next micro-batch ends: where it starts when there is nothing new, or it is the first."""
        if self._target is None:
            self._options.check_endless()
        planner = self._plan()
        begun = self._positions(start)
        self._tell_group(begun)  # Spark never says that it committed the last batch, but it asks what follows
        fresh, heads = planner.now(begun)
        if self._target is not None:
            # A new query may begin behind what was the end when it was started.
            heads = {queue: max(end, begun.get(queue, end)) for queue, end in self._target.items()}
        self._heads = heads
        if BEGIN in start:
            return to_json(begun)
        fresh = {queue: offset for queue, offset in fresh.items() if queue in self._heads}
        end = next_positions(begun, fresh, self._heads)
        if self._waits(begun, end):
            return to_json({**begun, **fresh})
        if isinstance(limit, ReadMaxRows):
            end = planner.limit(begun, end, limit.max_rows, self._options.max_bytes_per_trigger)
        elif isinstance(limit, ReadMaxBytes):
            end = planner.limit(begun, end, None, limit.max_bytes)
        return to_json(end)

    def _waits(self, begun: Positions, end: Positions) -> bool:
        """Whether there is too little for a micro-batch, and nothing has waited for too long."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now = self._clock()
        waiting = sum(max(0, offset - begun.get(queue, offset)) for queue, offset in end.items())
        late = self._went_on_at is None or now - self._went_on_at >= self._options.max_trigger_delay
        if waiting < least and not late:
            return True
        self._went_on_at = now
        return False

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """Where the queues ended when they were last asked, for the progress report."""
        return None if self._heads is None else to_json(self._heads)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """One partition for each queue that has something between the two, several for a long one."""
        if BEGIN in start:
            return []
        found = self._plan().tasks(self._positions(start), self._positions(end))
        return [QueueSpan(span) for span in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        return read_partition(self._options, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Everything before `end` was processed: tell the group that wants to know."""
        self._tell_group(self._positions(end))

    def _tell_group(self, done: Positions) -> None:
        """Have `commitToGroup` hold `done`, of which everything was processed."""
        if self._options.commit_to_group:
            news = {queue: offset for queue, offset in done.items() if self._told.get(queue, -1) < offset}
            self._plan().commit(news)
            self._told = {**self._told, **news}

    def stop(self) -> None:
        """Close the connections, should Spark ever call it."""
        if self._planner is not None:
            self._planner.close()
            self._planner = None

    def _positions(self, table: dict[str, Any]) -> dict[MessageQueue, int]:
        """What `table` of a checkpoint says. Raises `FixError` where that is of what is not to be read."""
        found = from_json(table, self._options.wants)
        if self._options.assign is not None:
            self._options.assign.check_known(found)
        return found

    def _plan(self) -> Planner:
        if self._planner is None:
            self._planner = Planner(self._options, open_origin(self._options))
        return self._planner

    def __getstate__(self) -> dict[str, Any]:
        # Tasks get a copy of the reader, but never its connections.
        return {**self.__dict__, "_planner": None}
