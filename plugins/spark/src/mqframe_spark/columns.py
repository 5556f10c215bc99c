"""Messages gathered into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow as pa

from mqframe.core import properties as p
from mqframe.core.message import ReceivedMessage
from mqframe_spark.schema import ARROW_SCHEMA

_MAP: Final = ARROW_SCHEMA.field("properties").type
_TIME: Final = ARROW_SCHEMA.field("born_timestamp").type
ROW_BYTES: Final = 64
"""What a message takes besides body and properties, roughly."""


class Columns:
    """Rows of `ARROW_SCHEMA` under way. `rows` and `size_bytes` (roughly) tell how much waits here."""

    __slots__ = (
        "_bodies", "_born", "_broker", "_ids", "_keys", "_names", "_offsets", "_queues", "_starts", "_stored",
        "_tags", "_topics", "_values", "rows", "size_bytes",
    )  # fmt: skip

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._clear()

    def _clear(self) -> None:
        self._topics: list[str] = []
        self._queues: list[int] = []
        self._offsets: list[int] = []
        self._ids: list[str] = []
        self._tags: list[str | None] = []
        self._keys: list[str | None] = []
        self._starts: list[int] = [0]
        self._names: list[str] = []
        self._values: list[str] = []
        self._bodies: list[bytes | None] = []
        self._born: list[int] = []
        self._stored: list[int] = []
        self.rows = 0
        self.size_bytes = 0

    def extend(self, messages: Iterable[ReceivedMessage]) -> None:
        """Add `messages`. Raises `GiveUpError` for a body that cannot be decompressed."""
        for message in messages:
            self.add(message, message.body)

    def add(self, message: ReceivedMessage, body: bytes | None) -> None:
        """Add one message, with `body` for its body."""
        pairs = message.properties
        find = pairs.get
        self._topics.append(message.topic)
        self._queues.append(message.queue_id)
        self._offsets.append(message.queue_offset)
        self._ids.append(find(p.UNIQUE_KEY) or message.offset_message_id)
        self._tags.append(find(p.TAGS))
        self._keys.append(find(p.KEYS))
        self._names += pairs
        self._values += pairs.values()
        self._starts.append(len(self._names))
        self._bodies.append(body)
        self._born.append(message.born_timestamp)
        self._stored.append(message.store_timestamp)
        self.rows += 1
        self.size_bytes += ROW_BYTES + message.store_size + (len(body) if body else 0)

    def take(self) -> pa.RecordBatch:
        """Everything gathered so far as one batch; nothing is left here."""
        batch = self.batch()
        self._clear()
        return batch

    def batch(self) -> pa.RecordBatch:
        """Everything gathered so far as one batch, and kept."""
        text = pa.string()
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self._topics, text),
                pa.repeat(pa.scalar(self._broker, text), self.rows),
                pa.array(np.array(self._queues, np.int32)),
                pa.array(np.array(self._offsets, np.int64)),
                pa.array(self._ids, text),
                pa.array(self._tags, text),
                pa.array(self._keys, text),
                pa.MapArray.from_arrays(
                    pa.array(np.array(self._starts, np.int32)),
                    pa.array(self._names, text),
                    pa.array(self._values, text),
                    type=_MAP,
                ),
                pa.array(self._bodies, pa.binary()),
                pa.array(np.array(self._born, np.int64) * 1000).cast(_TIME),
                pa.array(np.array(self._stored, np.int64) * 1000).cast(_TIME),
            ],
            schema=ARROW_SCHEMA,
        )
