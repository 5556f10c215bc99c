"""Queues read straight from the files of a store, in tasks, without a broker."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.storage.record import RecordError
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
STRETCH_BYTES_MIN: Final = 2048
"""Stretches of neighbours that are shorter than this, on the average, cost more to read than to map."""

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
        self._log = _Log(self._reader)

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
        found = self._log.records(log, size)
        if found is None:
            skipped(self._options, queue, first + int(rows[0]), first + int(rows[-1]) + 1)
            return
        data, starts = found
        yield selected_batch(
            data, starts, size, log, queue, self._tags, self._options.columns, offsets=first + rows
        )


def _bounded(rows: Offsets, size: Offsets) -> list[Offsets]:
    """`rows` cut into pieces of `BATCH_BYTES_MAX` bytes, about."""
    total = np.cumsum(size[rows])
    if not len(rows) or total[-1] <= BATCH_BYTES_MAX:
        return [rows]
    return np.split(rows, np.flatnonzero(np.diff(total // BATCH_BYTES_MAX)) + 1)


class _Log:
    """The files of a commit log, one at a time."""

    def __init__(self, reader: StoreReader) -> None:
        files = reader.log_files()
        self._start, _, self._size = files[0] if files else (0, None, 1)
        self._paths = {base: path for base, path, _ in files}
        self._base = -1
        self._mapped: mmap.mmap | None = None
        self._file: BinaryIO | None = None
        self._length = 0
        self._room = bytearray()

    def number(self, offsets: Offsets) -> Offsets:
        """Which file each commit-log offset lies in, counted from the first."""
        found: Offsets = (offsets - self._start) // self._size
        return found

    def records(self, log: Offsets, size: Offsets) -> tuple[pa.Buffer, Offsets] | None:
        """The records at the ascending offsets `log` of one file, and where each begins; `None`: it is gone.

        The buffer is good until the next call. Stretches of neighbours are read, which costs less than to
        touch pages of a map for the first time; records that stand alone are left in the map.
        """
        if not self._open(int(log[0])):
            return None
        ends = log + size
        firsts = np.flatnonzero(np.concatenate(([True], log[1:] != ends[:-1])))
        total = int(size.sum())
        if (
            total < len(firsts) * STRETCH_BYTES_MIN
            or (size <= 0).any()
            or ends.max() > self._base + self._length
        ):
            return self._map(), log - self._base
        if len(self._room) < total:
            self._room = bytearray(total)
        at, view = 0, memoryview(self._room)
        for first, last in zip(log[firsts].tolist(), ends[[*firsts[1:] - 1, -1]].tolist(), strict=True):
            at += self._read(view[at : at + last - first], first - self._base)
        return pa.py_buffer(view[:total]), np.cumsum(size) - size

    def _read(self, room: memoryview, place: int) -> int:
        """Fill `room` from byte `place` on; how much that was."""
        assert self._file is not None
        done = 0
        while done < len(room):
            count = os.preadv(self._file.fileno(), [room[done:]], place + done)
            if not count:
                what = f"the log file at {self._base} was cut at byte {place + done} while it was read"
                raise RecordError(f"{what}; the store is damaged there")
            done += count
        return done

    def _open(self, offset: int) -> bool:
        """Have the file that holds `offset` open; `False` when it is gone."""
        base = offset - (offset - self._start) % self._size
        if base != self._base:
            self.close()
            self._base = base
            path = self._paths.get(base)
            if path is not None:
                with contextlib.suppress(FileNotFoundError):
                    self._file = path.open("rb", buffering=0)
                    self._length = os.fstat(self._file.fileno()).st_size
        return self._file is not None

    def _map(self) -> pa.Buffer:
        if self._mapped is None:
            assert self._file is not None
            self._mapped = mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)
        return pa.py_buffer(self._mapped)

    def close(self) -> None:
        """Let go of the file; batches that were given keep nothing of it."""
        if self._file is not None:
            self._file.close()
        self._file = self._mapped = None
