"""Rows of several Parquet files, for one that takes their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from mqframe.core.errors import GiveUpError

ROWS_AT_ONCE: Final = 65_536
ROW_GROUP_BYTES: Final = 64 << 20
_File = TypeVar("_File")


def row_groups(files: Iterable[tuple[str, Any]]) -> Iterator[pa.Table]:
    """The rows of `files` (names, and what pyarrow opens), in order, as tables of the size of a row group.

    Raises `GiveUpError` for a damaged one, `OSError`.
    """
    batches: list[pa.RecordBatch] = []
    size_bytes = 0
    for name, source in files:
        try:
            with pq.ParquetFile(source) as file:
                for batch in file.iter_batches(ROWS_AT_ONCE):
                    batches.append(batch)
                    size_bytes += batch.nbytes
                    if size_bytes >= ROW_GROUP_BYTES:
                        yield pa.Table.from_batches(batches)
                        batches, size_bytes = [], 0
        except pa.ArrowInvalid as problem:
            raise _damaged(name, problem) from problem
    if batches:
        yield pa.Table.from_batches(batches)


def columns_of(name: str, source: Any) -> pa.Schema:
    """The columns of a file, without what it tells besides. Raises `GiveUpError`, `OSError`."""
    try:
        return pq.read_schema(source).remove_metadata()
    except pa.ArrowInvalid as problem:
        raise _damaged(name, problem) from problem


def alike_first(run: Sequence[_File], columns: Callable[[_File], pa.Schema]) -> list[_File]:
    """The first of `run`, side by side, that have the same `columns`: another version may write others."""
    found: list[_File] = []
    of_found = None
    for file in run:
        there = columns(file)
        if of_found is None or not there.equals(of_found, check_metadata=True):
            if len(found) > 1:
                break
            found, of_found = [], there
        found.append(file)
    return found


def _damaged(name: str, problem: Exception) -> GiveUpError:
    return GiveUpError(f"{name} is damaged, so the files beside it are not put together: {problem}")
