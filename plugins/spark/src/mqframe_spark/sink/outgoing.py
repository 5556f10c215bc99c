"""Rows of a frame as batches of encoded messages, many at once, without a Python object for any row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe.core.errors import FixError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import Message, MessageQueue
from mqframe_spark.records.arrays import array_of
from mqframe_spark.records.gathering import bounds_of, content
from mqframe_spark.sink.key_bytes import UniqueKeys
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.outgoing_rows import OutgoingRows
from mqframe_spark.sink.row_texts import first_true

MESSAGES_MAX: Final = 16_384
"""In one batch, however small they are."""
WAITING_BYTES_MAX: Final = 64 << 20
"""Kept back for fuller batches, of all queues together; beyond it all of it is sent."""
PART_BYTES: Final = 64 << 20
PART_ROWS: Final = 65_536
"""Encoded at once; what is larger is cut."""


@attrs.frozen
class Outgoing:
    """What one request carries.

    `queue`: where it must go; `None`: any queue of the topic may take it. `elements`: `count` messages,
    encoded as a batch (`core.messages.batch`); empty when `single` is there, a message that has to travel
    alone, with `delay`, keyword arguments of `Producer.send`. `rows`: first and last of the rows in it,
    counted from 0 in their partition.
    """

    topic: str
    queue: MessageQueue | None
    elements: bytes
    count: int
    rows: tuple[int, int]
    single: Message | None = None
    delay: Mapping[str, Any] = {}


class _Waiting:
    """Elements of one queue that do not fill a batch yet."""

    __slots__ = ("count", "data", "first", "last")

    def __init__(self) -> None:
        self.data = bytearray()
        self.count = 0
        self.first = self.last = -1

    def add(self, data: memoryview, count: int, rows: tuple[int, int]) -> None:
        self.data += data
        self.first = rows[0] if not self.count else min(self.first, rows[0])
        self.last = max(self.last, rows[1])
        self.count += count

    def take(self, topic: str, queue: MessageQueue | None) -> Outgoing:
        made = Outgoing(topic, queue, bytes(self.data), self.count, (self.first, self.last))
        self.data, self.count, self.first, self.last = bytearray(), 0, -1, -1
        return made


class OutgoingBatches:
    """Cuts the rows of one partition into requests.

    `queues`: gives the queues of a topic that can be written, and raises `FixError` for a topic that is not
    there; asked once for each. `keys`: the unique keys of the messages. `idempotence`: what the keys that
    nobody gave begin with; empty: there are none. `where`: names the partition in errors.

    With `exactly_once` no message travels alone. Rows of one sharding key come in their order, for one queue;
    so do the requests of one queue.
    """

    def __init__(
        self,
        options: SinkOptions,
        queues: Callable[[str], Sequence[MessageQueue]],
        keys: UniqueKeys,
        *,
        idempotence: str = "",
        where: str = "",
    ) -> None:
        self._options = options
        self._ask_queues = queues
        self._queues: dict[str, Sequence[MessageQueue]] = {}
        self._keys = keys
        self._idempotence = idempotence
        self._where = where
        self._row = 0
        self._waiting: dict[tuple[str, MessageQueue | None], _Waiting] = {}

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Outgoing]:
        """All requests for the rows of `batches`. Raises as `add`."""
        for batch in batches:
            yield from self.add(batch)
        yield from self.rest()

    def add(self, batch: pa.RecordBatch) -> Iterator[Outgoing]:
        """The requests that `batch` fills. Raises `MessageError` that names a row which no broker takes."""
        for part in parts_of(batch):
            yield from self._part(part)
        if sum(len(waiting.data) for waiting in self._waiting.values()) > WAITING_BYTES_MAX:
            yield from self.rest()

    def rest(self) -> Iterator[Outgoing]:
        """What waits to be filled up."""
        for (topic, queue), waiting in self._waiting.items():
            if waiting.count:
                yield waiting.take(topic, queue)

    def _part(self, batch: pa.RecordBatch) -> Iterator[Outgoing]:
        rows = OutgoingRows(
            batch, self._options, self._row, keys=self._keys, idempotence=self._idempotence, where=self._where
        )
        for number, name in enumerate(rows.topics):
            if name not in self._queues:
                self._queues[name] = self._find_queues(name, rows, number)
        lanes, numbers = self._lanes(rows)
        elements = rows.elements()
        order = np.arange(len(numbers))
        stops = np.array([len(numbers)])
        if len(lanes) > 1:
            order = np.argsort(numbers, kind="stable")
            elements = elements.take(array_of(order))
            stops = np.searchsorted(numbers[order], np.arange(len(lanes)), "right")
        cut = _Cut(self._row, rows, content(elements), bounds_of(elements), order)
        begin = 0
        for (topic, queue), stop in zip(lanes, stops.tolist(), strict=True):
            yield from self._lane(cut, topic, queue, begin, stop)
            begin = stop
        self._row += batch.num_rows

    def _find_queues(self, topic: str, rows: OutgoingRows, number: int) -> Sequence[MessageQueue]:
        try:
            return tuple(self._ask_queues(topic))
        except FixError as problem:
            if self._options.topic:
                raise
            row = first_true(rows.topic_of == number)
            raise rows.complain(row, f"column topic = {topic!r}: no name server knows it") from problem

    def _lanes(
        self, rows: OutgoingRows
    ) -> tuple[list[tuple[str, MessageQueue | None]], npt.NDArray[np.int64]]:
        """Where the rows go, and the number of each row's place."""
        shards, keyed = rows.shards()
        if len(rows.topics) == 1 and not keyed.any():
            return [(rows.topics[0], None)], rows.topic_of
        counts = np.array([len(self._queues[name]) for name in rows.topics])
        first = np.concatenate(([0], np.cumsum(counts + 1)))
        numbers = first[rows.topic_of] + np.where(keyed, 1 + shards % counts[rows.topic_of], 0)
        used = np.unique(numbers)
        lanes: list[tuple[str, MessageQueue | None]] = []
        for number in used.tolist():
            at = int(np.searchsorted(first, number, "right")) - 1
            place = number - int(first[at]) - 1
            topic = rows.topics[at]
            lanes.append((topic, self._queues[topic][place] if place >= 0 else None))
        return lanes, np.searchsorted(used, numbers)

    def _lane(
        self, cut: _Cut, topic: str, queue: MessageQueue | None, begin: int, stop: int
    ) -> Iterator[Outgoing]:
        waiting = self._waiting.setdefault((topic, queue), _Waiting())
        for at in (np.flatnonzero(cut.alone[begin:stop]) + begin).tolist():
            yield from self._fill(waiting, cut, topic, queue, begin, at)
            if queue is not None and waiting.count:
                yield waiting.take(topic, queue)  # so that the rows of a key stay in order
            yield cut.single(topic, queue, at)
            begin = at + 1
        yield from self._fill(waiting, cut, topic, queue, begin, stop)

    def _fill(
        self, waiting: _Waiting, cut: _Cut, topic: str, queue: MessageQueue | None, begin: int, stop: int
    ) -> Iterator[Outgoing]:
        limit = self._options.batch_bytes
        while begin < stop:
            end = min(
                cut.fitting(begin, limit - len(waiting.data)), begin + MESSAGES_MAX - waiting.count, stop
            )
            if end <= begin:
                if waiting.count:
                    yield waiting.take(topic, queue)
                    continue
                end = begin + 1  # larger than a batch may be, all by itself
            waiting.add(cut.bytes(begin, end), end - begin, cut.rows(begin, end))
            begin = end


