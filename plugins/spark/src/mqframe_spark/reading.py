"""What a task does: reads [start, end) of one queue, all of it and nothing twice, as Arrow batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from mqframe.core.errors import GiveUpError, RetryError
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.pull import PullResult, PullStatus
from mqframe_spark.columns import Columns
from mqframe_spark.options import SourceOptions
from mqframe_spark.positions import DataLoss, Span, lost
from mqframe_spark.retrying import PAUSES_SECONDS
from mqframe_spark.wire import Wire, connect

BATCH_ROWS_MAX: Final = 8192
BATCH_BYTES_MAX: Final = 8 * 1024 * 1024


class QueueSpan(InputPartition):
    """The work of one task."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self.span = span

    def __repr__(self) -> str:
        queue, start, end = self.span
        return f"QueueSpan({queue.topic}, {queue.broker_name}/{queue.queue_id}, {start}..{end})"


def read_partition(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The batches of `partition`. One that is no `QueueSpan` is Spark's stand-in for "nothing to read"."""
    if not isinstance(partition, QueueSpan):
        return
    wire = connect(options.nameserver, options.group)
    try:
        yield from SpanReader(wire, partition.span).batches()
    finally:
        wire.close()


class SpanReader:
    """Reads one span. While one answer is taken apart, the next is under way."""

    def __init__(self, wire: Wire, span: Span, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._wire = wire
        self._span = span
        self._sleep = sleep

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Arrow batches by offset. Raises `DataLoss` for the first message that is no longer there."""
        queue, offset, end = self._span
        columns = Columns(queue.broker_name)
        with ThreadPoolExecutor(1, "mqframe-pull") as ahead:
            pending = ahead.submit(self._pull, queue, offset)
            while offset < end:
                messages = _wanted(pending.result().messages, queue, offset, end)
                offset += len(messages)
                if offset < end:
                    pending = ahead.submit(self._pull, queue, offset)
                try:
                    columns.extend(messages)
                except GiveUpError as problem:
                    raise GiveUpError(
                        f"{queue} between {offset - len(messages)} and {offset}: {problem}"
                    ) from None
                if columns.rows >= BATCH_ROWS_MAX or columns.size_bytes >= BATCH_BYTES_MAX:
                    yield columns.take()
        if columns.rows:
            yield columns.take()

    def _pull(self, queue: MessageQueue, offset: int) -> PullResult:
        """What is at `offset`: a pull that found something. Passing faults are borne."""
        moved = False
        for pause in (*PAUSES_SECONDS, None):
            try:
                if moved:
                    self._wire.route(queue.topic)  # the broker may be elsewhere by now
                result = self._wire.pull(queue, offset)
            except RetryError:
                if pause is None:
                    raise
                moved = True
                self._sleep(pause)
                continue
            if result.status is PullStatus.FOUND and result.messages:
                return result
            if result.status is PullStatus.OFFSET_ILLEGAL or result.next_offset > offset:
                held = f"the broker holds {result.min_offset} to {result.max_offset}"
                raise DataLoss(lost(queue, offset, held))
            if pause is not None:
                # The end was planned from what the broker said, so the message is about to be there.
                self._sleep(pause)
        raise DataLoss(lost(queue, offset, "the broker finds nothing there"))


def _wanted(
    messages: Sequence[ReceivedMessage], queue: MessageQueue, offset: int, end: int
) -> list[ReceivedMessage]:
    """Those of `messages` from `offset` on and before `end`: at least one, none left out, or `DataLoss`."""
    wanted = [message for message in messages if message.queue_offset >= offset]
    for expected, message in enumerate(wanted, offset):
        if message.queue_offset != expected:
            raise DataLoss(lost(queue, expected, f"{message.queue_offset} came next"))
    if not wanted:
        raise DataLoss(lost(queue, offset, "the broker gave older messages"))
    return wanted[: end - offset]
