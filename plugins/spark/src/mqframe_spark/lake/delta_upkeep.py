"""Delta tables with fewer files, by deltalake's own means: versions that hold the same rows."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from mqframe_spark.lake.delta_tables import DeltaFailed, writer_properties
from mqframe_spark.lake.parquet_options import DELTA_LOG
from mqframe_spark.lake.upkeep import Crowd, is_crowd


class DeltaUpkeep:
    """The tables below `root`, an `Upkeep`. `target_bytes`: how large files become, about."""

    def __init__(self, root: Path, target_bytes: int, compression: str) -> None:
        self._root = root
        self._target_bytes = target_bytes
        self._writer = writer_properties(compression)

    def crowds(self, open_day: str, files_min: int) -> list[Crowd]:
        """By what the logs of the tables say of their newest version."""
        found = []
        for path in self._tables():
            small: dict[str, list[int]] = {}
            with _failing_as(path):
                files = pa.table(DeltaTable(path).get_add_actions(flatten=True)).to_pydict()
            if "partition.day" not in files:
                continue  # somebody else's table, or none of its days has a file
            for day, size_bytes in zip(files["partition.day"], files["size_bytes"], strict=True):
                if size_bytes * 2 < self._target_bytes:
                    small.setdefault(str(day), []).append(size_bytes)
            found += [
                Crowd(path.name, day, len(sizes), sum(sizes))
                for day, sizes in sorted(small.items())
                if is_crowd(len(sizes), day, open_day, files_min)
            ]
        return found

    def merge(self, crowd: Crowd) -> int:
        """One commit, which says that no row has changed."""
        path = self._root / crowd.topic
        with _failing_as(path):
            done = DeltaTable(path).optimize.compact(
                partition_filters=[("day", "=", crowd.day)],
                target_size=self._target_bytes,
                max_concurrent_tasks=1,
                writer_properties=self._writer,
            )
        return int(done["numFilesRemoved"]) - int(done["numFilesAdded"])

    def vacuum(self, hours: float, *, dry_run: bool) -> list[str]:
        """What no version of the last `hours` needs, and what no version has."""
        gone = []
        for path in self._tables():
            with _failing_as(path):
                # It names those that went long ago, too.
                names = [path / name for name in _vacuum(path, hours, dry_run=True)]
                there = [str(name) for name in names if name.exists()]
                if there and not dry_run:
                    _vacuum(path, hours, dry_run=False)
            gone += there
        return sorted(gone)

    def _tables(self) -> list[Path]:
        return sorted(log.parent for log in self._root.glob(f"*/{DELTA_LOG}"))


def _vacuum(path: Path, hours: float, *, dry_run: bool) -> list[str]:
    return DeltaTable(path).vacuum(
        retention_hours=math.ceil(hours),
        dry_run=dry_run,
        enforce_retention_duration=False,  # the user's word counts, not the table's
        full=True,
    )


@contextlib.contextmanager
def _failing_as(path: Path) -> Iterator[None]:
    try:
        yield
    except DeltaError as problem:
        raise DeltaFailed(f"the Delta table {path}: {problem}") from problem
