"""Stored messages gathered into files or tables, by topic and day.

Exactness: messages of one slot come in the order of the log, so the end of what was published of a slot says
which of them are done, whatever is handed over again after a crash. Nothing is reported as durable before it
is published.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import pyarrow as pa

from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, is_path_part, is_system_topic
from mqframe.log import get_logger
from mqframe_spark.lake.landing import Landing, Slot
from mqframe_spark.lake.log_stretch import DAY_MS, Slice, groups, slices
from mqframe_spark.lake.parquet_options import ParquetOptions
from mqframe_spark.records.gathering import Offsets
from mqframe_spark.records.record_columns import record_batch
from mqframe_spark.records.schema import ARROW_SCHEMA

log = get_logger("spark")
_COLUMNS: Final = tuple(ARROW_SCHEMA.names)
TAKE_BYTES_MAX: Final = 64 << 20
"""Taken in by one call, about: so often the broker hears how far things are."""


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
    """Takes stretches of the log in and publishes them by `landing`.

    A slot is published when it has enough rows or bytes, or has waited long enough; when all together take
    too much memory, the largest goes first. `monotonic`: seconds, from an arbitrary start. Raises as
    `Landing.published`.
    """

    def __init__(
        self,
        options: ParquetOptions,
        landing: Landing,
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
        self._landing = landing
        self._published: dict[Slot, int] = self._landing.published()
        self._waiting: dict[Slot, Waiting] = {}
        self._doubtful: set[Slot] = set()
        self._unsettled = False
        self._log_start = 0
        self.taken_end = 0
        """Commit-log offset before which everything was taken in."""

    def take(self, directory: Path, file_bytes: int, start: int, end: int) -> int:
        """Take in what is new at the begin of [start, end) of the log, publish what is large or old enough.

        Gives the offset before which everything is durable; `taken_end` says how far it came. Raises
        `OSError` or an error of mqframe; what was taken in before is passed over when it comes again.
        """
        self._expire()
        self._log_start = min((int(name) for name in os.listdir(directory) if name.isdecimal()), default=0)
        start = max(start, min(self.taken_end, end))
        done = False
        for part in slices(directory, file_bytes, start, end):
            self._take(part)
            self.taken_end = part.end
            self._publish_full()
            self._make_room()
            done = part.end - start >= TAKE_BYTES_MAX
            if done:
                break
        if not done:
            self.taken_end = max(self.taken_end, end)
        return self.roll()

    def roll(self) -> int:
        """Publish what is due; gives the offset before which everything is durable."""
        self._expire()
        self._publish_full()  # what failed before is tried again
        due = self._monotonic() - self._options.roll_seconds
        for slot, waiting in list(self._waiting.items()):
            if waiting.since <= due:
                self._publish(slot)
        self._settle()
        return self.durable

    @property
    def durable(self) -> int:
        """Commit-log offset before which everything is in files."""
        return min((waiting.start for waiting in self._waiting.values()), default=self.taken_end)

    def finish(self) -> int:
        """Publish the rest, so that a stopped broker leaves nothing for its next start."""
        for slot in list(self._waiting):
            while slot in self._waiting:
                self._publish(slot)
        self._settle()
        return self.durable

    def _settle(self) -> None:
        if self._unsettled:
            self._landing.settle(self._published, self._log_start)
            self._unsettled = False

    def _expire(self) -> None:
        """Delete the days that are over, once a day."""
        if self._options.retention_days:
            oldest = self._now_ms() // DAY_MS - self._options.retention_days
            if oldest > self._expired_day:
                self._landing.expire(_day(oldest))
                self._expired_day = oldest

    def _wanted(self, topic: str) -> bool:
        if not is_path_part(topic):  # it would be published in another folder than its own
            return False
        if self._topics:
            return topic in self._topics
        return not is_system_topic(topic) and not topic.startswith((RETRY_PREFIX, DLQ_PREFIX))

    def _take(self, part: Slice) -> None:
        chosen: dict[Slot, list[Offsets]] = {}
        for topic, day, rows in groups(part):
            if self._wanted(topic) and day >= self._expired_day:
                chosen.setdefault(self._landing.slot(topic, _day(day)), []).append(rows)
        taken = []
        for slot, several in chosen.items():
            rows = np.sort(np.concatenate(several))
            rows = rows[part.starts[rows] + part.base >= self._published.get(slot, 0)]
            if not len(rows):
                continue
            places, sizes = part.starts[rows], part.sizes[rows]
            physical = places + part.base
            batch = record_batch(
                part.data, places, sizes, physical, slot.topic, self._broker, _COLUMNS, lenient=True
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
        """Publish one stretch of `slot`. Raises as `Landing.publish`; nothing is lost then."""
        if slot in self._doubtful:
            self._look_up(slot)
        waiting = self._waiting.get(slot)
        if waiting is None:
            return
        count, end = waiting.first(self._options.roll_rows, self._options.roll_bytes)
        table = pa.Table.from_batches(waiting.parts, ARROW_SCHEMA).slice(0, count)
        self._doubtful.add(slot)
        place = self._landing.publish(slot, waiting.start, end, table)
        self._doubtful.discard(slot)
        log.debug("published", place=place, start=waiting.start, end=end)
        self._done(slot, count, end)

    def _look_up(self, slot: Slot) -> None:
        """A call that failed may have published all the same."""
        waiting, end = self._waiting[slot], self._landing.end(slot)
        count = int(np.searchsorted(np.concatenate(waiting.starts), end))
        if count:
            self._done(slot, count, end)
        self._doubtful.discard(slot)

    def _done(self, slot: Slot, count: int, end: int) -> None:
        self._published[slot] = end
        self._unsettled = True
        waiting = self._waiting[slot]
        rest = waiting.without(count, waiting.since)
        if rest is None:
            del self._waiting[slot]
        else:
            self._waiting[slot] = rest


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return datetime.fromtimestamp(number * 86_400, UTC).strftime("%Y-%m-%d")
