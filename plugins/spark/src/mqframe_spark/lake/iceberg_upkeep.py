"""Iceberg tables with fewer files and snapshots.

Small files of a day are put together in one commit, which takes them out and the new one in. pyiceberg cannot
write snapshots that say `replace` yet, so it says `overwrite`; who reads appended rows alone passes over it.
"""

from __future__ import annotations

import time
import uuid
from datetime import date, timedelta
from typing import Any, Final

import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import LongType

from mqframe.core.errors import GiveUpError
from mqframe_spark.lake.iceberg_catalog import IcebergPlace, failing_as
from mqframe_spark.lake.iceberg_tables import DAY
from mqframe_spark.lake.iceberg_vacuum import vacuum_table
from mqframe_spark.lake.parquet_files import WRITTEN
from mqframe_spark.lake.rewriting import alike_first, columns_of, row_groups
from mqframe_spark.lake.upkeep import Crowd, is_crowd

# Statistics tell of which day a file is.
_WRITTEN: Final = {**WRITTEN, "write_statistics": True}
_ALL: Final = AlwaysTrue()
_ORDER: Final = "commitlog_offset"


class IcebergUpkeep:
    """The tables of a namespace, an `Upkeep`. `target_bytes`: how large files become, about."""

    def __init__(self, place: IcebergPlace, target_bytes: int, compression: str) -> None:
        self._place = place
        self._target_bytes = target_bytes
        self._compression = compression

    def crowds(self, open_day: str, files_min: int) -> list[Crowd]:
        """By what the current snapshots of the tables say."""
        found = []
        for topic in self._place.topics():
            with failing_as(f"the Iceberg table {topic}"):
                days: dict[str, list[DataFile]] = {}
                for file in self._small(self._place.load(topic)):
                    days.setdefault(_day(file), []).append(file)
            found += [
                Crowd(topic, day, len(files), sum(file.file_size_in_bytes for file in files))
                for day, files in sorted(days.items())
                if is_crowd(len(files), day, open_day, files_min)
            ]
        return found

    def merge(self, crowd: Crowd) -> int:
        """One commit; others may add rows meanwhile."""
        with failing_as(f"the Iceberg table {crowd.topic}"):
            table = self._place.load(crowd.topic)
            files = self._group(table, crowd.day)
            if len(files) < 2:
                return 0
            made = self._write(table, files)
            with table.transaction() as commit:
                told = {"mqframe.merged-files": str(len(files))}
                with commit.update_snapshot(snapshot_properties=told).overwrite() as rewriting:
                    for file in files:
                        rewriting.delete_data_file(file)
                    rewriting.append_data_file(made)
        return len(files) - 1

    def vacuum(self, hours: float, *, dry_run: bool) -> list[str]:
        """Expire snapshots that are older, but for those of branches and tags; then go files of none."""
        until = time.time() - hours * 3600
        gone = []
        for topic in self._place.topics():
            with failing_as(f"the Iceberg table {topic}"):
                gone += vacuum_table(self._place.load(topic), until, dry_run=dry_run)
        return sorted(gone)

    def _small(self, table: Table, rows: str | BooleanExpression = _ALL) -> list[DataFile]:
        """In the order of the log, as far as one broker's are concerned."""
        field = table.schema().find_field(_ORDER).field_id
        found = [
            task.file
            for task in table.scan(row_filter=rows).plan_files()
            if task.file.file_size_in_bytes * 2 < self._target_bytes
            and not task.delete_files  # its rows are not all there
            and task.file.spec_id == table.spec().spec_id
        ]
        return sorted(found, key=lambda file: _first(file, field))

    def _group(self, table: Table, day: str) -> list[DataFile]:
        run: list[DataFile] = []
        size_bytes = 0
        for file in self._small(table, f"{DAY} = '{day}'"):
            size_bytes += file.file_size_in_bytes
            if size_bytes > self._target_bytes:
                break
            run.append(file)
        return alike_first(run, lambda file: columns_of(file.file_path, _open(table, file)))

    def _write(self, table: Table, files: list[DataFile]) -> DataFile:
        place = f"{files[0].file_path.rpartition('/')[0]}/{uuid.uuid4()}.parquet"
        with pq.ParquetFile(_open(table, files[0])) as first:
            schema = first.schema_arrow
        sources = ((file.file_path, _open(table, file)) for file in files)
        with (
            table.io.new_output(place).create() as stream,
            pq.ParquetWriter(stream, schema, compression=self._compression, **_WRITTEN) as writer,
        ):
            for part in row_groups(sources):
                writer.write_table(part.cast(schema))
        made = parquet_file_to_data_file(table.io, table.metadata, place)
        rows, partition = sum(file.record_count for file in files), files[0].partition
        if (made.record_count, made.partition) != (rows, partition):
            raise GiveUpError(
                f"{place} has {made.record_count} rows of {made.partition}, not {rows} of {partition};"
                " nothing was changed"
            )
        return made


def _open(table: Table, file: DataFile) -> Any:
    return table.io.new_input(file.file_path).open()


def _first(file: DataFile, field: int) -> tuple[int, str]:
    known = (file.lower_bounds or {}).get(field)
    return (0 if known is None else int(from_bytes(LongType(), known))), file.file_path


def _day(file: DataFile) -> str:
    return (date(1970, 1, 1) + timedelta(days=file.partition[0])).isoformat()
