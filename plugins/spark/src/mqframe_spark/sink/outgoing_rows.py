"""The rows of one Arrow batch as messages: checked, and encoded all at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mqframe.core.errors import MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import ELEMENT_OVERHEAD_BYTES
from mqframe.core.messages.checks import check_sendable_topic, plain_bytes_max
from mqframe.core.messages.message import BODY_BYTES_MAX
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe.core.sending.encoding import BATCH_PROPERTIES
from mqframe_spark.records.arrays import null_mask, numbers_of, scalar_of
from mqframe_spark.records.gathering import bounds_of
from mqframe_spark.sink.frame_columns import DELAYS
from mqframe_spark.sink.key_bytes import UniqueKeys, fixed_binary, key_hashes, numbered
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.row_texts import (
    PairEnd,
    first_true,
    join,
    joined_keys,
    map_pairs,
    pair,
    plain,
)

_HEAD: Final = np.dtype(
    [("size", ">i4"), ("magic", ">i4"), ("crc", ">i4"), ("flag", ">i4"), ("body_size", ">i4")]
)
_UNIQUE_NAME: Final = scalar_of(f"{p.UNIQUE_KEY}{p.NAME_END}")
_TEXT_BYTES_MAX: Final = p.PROPERTIES_BYTES_MAX - len(BATCH_PROPERTIES[True])
"""Brokers append the properties of a batch to those of each of its messages."""
_DELAY_MS_MAX: Final = (1 << 63) - 1

Mask = npt.NDArray[np.bool_]


class OutgoingRows:
    """Rows of `batch`, the first of which is row `first` of its partition.

    `topics`: names; `topic_of`: which of them each row goes to; `alone`: rows that have to travel alone. The
    other arguments are those of `OutgoingBatches`. Raises `MessageError` that names a row and its column.
    """

    def __init__(
        self,
        batch: pa.RecordBatch,
        options: SinkOptions,
        first: int,
        *,
        keys: UniqueKeys,
        idempotence: str,
        where: str,
    ) -> None:
        self._batch = batch
        self._names = frozenset(batch.schema.names)
        self._options = options
        self._first = first
        self._keys = keys
        self._idempotence = idempotence
        self._where = where
        self._count = batch.num_rows
        self.topics, self.topic_of = self._find_topics()
        self._body = self._find_body()
        self._sizes = np.diff(bounds_of(self._body)).astype(np.int64)
        self._check_sizes()
        self._delayed = self._find_delayed()
        self.alone: Mask = self._delayed
        if not options.exactly_once:
            alone = min(options.compress_over_bytes, options.batch_bytes - ELEMENT_OVERHEAD_BYTES)
            self.alone = self._delayed | (self._sizes >= alone)

    def elements(self) -> pa.BinaryArray:
        """Each row as an element of a batch, also those that travel alone."""
        heads = np.zeros(self._count, _HEAD)
        texts = self._texts
        lengths = np.diff(bounds_of(texts))
        heads["size"] = ELEMENT_OVERHEAD_BYTES + self._sizes + lengths
        heads["flag"] = self._flags
        heads["body_size"] = self._sizes
        shorts = lengths.astype(">i2").view(np.uint8).reshape(self._count, 2)
        table = heads.view(np.uint8).reshape(self._count, _HEAD.itemsize)
        return join(fixed_binary(table), self._body, fixed_binary(shorts), texts)

    def shards(self) -> tuple[npt.NDArray[np.int64], Mask]:
        """|hash code| of each row's sharding key, and which rows have one (SelectMessageQueueByHash.java)."""
        column = self._column("sharding_key")
        if column is None:
            return np.zeros(self._count, np.int64), np.zeros(self._count, bool)
        return np.abs(key_hashes(column)), ~null_mask(column)

    def message(self, row: int) -> tuple[bytes, str, int]:
        """Body, properties in text form and flag of one row."""
        return self._body[row].as_py(), self._texts[row].as_py().decode(), int(self._flags[row])

    def delay(self, row: int) -> dict[str, Any]:
        """Keyword arguments of a send for when the row is to be delivered."""
        if not self._delayed[row]:
            return {}
        for name in DELAYS:
            column = self._column(name)
            value = None if column is None else column[row]
            if value is None or not value.is_valid:
                continue
            if name == "delay_seconds":
                return {"delay": float(value.as_py())}
            if name == "delay_level":
                return {"delay_level": value.as_py()}
            return {"deliver_at": -(-value.value // 1000)}
        return {}

    def complain(self, row: int, what: str) -> MessageError:
        """The error for `row`, counted in this batch."""
        place = f"{self._where}, row" if self._where else "row"
        return MessageError(f"{place} {self._first + row}: {what}")

    # Columns

    def _column(self, name: str) -> pa.Array | None:
        if name not in self._names:
            return None
        column = self._batch.column(name)
        return None if column.null_count == self._count else column

    def _find_topics(self) -> tuple[list[str], npt.NDArray[np.int64]]:
        if self._options.topic:
            return [self._options.topic], np.zeros(self._count, np.int64)
        column = plain(self._batch.column("topic"))
        if column.null_count:
            row = first_true(null_mask(column))
            raise self.complain(row, "column topic is null; it must name a topic")
        coded = column.dictionary_encode()
        codes = numbers_of(coded.indices).astype(np.int64)
        names = [raw.decode() for raw in coded.dictionary.to_pylist()]
        for number, name in enumerate(names):
            try:
                check_sendable_topic(name)
                if name.startswith((RETRY_PREFIX, DLQ_PREFIX)):
                    raise MessageError(f"messages to {name} cannot go in a batch")
            except MessageError as problem:
                row = first_true(codes == number)
                raise self.complain(row, f"column topic = {name!r}: {problem}") from None
        return names, codes

    def _find_body(self) -> pa.BinaryArray:
        name = "body" if "body" in self._names else "value"
        body = plain(self._batch.column(name))
        empty = null_mask(body) | (np.diff(bounds_of(body)) == 0)
        if empty.any():
            row = first_true(empty)
            what = "empty" if body[row].is_valid else "null"
            raise self.complain(row, f"column {name} is {what}; a message must have a body")
        return body

    def _check_sizes(self) -> None:
        longest = BODY_BYTES_MAX
        if not self._options.exactly_once:  # then what is long travels alone, and is packed
            longest = plain_bytes_max(BODY_BYTES_MAX, self._options.compress_over_bytes)
        large = self._sizes > longest
        if large.any():
            row = first_true(large)
            topic = self.topics[int(self.topic_of[row])]
            raise self.complain(
                row,
                f"the body of a message to {topic} has {int(self._sizes[row])} bytes, {longest} are allowed",
            )

    @cached_property
    def _flags(self) -> npt.NDArray[np.int32]:
        column = self._column("flag")
        if column is None:
            return np.zeros(self._count, np.int32)
        flags: npt.NDArray[np.int32] = numbers_of(column.cast(pa.int32()))
        return flags

    @cached_property
    def _texts(self) -> pa.BinaryArray:
        """The properties of each row, in the order in which producers write them."""
        parts: list[Any] = [_UNIQUE_NAME, self._keys.take(self._count), PairEnd]
        tags = self._column("tags")
        if tags is not None:
            parts.append(pair(p.TAGS, tags, self.complain, what="tags"))
        keys = self._column("keys")
        if keys is not None:
            if pa.types.is_list(keys.type) or pa.types.is_large_list(keys.type):
                keys = joined_keys(keys, self.complain)
            parts.append(pair(p.KEYS, keys, self.complain, what="keys"))
        idempotence = self._idempotence_keys()
        more = self._column("properties")
        if more is not None:
            parts.append(
                map_pairs(
                    more,
                    "" if idempotence is None else p.IDEMPOTENCE_KEY,
                    drop_reserved=self._options.ignore_columns,
                    complain=self.complain,
                )
            )
        if idempotence is not None:
            parts.append(pair(p.IDEMPOTENCE_KEY, idempotence, self.complain, what="idempotence_key"))
        texts = join(*parts)
        large = np.diff(bounds_of(texts)) > _TEXT_BYTES_MAX
        if large.any():
            row = first_true(large)
            size = len(texts[row].as_py())
            raise self.complain(row, f"the properties have {size} bytes, {_TEXT_BYTES_MAX} are allowed")
        return texts

    def _idempotence_keys(self) -> pa.Array | None:
        given = self._column("idempotence_key")
        if not self._idempotence:
            return given
        made = numbered(self._idempotence, self._first, self._count)
        return made if given is None else pc.coalesce(plain(given), made)

    def _find_delayed(self) -> Mask:
        """Which rows ask for a later delivery; at most one column may say when."""
        delayed = np.zeros(self._count, bool)
        for name in DELAYS:
            column = self._column(name)
            if column is None:
                continue
            asked = ~null_mask(column)
            if name != "deliver_at":
                numbers = numbers_of(column.cast(pa.float64()))
                bad = ~((numbers >= 0) & (numbers * 1000 < _DELAY_MS_MAX))
                if bad.any():
                    row = first_true(bad)
                    raise self.complain(row, f"column {name} = {column[row].as_py()}: must be 0 or more")
                asked = asked & (numbers > 0)
            both = delayed & asked
            if both.any():
                names = ", ".join(name for name in DELAYS if self._column(name) is not None)
                raise self.complain(first_true(both), f"columns {names}: only one of them may say when")
            delayed |= asked
        return delayed
