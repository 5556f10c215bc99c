"""Queues read through their brokers, in tasks."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from mqframe import Sql
from mqframe.core.errors import RetryError
from mqframe.core.frame import Body
from mqframe.core.pull import PullStatus, RawPull
from mqframe.core.tag_filter import TagFilter
from mqframe_spark.options import SourceOptions
from mqframe_spark.planning import skipped
from mqframe_spark.positions import DataLoss, Span, lost
from mqframe_spark.retrying import PAUSES_SECONDS
from mqframe_spark.selecting import selected_batch
from mqframe_spark.wire import Wire

BATCH_BYTES: Final = 4 << 20
"""Answers are gathered until they have so many bytes, so that decoding pays."""

_SIZE: Final = struct.Struct(">i")
_QUEUE_OFFSET_AT: Final = 20
_PHYSICAL: Final = struct.Struct(">qq")


class Found(NamedTuple):
    """An answer: its bytes, and the place, size and commit-log offset of each record that is wanted of it."""

    body: Body
    starts: list[int]
    sizes: list[int]
    physical: list[int]
    next_offset: int


class BrokerSpanReader:
    """Reads one span. While one answer is taken apart, the next is under way."""

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

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Arrow batches by offset. Raises `DataLoss` for the first message that is no longer there."""
        _, offset, end = self._span
        waiting: list[Found] = []
        size = 0
        with ThreadPoolExecutor(1, "mqframe-pull") as ahead:
            pending = ahead.submit(self._pull, offset)
            while offset < end:
                found = self._wanted(pending.result(), offset)
                offset = found.next_offset
                if offset < end:
                    pending = ahead.submit(self._pull, offset)
                if found.starts:
                    waiting.append(found)
                    size += len(found.body)
                if size >= BATCH_BYTES:
                    yield from self._batch(waiting)
                    waiting, size = [], 0
        if waiting:
            yield from self._batch(waiting)

    def _pull(self, offset: int) -> RawPull:
        """A pull that found something at `offset`, or says where to go on. Passing faults are borne."""
        queue = self._span.queue
        moved = False
        for pause in (*PAUSES_SECONDS, None):
            try:
                if moved:
                    self._wire.route(queue.topic)  # the broker may be elsewhere by now
                result = self._wire.pull(queue, offset, self._expression)
            except RetryError:
                if pause is None:
                    raise
                moved = True
                self._sleep(pause)
                continue
            if result.status is PullStatus.NO_NEW_MSG and result.next_offset <= offset and pause is not None:
                # The end was planned from what the broker said, so the message is about to be there.
                self._sleep(pause)
                continue
            return result
        return result

    def _wanted(self, result: RawPull, offset: int) -> Found:
        """The records of an answer from `offset` on and before the end; none left out, or `DataLoss`."""
        queue, _, end = self._span
        if result.status is PullStatus.OFFSET_ILLEGAL:
            held = min(max(result.next_offset, result.min_offset), end)
            if held <= offset:
                raise DataLoss(lost(queue, offset, f"the queue ends at {result.max_offset}"))
            return Found(b"", [], [], [], skipped(self._options, queue, offset, held))
        body = result.records
        starts, sizes, physical = [], [], []
        at, expected = 0, offset
        while at < len(body):
            (size,) = _SIZE.unpack_from(body, at)
            own, place = _PHYSICAL.unpack_from(body, at + _QUEUE_OFFSET_AT)
            if own >= end:
                break
            if own >= offset:
                if own != expected and not self._filtered:
                    skipped(self._options, queue, expected, own)
                starts.append(at)
                sizes.append(size)
                physical.append(place)
                expected = own + 1
            at += size
        following = min(max(expected, result.next_offset if self._filtered or not starts else expected), end)
        if following <= offset:
            raise DataLoss(lost(queue, offset, "the broker finds nothing there"))
        if not starts and not self._filtered:
            skipped(self._options, queue, offset, following)
        return Found(body, starts, sizes, physical, following)

    def _batch(self, waiting: list[Found]) -> Iterator[pa.RecordBatch]:
        queue, columns = self._span.queue, self._options.columns
        data = pa.py_buffer(b"".join([found.body for found in waiting]))
        starts, base = [], 0
        for found in waiting:
            starts.append(np.array(found.starts, np.int64) + base)
            base += len(found.body)
        sizes = np.concatenate([np.array(found.sizes, np.int64) for found in waiting])
        physical = np.concatenate([np.array(found.physical, np.int64) for found in waiting])
        yield selected_batch(data, np.concatenate(starts), sizes, physical, queue, self._tags, columns)
