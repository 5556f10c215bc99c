"""Stored messages gathered into Parquet files, by topic and day.

Exactness without a journal: messages of one slot (topic and day) come in the order of the log, so the newest
published file of a slot says which of them are done, whatever is handed over again after a crash. Nothing is
reported as durable before its file has its name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import pyarrow as pa

from mqframe.core.topics import DLQ_PREFIX, RETRY_PREFIX, is_system_topic
from mqframe.log import get_logger
from mqframe_spark.gathering import Offsets
from mqframe_spark.log_stretch import DAY_MS, Slice, groups, slices
from mqframe_spark.parquet_files import ParquetFolder, Slot, store_id
from mqframe_spark.parquet_options import ParquetOptions
from mqframe_spark.record_columns import record_batch
from mqframe_spark.schema import ARROW_SCHEMA

log = get_logger("spark")
_COLUMNS: Final = tuple(ARROW_SCHEMA.names)


@attrs.define
class Waiting:
    """Messages of one slot that no file holds yet.

    `starts`, `ends`: of each part's records in the log; `since`: when the first one came, s.
    """

    since: float
    parts: list[pa.RecordBatch] = attrs.field(factory=list)
    starts: list[Offsets] = attrs.field(factory=list)
    ends: list[Offsets] = attrs.field(factory=list)
    rows: int = 0
    size_bytes: int = 0

    @property
    def start(self) -> int:
        """Commit-log offset of the first message."""
        return int(self.starts[0][0])

    def add(self, part: pa.RecordBatch, starts: Offsets, ends: Offsets) -> None:
        """Take in `part`."""
        self.parts.append(part)
        self.starts.append(starts)
        self.ends.append(ends)
        self.rows += part.num_rows
        self.size_bytes += int((ends - starts).sum())

    def first(self, rows_max: int, bytes_max: int) -> tuple[int, int]:
        """How many rows a file gets at most, and the commit-log offset behind them."""
        ends, starts = np.concatenate(self.ends), np.concatenate(self.starts)
        by_size = int(np.searchsorted(np.cumsum(ends - starts), bytes_max)) + 1
        count = min(rows_max, by_size, self.rows)
        return count, int(ends[count - 1])

    def without(self, count: int, since: float) -> Waiting | None:
        """What is left without the first `count` rows."""
        if count == self.rows:
            return None
        rest = Waiting(since)
        for part, starts, ends in zip(self.parts, self.starts, self.ends, strict=True):
            gone = min(count, part.num_rows)
            count -= gone
            if gone < part.num_rows:
                rest.add(part.slice(gone), starts[gone:], ends[gone:])
        return rest


class ParquetWriter:
    """Takes stretches of the log in and publishes files below `options.path`.

    A slot is published when it has enough rows or bytes, or has waited long enough; when all together take
    too much memory, the largest goes first. `monotonic`: seconds, from an arbitrary start.
    """

    def __init__(
        self,
        options: ParquetOptions,
        data_directory: Path,
        broker: str,
        monotonic: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._options = options
        self._topics = frozenset(options.topics)
        self._monotonic = monotonic
        self._now_ms = now_ms
        self._expired_day = 0
        self._broker = broker
        root = options.path or data_directory / "parquet"
        self._folder = ParquetFolder(root, broker, store_id(data_directory), options.compression)
        self._published: dict[Slot, int] = self._folder.published()
        self._waiting: dict[Slot, Waiting] = {}
        self._taken_end = 0

    def take(self, directory: Path, file_bytes: int, start: int, end: int) -> int:
        """Take in what is new in [start, end) of the log, publish what is large or old enough.

        Gives the offset before which everything is durable. Raises `OSError`, `RecordError`; what was taken
        in before is passed over when it comes again.
        """
        self._expire()
        for part in slices(directory, file_bytes, max(start, min(self._taken_end, end)), end):
            self._take(part)
            self._taken_end = part.end
            self._publish_full()
            self._make_room()
        self._taken_end = max(self._taken_end, end)
        return self.roll()

    def roll(self) -> int:
        """Publish what is due; gives the offset before which everything is durable."""
        self._expire()
        self._publish_full()  # what failed before is tried again
        due = self._monotonic() - self._options.roll_seconds
        for slot, waiting in list(self._waiting.items()):
            if waiting.since <= due:
                self._publish(slot)
        return self.durable

    @property
    def durable(self) -> int:
        """Commit-log offset before which everything is in files."""
        return min((waiting.start for waiting in self._waiting.values()), default=self._taken_end)

    def finish(self) -> int:
        """Publish the rest, so that a stopped broker leaves nothing for its next start."""
        for slot in list(self._waiting):
            while slot in self._waiting:
                self._publish(slot)
        return self.durable

    def _expire(self) -> None:
        """Delete the days that are over, once a day."""
        if self._options.retention_days:
            oldest = self._now_ms() // DAY_MS - self._options.retention_days
            if oldest > self._expired_day:
                self._expired_day = oldest
                self._folder.expire(_day(oldest))

    def _wanted(self, topic: str) -> bool:
        if self._topics:
            return topic in self._topics
        return not is_system_topic(topic) and not topic.startswith((RETRY_PREFIX, DLQ_PREFIX))

    def _take(self, part: Slice) -> None:
        taken = []
        for topic, day, rows in groups(part):
            if not self._wanted(topic) or day < self._expired_day:
                continue
            slot = Slot(topic, _day(day))
            starts = part.starts[rows] + part.base
            rows = rows[starts >= self._published.get(slot, 0)]
            if not len(rows):
                continue
            places, sizes = part.starts[rows], part.sizes[rows]
            physical = places + part.base
            batch = record_batch(
                part.data, places, sizes, physical, topic, self._broker, _COLUMNS, lenient=True
            )
            taken.append((slot, batch, physical, physical + sizes))
        # All or nothing: a slice that fails comes again.
        for slot, batch, starts, ends in taken:
            waiting = self._waiting.get(slot)
            if waiting is None:
                waiting = self._waiting[slot] = Waiting(self._monotonic())
            waiting.add(batch, starts, ends)

    def _publish_full(self) -> None:
        for slot in list(self._waiting):
            while (waiting := self._waiting.get(slot)) is not None and (
                waiting.rows >= self._options.roll_rows or waiting.size_bytes >= self._options.roll_bytes
            ):
                self._publish(slot)

    def _make_room(self) -> None:
        while sum(each.size_bytes for each in self._waiting.values()) > self._options.buffered_bytes_max:
            self._publish(max(self._waiting, key=lambda slot: self._waiting[slot].size_bytes))

    def _publish(self, slot: Slot) -> None:
        """Publish one file of `slot`. Raises `OSError`; nothing changed then."""
        waiting = self._waiting[slot]
        count, end = waiting.first(self._options.roll_rows, self._options.roll_bytes)
        table = pa.Table.from_batches(waiting.parts, ARROW_SCHEMA).slice(0, count)
        path = self._folder.publish(slot, waiting.start, end, table)
        log.debug("published", path=str(path), start=waiting.start, end=end)
        self._published[slot] = end
        rest = waiting.without(count, waiting.since)
        if rest is None:
            del self._waiting[slot]
        else:
            self._waiting[slot] = rest


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return datetime.fromtimestamp(number * 86_400, UTC).strftime("%Y-%m-%d")
