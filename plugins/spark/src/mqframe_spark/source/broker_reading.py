"""Queues read through their brokers, in tasks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from mqframe_pull.puller.raw_pull import RawPull

from mqframe import Sql
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import FixError, RetryError
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.storage.record import RecordError
from mqframe.core.wire.frame import Body
from mqframe_spark.pull_window import Asked, PullWindow
from mqframe_spark.records.gathering import Offsets
from mqframe_spark.records.record_walk import numbers_at, walk
from mqframe_spark.records.selecting import selected_batch
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.planning import skipped
from mqframe_spark.source.positions import DataLoss, Span, lost
from mqframe_spark.wire import Wire

BATCH_BYTES: Final = 4 << 20
"""Answers are gathered until they have so many bytes, so that decoding pays."""

GAP_PART: Final = 4
"""An answer may lack one part in so many: that is fetched, and the answers behind it count."""

_QUEUE_OFFSET_AT: Final = 20
_PHYSICAL_AT: Final = 28
_NONE: Final = np.empty(0, np.int64)


class Found(NamedTuple):
    """An answer: its bytes, and the place, size and commit-log offset of each record that is wanted of it."""

    body: Body
    starts: Offsets
    sizes: Offsets
    physical: Offsets
    next_offset: int


class BrokerSpanReader:
    """Reads one span. While answers are taken apart, the next are under way."""

    def __init__(
        self,
        wire: Wire,
        options: SourceOptions,
        span: Span,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wire = wire
        self._options = options
        self._span = span
        self._sleep = sleep
        self._tags = TagFilter(options.tags)
        self._expression = Sql(options.sql) if options.sql else options.tags
        self._filtered = bool(options.sql or self._tags.tags)
        self._window = PullWindow(predictable=not self._filtered)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Arrow batches by offset. Raises `DataLoss` for the first message that is no longer there."""
        _, offset, end = self._span
        waiting: list[Found] = []
        size = 0
        with ThreadPoolExecutor(1, "mqframe-pull") as ahead:
            asked = self._window.asked(offset, end)
            pending = ahead.submit(self._pull, asked)
            while offset < end:
                taken = self._taken(asked, pending.result())
                offset = taken[-1].next_offset
                if offset < end:
                    asked = self._window.asked(offset, end)
                    pending = ahead.submit(self._pull, asked)
                for found in taken:
                    if len(found.starts):
                        waiting.append(found)
                        size += len(found.body)
                if size >= BATCH_BYTES:
                    yield self._batch(waiting)
                    waiting, size = [], 0
        if waiting:
            yield self._batch(waiting)

    def _pull(self, asked: Asked) -> list[RawPull]:
        """Answers, of which the first found something, or says where to go on. Passing faults are borne."""
        queue, offset = self._span.queue, asked[0][0]
        moved = False
        for pause in (*self._options.pauses, None):
            try:
                if moved:
                    # The broker may be elsewhere by now; one that is away is forgotten, and topics with it.
                    with contextlib.suppress(FixError):
                        self._wire.route(queue.topic)
                results = self._wire.pull(queue, asked, self._expression)
            except RetryError:
                if pause is None:
                    raise
                moved = True
                self._sleep(pause)
                continue
            first = results[0]
            if first.status is PullStatus.NO_NEW_MSG and first.next_offset <= offset and pause is not None:
                # The end was planned from what the broker said, so the message is about to be there.
                self._sleep(pause)
                continue
            return results
        return results

    def _taken(self, asked: Asked, results: list[RawPull]) -> list[Found]:
        """The answers that follow each other from the first of `asked` on, one at least."""
        whole = self._whole(asked, results) if len(results) > 1 else None
        if whole is not None:
            return [whole]
        taken: list[Found] = []
        counts: list[int] = []
        size = 0
        at, step = asked[0]
        for (offset, _), result in zip(asked, results, strict=False):
            if taken and (result.status is not PullStatus.FOUND or offset - at > step // GAP_PART):
                break  # what was predicted did not come; it is asked for again
            while at < offset:
                taken.append(self._wanted(self._pull([(at, offset - at)])[0], at))
                at = taken[-1].next_offset
            if at > offset:
                break
            taken.append(self._wanted(result, offset))
            counts.append(len(taken[-1].starts))
            size += int(taken[-1].sizes.sum())
            at = taken[-1].next_offset
        self._window.learn(asked, counts, size)
        return taken

    def _whole(self, asked: Asked, results: list[RawPull]) -> Found | None:
        """All answers as if they were one; `None` unless they are just the messages that were asked for."""
        if len(results) < len(asked) or any(result.status is not PullStatus.FOUND for result in results):
            return None
        body = b"".join([result.records for result in results])
        starts, sizes = walk(body)
        first, last = asked[0][0], asked[-1][0]
        end = first + len(starts)
        own = numbers_at(body, starts, sizes, _QUEUE_OFFSET_AT)
        if not last < end <= self._span.end or (own != np.arange(first, end)).any():
            return None
        self._window.learn(asked, [most for _, most in asked[:-1]] + [end - last], len(body))
        return Found(body, starts, sizes, numbers_at(body, starts, sizes, _PHYSICAL_AT), end)

    def _wanted(self, result: RawPull, offset: int) -> Found:
        """The records of an answer from `offset` on and before the end; none left out, or `DataLoss`."""
        queue, _, end = self._span
        if result.status is PullStatus.OFFSET_ILLEGAL:
            held = min(max(result.next_offset, result.min_offset), end)
            if held <= offset:
                raise DataLoss(lost(queue, offset, f"the queue ends at {result.max_offset}"))
            return Found(b"", _NONE, _NONE, _NONE, skipped(self._options, queue, offset, held))
        body = result.records
        starts, sizes = walk(body)
        own = numbers_at(body, starts, sizes, _QUEUE_OFFSET_AT)
        if len(own) and (own[0] < offset or own[-1] >= end):
            chosen = (own >= offset) & (own < end)
            starts, sizes, own = starts[chosen], sizes[chosen], own[chosen]
        if (np.diff(own) <= 0).any():
            raise RecordError(f"an answer for {queue} at offset {offset} has its records out of order")
        if not self._filtered:
            self._check_whole(own, offset)
        expected = int(own[-1]) + 1 if len(own) else offset
        following = expected if len(own) and not self._filtered else max(expected, result.next_offset)
        following = min(following, end)
        if following <= offset:
            raise DataLoss(lost(queue, offset, "the broker finds nothing there"))
        if not len(own) and not self._filtered:
            skipped(self._options, queue, offset, following)
        return Found(body, starts, sizes, numbers_at(body, starts, sizes, _PHYSICAL_AT), following)

    def _check_whole(self, own: Offsets, offset: int) -> None:
        """Tell of offsets from `offset` on that `own` leaves out. Raises `DataLoss`."""
        expected = np.concatenate(([offset], own[:-1] + 1))
        for hole in np.flatnonzero(own != expected).tolist():
            skipped(self._options, self._span.queue, int(expected[hole]), int(own[hole]))

    def _batch(self, waiting: list[Found]) -> pa.RecordBatch:
        data = pa.py_buffer(b"".join([found.body for found in waiting]))
        starts, base = [], 0
        for found in waiting:
            starts.append(found.starts + base)
            base += len(found.body)
        return selected_batch(
            data,
            np.concatenate(starts),
            np.concatenate([found.sizes for found in waiting]),
            np.concatenate([found.physical for found in waiting]),
            self._span.queue,
            self._tags,
            self._options.columns,
        )
