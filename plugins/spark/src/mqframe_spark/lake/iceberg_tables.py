"""One Iceberg table for each topic, partitioned by the UTC day of storage.

A commit adds the messages of a stretch of the log and, in the same version of the table's metadata, says by a
property of the table up to which commit-log offset the store's messages are in it, so that the table alone
tells what is done, whichever snapshots are gone. Several brokers may feed one table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.table import Table

from mqframe_spark.lake.iceberg_catalog import IcebergPlace, failing_as
from mqframe_spark.lake.landing import Slot
from mqframe_spark.records.schema import ARROW_SCHEMA

DAY: Final = "day"
TABLE_SCHEMA: Final = ARROW_SCHEMA.append(pa.field(DAY, pa.date32()))
_CODECS: Final = {"none": "uncompressed"}


class IcebergTables:
    """The tables of `place`, a `Landing`.

    `origin`: names of the broker and of its store. `compression`: as the dispatcher's option names it. Raises
    `IcebergFailed`.
    """

    def __init__(self, place: IcebergPlace, origin: tuple[str, str], compression: str) -> None:
        self._place = place
        broker, store = origin
        self._end = f"mqframe.end.{broker}-{store}"
        self._made_with = {
            "write.parquet.compression-codec": _CODECS.get(compression, compression),
            # Each commit writes the table's metadata anew; what came before is of no use.
            "write.metadata.delete-after-commit.enabled": "true",
            "commit.manifest-merge.enabled": "true",
            # Smallest and largest bodies let no reader pass over a file.
            "write.metadata.metrics.column.body": "none",
            # Rewritten files hold the same rows: who adds others meanwhile is in nobody's way.
            "write.delete.isolation-level": "snapshot",
        }
        with failing_as(f"the Iceberg namespace {'.'.join(place.namespace)}"):
            place.catalog.create_namespace_if_not_exists(place.namespace)

    def slot(self, topic: str, day: str) -> Slot:
        """A table for each topic; its commits may span days."""
        return Slot(topic, "")

    def published(self) -> dict[Slot, int]:
        """What the properties of the tables say."""
        return {slot: self.end(slot) for slot in (Slot(topic, "") for topic in self._place.topics())}

    def end(self, slot: Slot) -> int:
        """What the topic's table says."""
        with failing_as(f"the Iceberg table {slot.topic}"):
            try:
                return int(self._place.load(slot.topic).properties.get(self._end, 0))
            except NoSuchTableError:
                return 0

    def publish(self, slot: Slot, start: int, end: int, table: pa.Table) -> str:
        """One commit."""
        days = pc.cast(table.column("store_timestamp"), pa.date32())
        with failing_as(f"the Iceberg table {slot.topic}"):
            there = self._load_or_make(slot.topic)
            with there.transaction() as commit:
                told = {"mqframe.start": str(start), "mqframe.end": str(end)}
                commit.append(table.append_column(DAY, days), snapshot_properties=told)
                commit.set_properties({self._end: str(end)})
            return there.location()

    def settle(self, ends: Mapping[Slot, int], log_start: int) -> None:
        """Nothing: the tables have it."""

    def expire(self, day: str) -> None:
        """Delete days; their files go with the snapshots that have them."""
        for slot in self.published():
            with failing_as(f"the Iceberg table {slot.topic}"):
                table = self._place.load(slot.topic)
                over = f"{DAY} < '{day}'"
                if any(True for _ in table.scan(row_filter=over).plan_files()):
                    table.delete(over)

    def _load_or_make(self, topic: str) -> Table:
        with contextlib.suppress(NoSuchTableError):
            return self._place.load(topic)
        root = self._place.root
        making = self._place.catalog.create_table_transaction(
            (*self._place.namespace, topic),
            TABLE_SCHEMA,
            location=None if root is None else f"file://{root / topic}",
            properties=self._made_with,
        )
        with contextlib.suppress(TableAlreadyExistsError, CommitFailedException):  # another broker's
            making.update_spec().add_identity(DAY).commit()
            making.commit_transaction()
        return self._place.load(topic)
