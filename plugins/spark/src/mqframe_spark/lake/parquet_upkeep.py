"""Small Parquet files put together, a folder at a time, so that readers see the old ones or the new one.

The folder of a day is made a second time, out of sight, with the file that holds the rows of several, and
with links to all others; then the two exchange their names, which the file system does at once. Who lists the
folder finds all rows once, before and afterwards; who has listed it before, and opens a file that is gone, is
told so by the system. What is killed leaves a folder out of sight, which the next one that tidies removes.

A file holds what lies between its offsets, so one that holds several reaches from the first to the last: the
names go on telling what is published.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow.parquet as pq

from mqframe.core.errors import GiveUpError
from mqframe_spark.durable_file import TEMPORARY, sync_folder
from mqframe_spark.lake.day_folders import DAY_PREFIX, exchange, exchanging, tidying
from mqframe_spark.lake.parquet_files import WRITTEN
from mqframe_spark.lake.rewriting import alike_first, columns_of, row_groups
from mqframe_spark.lake.upkeep import Crowd, is_crowd

HIDDEN: Final = ".upkeep"
"""Folder below the root, in which folders of days are made."""
_NAME: Final = re.compile(r"(.+-[0-9a-f]{8}-)(\d{20})-(\d{20})\.parquet")


class _File(NamedTuple):
    """In the order of one store's log; `prefix` names broker and store."""

    prefix: str
    start: int
    end: int
    size_bytes: int
    path: Path


class ParquetUpkeep:
    """The files of all stores below `root`, an `Upkeep`. `target_bytes`: how large files become, about."""

    def __init__(self, root: Path, target_bytes: int, compression: str) -> None:
        self._root = root
        self._hidden = root / HIDDEN
        self._target_bytes = target_bytes
        self._compression = compression

    def crowds(self, open_day: str, files_min: int) -> list[Crowd]:
        """By the sizes of the files of one store in a folder that lie side by side in its log."""
        found = []
        for folder in sorted(self._root.glob(f"*/{DAY_PREFIX}*")):
            day = folder.name.removeprefix(DAY_PREFIX)
            small = [file for run in self._runs(_files(folder)) for file in run]
            if small and is_crowd(len(small), day, open_day, files_min):
                size_bytes = sum(file.size_bytes for file in small)
                found.append(Crowd(folder.parent.name, day, len(small), size_bytes))
        return found

    def merge(self, crowd: Crowd) -> int:
        """One file of several, as many as the size that is aimed at allows."""
        folder = self._root / crowd.topic / f"{DAY_PREFIX}{crowd.day}"
        with tidying(self._root):
            self._clear()
            for run in self._runs(_files(folder)):
                alike = alike_first(run, lambda file: columns_of(str(file.path), file.path))
                if len(alike) > 1:
                    hidden = self._hidden / crowd.topic / folder.name
                    hidden.mkdir(parents=True)
                    self._write(hidden, crowd.topic, alike)
                    done = self._publish(folder, hidden, alike)
                    self._clear()
                    return len(alike) - 1 if done else 0
        return 0

    def vacuum(self, hours: float, *, dry_run: bool) -> list[str]:
        """What killed processes left: exchanged folders, and files that never got their name."""
        oldest = time.time() - hours * 3600
        gone = []
        with tidying(self._root):
            gone += [str(path) for path in self._hidden.rglob("*") if path.is_file()]
            if not dry_run:
                self._clear()
        for path in self._root.glob(f"*/{DAY_PREFIX}*/.*{TEMPORARY}"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest:
                    if not dry_run:
                        path.unlink()
                    gone.append(str(path))
        return sorted(gone)

    def _runs(self, files: Iterable[_File]) -> Iterator[list[_File]]:
        """Several small files, side by side in the log of their store, that fit into one."""
        for _, of_store in groupby(sorted(files), key=lambda file: file.prefix):
            run: list[_File] = []
            size_bytes = 0
            for file in of_store:
                small = file.size_bytes * 2 < self._target_bytes
                if not small or size_bytes + file.size_bytes > self._target_bytes:
                    if len(run) > 1:
                        yield run
                    run, size_bytes = [], 0
                if small:
                    run.append(file)
                    size_bytes += file.size_bytes
            if len(run) > 1:
                yield run

    def _write(self, hidden: Path, topic: str, files: list[_File]) -> None:
        first, last = files[0], files[-1]
        told = {
            "mqframe.topic": topic,
            "mqframe.start": str(first.start),
            "mqframe.end": str(last.end),
        }
        path = hidden / f"{first.prefix}{first.start:020d}-{last.end:020d}.parquet"
        schema = pq.read_schema(first.path).with_metadata(told)
        with path.open("wb") as file:
            with pq.ParquetWriter(file, schema, compression=self._compression, **WRITTEN) as writer:
                for table in row_groups((str(each.path), each.path) for each in files):
                    writer.write_table(table.replace_schema_metadata(told))
            file.flush()
            os.fsync(file.fileno())

    def _publish(self, folder: Path, hidden: Path, merged: list[_File]) -> bool:
        with exchanging(self._root):
            there = {path.name: path for path in folder.iterdir()}
            if not all(file.path.name in there for file in merged):
                return False  # somebody deleted rows that must not come back
            for name in there.keys() - {file.path.name for file in merged}:
                if there[name].is_dir():
                    raise GiveUpError(f"{there[name]} is no file of messages; move it elsewhere")
                if not name.endswith(TEMPORARY):
                    os.link(there[name], hidden / name)
            shutil.copystat(folder, hidden)
            sync_folder(hidden)
            exchange(hidden, folder)
        sync_folder(folder.parent)
        return True

    def _clear(self) -> None:
        if self._hidden.exists():
            shutil.rmtree(self._hidden)


def _files(folder: Path) -> Iterator[_File]:
    with contextlib.suppress(FileNotFoundError):  # anybody may remove files, and folders
        for path in folder.iterdir():
            if found := _NAME.fullmatch(path.name):
                with contextlib.suppress(FileNotFoundError):
                    yield _File(found[1], int(found[2]), int(found[3]), path.stat().st_size, path)
