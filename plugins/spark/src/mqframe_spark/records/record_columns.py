"""Stored records taken apart into Arrow columns, many at once, without a Python object for any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe.core.codes import SysFlag
from mqframe.core.errors import GiveUpError
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import decode_host
from mqframe.core.messages.compression import decompress
from mqframe.core.messages.ids import offset_id
from mqframe.core.storage.record import MAGIC_V1, MAGIC_V2, RecordError
from mqframe.log import get_logger
from mqframe_spark.records.arrays import array_of, null_mask, scalar_of, texts_of
from mqframe_spark.records.gathering import Offsets, content, gather
from mqframe_spark.records.pairs import Pairs
from mqframe_spark.records.schema import ARROW_SCHEMA
from mqframe_spark.records.uniform import UniformPairs

log = get_logger("spark")

_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_TIME: Final = ARROW_SCHEMA.field("born_timestamp").type


def _head(born: int, store: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("size", ">i4"), ("magic", ">i4"), ("crc", ">i4"), ("queue_id", ">i4"), ("flag", ">i4"),
            ("queue_offset", ">i8"), ("physical", ">i8"), ("sys_flag", ">i4"), ("born", ">i8"),
            ("born_host", f"V{born}"), ("stored", ">i8"), ("store_host", f"V{store}"),
            ("reconsume", ">i4"), ("prepared", ">i8"), ("body_size", ">i4"),
        ]
    )  # fmt: skip


V4_HEAD: Final = _head(8, 8)
"""The fixed part of a record whose hosts are both IPv4; up to the first host it is the same for all."""

_HEADS: Final = {
    flags: _head(20 if flags & SysFlag.BORN_HOST_V6 else 8, 20 if flags & SysFlag.STORE_HOST_V6 else 8)
    for flags in (0, SysFlag.BORN_HOST_V6, SysFlag.STORE_HOST_V6, _V6)
}
"""The fixed part of a record by whether its hosts are IPv6."""


def head_of(data: pa.Buffer, starts: Offsets) -> npt.NDArray[np.void]:
    """The first 88 bytes of the records at `starts`, as `V4_HEAD`."""
    return content(gather(data, starts, starts + V4_HEAD.itemsize)).view(V4_HEAD)


def record_batch(
    data: pa.Buffer,
    starts: Offsets,
    sizes: Offsets,
    physical: Offsets,
    topic: str,
    broker: str,
    columns: Sequence[str],
    *,
    offsets: Offsets | None = None,
    lenient: bool = False,
) -> pa.RecordBatch:
    """The `columns` of records of `topic` that lie in `data` at `starts`, `sizes` bytes long.

    `starts` ascend; `physical`: the commit-log offset that each record must repeat, `offsets`: its queue
    offset, where that is known. Raises `RecordError` that names the first damaged one, and `GiveUpError` for
    a body that cannot be decompressed; `lenient`: such a body is null, with a warning.
    """
    schema = pa.schema([ARROW_SCHEMA.field(name) for name in columns])
    _check(sizes >= V4_HEAD.itemsize, physical, "is too short")
    _check((starts >= 0) & (starts + sizes <= data.size), physical, "ends behind the end of its file")
    heads = head_of(data, starts)
    if offsets is not None:
        _check(heads["queue_offset"] == offsets, physical, "is another one than its queue says")
    flags = heads["sys_flag"] & _V6
    if not flags.any():
        return _Records(data, starts, sizes, physical, heads, topic, broker, lenient).batch(schema)
    parts, order = [], []
    for flag in np.unique(flags):
        rows = np.flatnonzero(flags == flag)
        kind = _HEADS[int(flag)]
        first, size, log = starts[rows], sizes[rows], physical[rows]
        _check(size >= kind.itemsize, log, "is too short")
        own = content(gather(data, first, first + kind.itemsize)).view(kind)
        parts.append(_Records(data, first, size, log, own, topic, broker, lenient).batch(schema))
        order.append(rows)
    back = array_of(np.argsort(np.concatenate(order)))
    whole = pa.Table.from_batches(parts, schema).combine_chunks()
    return whole.take(back).combine_chunks().to_batches()[0]


class _Records:
    """Records whose heads are all of one shape."""

    def __init__(
        self,
        data: pa.Buffer,
        starts: Offsets,
        sizes: Offsets,
        physical: Offsets,
        heads: npt.NDArray[np.void],
        topic: str,
        broker: str,
        lenient: bool,
    ) -> None:
        self._lenient = lenient
        self._data = data
        self._heads = heads
        self._physical = physical
        self._topic = topic
        self._broker = broker
        self._rows = len(starts)
        _check(heads["size"] == sizes, physical, "has another size than its queue says")
        long_topic = heads["magic"] == MAGIC_V2
        _check((heads["magic"] == MAGIC_V1) | long_topic, physical, "does not begin as a record does")
        _check(heads["physical"] == physical, physical, "says that it lies elsewhere")
        body_sizes = heads["body_size"].astype(np.int64)
        self._body_starts = starts + heads.dtype.itemsize
        self._body_ends = self._body_starts + body_sizes
        self._ends = starts + sizes
        # Behind the body: the topic with its length in one byte or two, the length of the properties in two.
        self._texts = self._body_ends + 1 + long_topic + len(topic.encode()) + 2
        good = (body_sizes >= 0) & (self._texts <= self._ends)
        _check(good, physical, f"has a body that does not fit it, or is not of topic {topic}")

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([_COLUMNS[name](self) for name in schema.names], schema=schema)

    @cached_property
    def _pairs(self) -> UniformPairs | Pairs:
        texts = gather(self._data, self._texts, self._ends)
        return UniformPairs.of(texts) or Pairs(texts)

    def _number(self, field: str, kind: type[np.generic]) -> pa.Array:
        return array_of(self._heads[field].astype(kind))

    def _time(self, field: str) -> pa.Array:
        return array_of(self._heads[field].astype(np.int64) * 1000).view(_TIME)

    def _same(self, text: str) -> pa.Array:
        return pa.repeat(scalar_of(text, pa.string()), self._rows)

    def _host(self, field: str) -> pa.Array:
        packed = np.ascontiguousarray(self._heads[field])
        width = packed.dtype.itemsize
        # Hosts repeat: dictionary encoding finds the few that there are without sorting.
        coded = pa.Array.from_buffers(
            pa.binary(width), self._rows, [None, pa.py_buffer(packed.view(np.uint8))]
        ).dictionary_encode()
        texts = texts_of([decode_host(raw) for raw in coded.dictionary.to_pylist()], pa.string())
        return texts.take(coded.indices)

    def _message_id(self) -> pa.Array:
        """The unique key; the offset id of a record that has none."""
        keys = self._pairs.column(p.UNIQUE_KEY)
        if not keys.null_count:
            return keys
        told = keys.to_pylist()
        for row in np.flatnonzero(null_mask(keys)).tolist():
            told[row] = offset_id(self._heads["store_host"][row].tobytes(), int(self._physical[row]))
        return texts_of(told, pa.string())

    def _body(self) -> pa.Array:
        bodies = gather(self._data, self._body_starts, self._body_ends)
        packed = self._heads["sys_flag"] & SysFlag.COMPRESSED
        if not packed.any():
            return bodies
        plain = bodies.to_pylist()
        for row in np.flatnonzero(packed).tolist():
            try:
                plain[row] = decompress(plain[row], int(self._heads["sys_flag"][row]))
            except GiveUpError as problem:
                what = (
                    f"topic {self._topic}, the record at commit-log offset {self._physical[row]}: {problem}"
                )
                if not self._lenient:
                    raise GiveUpError(what) from None
                log.warning("body left out", reason=what)
                plain[row] = None
        return texts_of(plain)


_COLUMNS: Final[dict[str, Callable[[_Records], Any]]] = {
    "topic": lambda self: self._same(self._topic),
    "broker": lambda self: self._same(self._broker),
    "queue_id": lambda self: self._number("queue_id", np.int32),
    "queue_offset": lambda self: self._number("queue_offset", np.int64),
    "commitlog_offset": lambda self: self._number("physical", np.int64),
    "msg_id": _Records._message_id,
    "unique_key": lambda self: self._pairs.column(p.UNIQUE_KEY),
    "tags": lambda self: self._pairs.column(p.TAGS),
    "keys": lambda self: self._pairs.column(p.KEYS),
    "properties": lambda self: self._pairs.maps(),
    "body": _Records._body,
    "flag": lambda self: self._number("flag", np.int32),
    "sys_flag": lambda self: self._number("sys_flag", np.int32),
    "born_timestamp": lambda self: self._time("born"),
    "store_timestamp": lambda self: self._time("stored"),
    "born_host": lambda self: self._host("born_host"),
    "store_host": lambda self: self._host("store_host"),
    "reconsume_times": lambda self: self._number("reconsume", np.int32),
}


def _check(good: npt.NDArray[np.bool_], physical: Offsets, what: str) -> None:
    if not good.all():
        first = int(physical[int(np.argmin(good))])
        raise RecordError(f"the record at commit-log offset {first} {what}; the store is damaged there")
