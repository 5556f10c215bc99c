"""One Delta table for each topic, partitioned by the UTC day of storage.

A commit adds the messages of a stretch of the log and, in the same entry of the table's log, says up to which
commit-log offset the store's messages are in it (an application transaction), so that the table alone tells
what is done. Several brokers may feed one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import DeltaError

from mqframe.core.errors import RetryError
from mqframe_spark.lake.landing import Slot
from mqframe_spark.lake.parquet_options import DELTA_LOG

_CODECS: Final[dict[str, Any]] = {
    "zstd": "ZSTD",
    "snappy": "SNAPPY",
    "gzip": "GZIP",
    "none": "UNCOMPRESSED",
}


def writer_properties(compression: str) -> WriterProperties:
    """For files compressed as the dispatcher's option says."""
    return WriterProperties(compression=_CODECS[compression])


class DeltaFailed(RetryError):
    """A commit to a Delta table failed; it may have been done or not."""


class DeltaTables:
    """The tables below `root`, a `Landing`. `compression`: as the dispatcher's option names it."""

    def __init__(self, root: Path, broker: str, store: str, compression: str) -> None:
        self._root = root
        self._application = f"mqframe-{broker}-{store}"
        self._writer = writer_properties(compression)

    def slot(self, topic: str, day: str) -> Slot:
        """A table for each topic; its commits may span days."""
        return Slot(topic, "")

    def published(self) -> dict[Slot, int]:
        """What the logs of the tables say."""
        slots = [Slot(log.parent.name, "") for log in self._root.glob(f"*/{DELTA_LOG}")]
        return {slot: self.end(slot) for slot in slots}

    def end(self, slot: Slot) -> int:
        """What the log of the topic's table says."""
        try:
            table = self._table(slot)
            return 0 if table is None else table.transaction_version(self._application) or 0
        except DeltaError as problem:
            raise DeltaFailed(f"the Delta table {self._root / slot.topic}: {problem}") from problem

    def publish(self, slot: Slot, start: int, end: int, table: pa.Table) -> str:
        """One commit."""
        path = self._root / slot.topic
        path.mkdir(parents=True, exist_ok=True)
        days = pc.cast(table.column("store_timestamp"), pa.date32())
        done = CommitProperties(
            custom_metadata={"mqframe.start": str(start), "mqframe.end": str(end)},
            app_transactions=[Transaction(self._application, end)],
        )
        try:
            write_deltalake(
                path,
                table.append_column("day", days),
                partition_by=["day"],
                mode="append",
                commit_properties=done,
                writer_properties=self._writer,
            )
        except DeltaError as problem:
            raise DeltaFailed(f"the Delta table {path}: {problem}") from problem
        return str(path)

    def settle(self, ends: Mapping[Slot, int], log_start: int) -> None:
        """Nothing: the tables' logs have it."""

    def expire(self, day: str) -> None:
        """Delete days; their files go by `DeltaUpkeep.vacuum`, when no version needs them."""
        for log in self._root.glob(f"*/{DELTA_LOG}"):
            try:
                table = DeltaTable(log.parent)
                if any(str(partition["day"]) < day for partition in table.partitions()):
                    table.delete(f"day < '{day}'")
            except DeltaError as problem:
                raise DeltaFailed(f"the Delta table {log.parent}: {problem}") from problem

    def _table(self, slot: Slot) -> DeltaTable | None:
        path = self._root / slot.topic
        return DeltaTable(path) if DeltaTable.is_deltatable(str(path)) else None