class _Cut:
    """Encoded rows, ordered by where they go."""

    def __init__(
        self,
        first: int,
        rows: OutgoingRows,
        data: npt.NDArray[np.uint8],
        bounds: npt.NDArray[np.int32],
        order: npt.NDArray[np.int64],
    ) -> None:
        self._first = first
        self._rows = rows
        self._data = data.data
        self._bounds = bounds
        self._order = order
        self.alone = rows.alone[order]

    def fitting(self, begin: int, size: int) -> int:
        """The row behind the last one from `begin` on that fits into `size` bytes."""
        return int(np.searchsorted(self._bounds, int(self._bounds[begin]) + size, "right")) - 1

    def bytes(self, begin: int, end: int) -> memoryview:
        return self._data[int(self._bounds[begin]) : int(self._bounds[end])]

    def rows(self, begin: int, end: int) -> tuple[int, int]:
        return self._first + int(self._order[begin]), self._first + int(self._order[end - 1])

    def single(self, topic: str, queue: MessageQueue | None, at: int) -> Outgoing:
        row = int(self._order[at])
        body, text, flag = self._rows.message(row)
        pairs = p.decode_properties(text)
        pairs.pop(p.UNIQUE_KEY, None)  # the producer gives it one
        tag = pairs.pop(p.TAGS, None)
        keys = [key for key in pairs.pop(p.KEYS, "").split(" ") if key]
        message = Message(topic, body, tag, keys, pairs, flag)
        number = self._first + row
        return Outgoing(topic, queue, b"", 1, (number, number), message, self._rows.delay(row))


def parts_of(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """`batch` in parts that can be encoded at once."""
    rows = batch.num_rows
    if rows > 1 and (rows > PART_ROWS or batch.nbytes > PART_BYTES):
        half = rows // 2
        yield from parts_of(batch.slice(0, half))
        yield from parts_of(batch.slice(half))
    elif rows:
        yield batch
