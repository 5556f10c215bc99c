"""Queues read straight from the files of a store, in tasks, without a broker."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.store.reader import StoreReader
from mqframe_spark.records.gathering import Offsets
from mqframe_spark.records.selecting import selected_batch
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.planning import skipped
from mqframe_spark.source.positions import DataLoss, Span, lost

BATCH_ROWS_MAX: Final = 32_768
BATCH_BYTES_MAX: Final = 32 << 20

ENTRY: Final = np.dtype([("log", ">i8"), ("size", ">i4"), ("tag", ">i8")])
"""One entry of a queue file: commit-log offset, size of the record, hash of its tag."""
FILLER_SIZE: Final = 0x7FFFFFFF

Entries = npt.NDArray[np.void]


class FileSpanReader:
    """Reads one span of a queue from a store of `options` as Arrow batches."""

    def __init__(self, options: SourceOptions, span: Span) -> None:
        [path] = [store.path for store in options.path if store.broker == span.queue.broker_name]
        self._options = options
        self._reader = StoreReader(path, span.queue.broker_name)
        self._span = span
        self._tags = TagFilter(options.tags)
        self._codes = np.array(self._tags.codes, np.int64)
        self._log = _MappedLog(self._reader)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Arrow batches by offset. Raises `DataLoss` for the first message that is gone, `RecordError`."""
        try:
            for first, entries in self._entries():
                yield from self._decode(first, entries)
        finally:
            self._log.close()

    def _entries(self) -> Iterator[tuple[int, Entries]]:
        """Offsets of first entries, and entries, of at most `BATCH_ROWS_MAX` each."""
        queue, at, end = self._span
        for base, path, count in self._reader.queue_files(queue.topic, queue.queue_id):
            if at < base < end:
                at = skipped(self._options, queue, at, base)
            stop = min(end, base + count)
            if at >= stop:
                continue
            with open(path, "rb") as file:
                while at < stop:
                    file.seek((at - base) * ENTRY.itemsize)
                    found = np.fromfile(file, ENTRY, min(stop - at, BATCH_ROWS_MAX))
                    good = found["size"] > 0
                    if not len(found) or not good.all():
                        missing = at + (int(np.argmin(good)) if len(found) else 0)
                        raise DataLoss(lost(queue, missing, "the queue holds nothing there"))
                    yield from self._listed(at, found)
                    at += len(found)
        if at < end:
            skipped(self._options, queue, at, end)

    def _listed(self, first: int, entries: Entries) -> Iterator[tuple[int, Entries]]:
        """Neighbours among `entries` that name records; between them stand fillers of what is lost."""
        fillers = (entries["size"] == FILLER_SIZE) & (entries["log"] == 0)
        for some in np.split(np.arange(len(entries)), np.flatnonzero(np.diff(fillers)) + 1):
            at, end = int(some[0]), int(some[-1]) + 1
            if fillers[at]:
                skipped(self._options, self._span.queue, first + at, first + end)
            else:
                yield first + at, entries[at:end]

    def _decode(self, first: int, entries: Entries) -> Iterator[pa.RecordBatch]:
        log, size = entries["log"].astype(np.int64), entries["size"].astype(np.int64)
        if self._tags.tags:
            chosen = np.flatnonzero(np.isin(entries["tag"].astype(np.int64), self._codes))
        else:
            chosen = np.arange(len(entries))
        files = self._log.number(log[chosen])
        # Within one file, and not more bytes than a batch should have.
        breaks = np.flatnonzero(np.diff(files)) + 1
        for rows in np.split(chosen, breaks):
            for part in _bounded(rows, size):
                if len(part):
                    yield from self._batch(first, part, log[part], size[part])

    def _batch(self, first: int, rows: Offsets, log: Offsets, size: Offsets) -> Iterator[pa.RecordBatch]:
        queue = self._span.queue
        data, base = self._log.file_of(int(log[0]))
        if data is None:
            skipped(self._options, queue, first + int(rows[0]), first + int(rows[-1]) + 1)
            return
        yield selected_batch(
            data, log - base, size, log, queue, self._tags, self._options.columns, offsets=first + rows
        )


def _bounded(rows: Offsets, size: Offsets) -> list[Offsets]:
    """`rows` cut into pieces of `BATCH_BYTES_MAX` bytes, about."""
    total = np.cumsum(size[rows])
    if not len(rows) or total[-1] <= BATCH_BYTES_MAX:
        return [rows]
    return np.split(rows, np.flatnonzero(np.diff(total // BATCH_BYTES_MAX)) + 1)


class _MappedLog:
    """The files of a commit log, mapped one at a time."""

    def __init__(self, reader: StoreReader) -> None:
        files = reader.log_files()
        self._start, _, self._size = files[0] if files else (0, None, 1)
        self._paths = {base: path for base, path, _ in files}
        self._base = -1
        self._data: pa.Buffer | None = None

    def number(self, offsets: Offsets) -> Offsets:
        """Which file each commit-log offset lies in, counted from the first."""
        found: Offsets = (offsets - self._start) // self._size
        return found

    def file_of(self, offset: int) -> tuple[pa.Buffer | None, int]:
        """The content of the file that holds `offset`, `None` when it is gone, and where it starts."""
        base = offset - (offset - self._start) % self._size
        if base != self._base:
            self._base, self._data = base, None
            path = self._paths.get(base)
            if path is not None:
                with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                    self._data = pa.py_buffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        return self._data, base

    def close(self) -> None:
        """Let go of the file; batches that were given keep nothing of it."""
        self._data = None
