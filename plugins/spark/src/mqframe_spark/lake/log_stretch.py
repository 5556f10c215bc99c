"""A stretch of the commit log, all topics mixed, taken apart by topic and day."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe.core.codes import SysFlag
from mqframe.core.storage.record import MAGIC_BLANK, MAGIC_V1, MAGIC_V2, RecordError
from mqframe_spark.records.arrays import numbers_of
from mqframe_spark.records.gathering import Bytes, Offsets, gather
from mqframe_spark.records.record_columns import V4_HEAD, head_of

DAY_MS: Final = 86_400_000
SLICE_BYTES: Final = 16 << 20
"""Taken apart at once."""

_SIZE_MAGIC: Final = struct.Struct(">ii")
_MAGIC: Final = struct.pack(">i", MAGIC_V1)[:3]
_MAGIC_LAST: Final = struct.pack(">i", MAGIC_V1)[3], struct.pack(">i", MAGIC_V2)[3]
_LONG_RECORD: Final = 4096
_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6


class Slice(NamedTuple):
    """Records in `data`, the content of the log from `base` on: places in it, and sizes, bytes."""

    data: pa.Buffer
    base: int
    starts: Offsets
    sizes: Offsets

    @property
    def end(self) -> int:
        """Commit-log offset behind the last record."""
        return self.base + int(self.starts[-1] + self.sizes[-1])


class Group(NamedTuple):
    """Records of one topic and one day (days since 1970, UTC): numbers of their rows in a slice."""

    topic: str
    day: int
    rows: npt.NDArray[np.int64]


def slices(directory: Path, file_bytes: int, start: int, end: int) -> Iterator[Slice]:
    """The records in [start, end) of the log, which lies within one file, in order.

    Raises `RecordError` for a damaged one, `FileNotFoundError` when the file is gone.
    """
    base = start - start % file_bytes
    with (directory / f"{base:020d}").open("rb") as file:
        data = pa.py_buffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    view, raw = memoryview(data), np.frombuffer(data, np.uint8)
    at, stop = start - base, end - base
    while at < stop:
        limit = min(stop, at + SLICE_BYTES)
        found = _search(raw, at, limit, stop)
        if found is None:
            found = _walk(view, base, at, limit, stop)
        starts, sizes = found
        if not len(starts):
            return
        yield Slice(data, base, starts, sizes)
        at = int(starts[-1] + sizes[-1])


def _walk(view: memoryview, base: int, at: int, limit: int, stop: int) -> tuple[Offsets, Offsets]:
    """Places and sizes of the records that begin in [at, limit), one after the other."""
    starts, sizes = [], []
    while at < limit and at + 8 <= stop:
        size, magic = _SIZE_MAGIC.unpack_from(view, at)
        if magic == MAGIC_BLANK:
            break
        if magic not in (MAGIC_V1, MAGIC_V2) or size <= V4_HEAD.itemsize or at + size > stop:
            raise RecordError(
                f"no record begins at commit-log offset {base + at}; the store is damaged there"
            )
        starts.append(at)
        sizes.append(size)
        at += size
    return np.array(starts, np.int64), np.array(sizes, np.int64)


def _search(raw: Bytes, at: int, limit: int, stop: int) -> tuple[Offsets, Offsets] | None:
    """As `_walk`, by looking for all magic numbers at once.

    `None` when that does not give one unbroken row of records up to `limit`: for a body that holds a magic
    number, for the end of a file, for damage; and when records are so long that there is nothing to gain.
    """
    if at + V4_HEAD.itemsize > limit or int.from_bytes(raw[at : at + 4].tobytes(), "big") > _LONG_RECORD:
        return None
    places = np.flatnonzero(raw[at + 4 : limit] == _MAGIC[0]) + at
    places = places[places + 8 <= limit]
    for number, wanted in enumerate(_MAGIC[1:], 5):
        places = places[raw[places + number] == wanted]
    last = raw[places + 7]
    starts = places[(last == _MAGIC_LAST[0]) | (last == _MAGIC_LAST[1])]
    if not len(starts) or starts[0] != at:
        return None
    sizes = np.zeros(len(starts), np.int64)
    for number in range(4):
        sizes = sizes << 8 | raw[starts + number]
    ends = starts + sizes
    unbroken = (ends[:-1] == starts[1:]).all() and sizes.min() > V4_HEAD.itemsize and ends[-1] <= stop
    # What a magic number crosses the limit for comes with the next slice.
    return (starts, sizes) if unbroken and ends[-1] + 8 > limit else None


def groups(part: Slice) -> list[Group]:
    """The records of `part` that queues can list, by topic and day; rows ascend.

    So neither prepared and rolled-back ones nor stretches that a broker has set aside, which look like these.
    """
    heads = head_of(part.data, part.starts)
    flags = heads["sys_flag"]
    longer = 12 * (
        (flags & SysFlag.BORN_HOST_V6 != 0).astype(np.int64) + (flags & SysFlag.STORE_HOST_V6 != 0)
    )
    body_size, stored = heads["body_size"].astype(np.int64), heads["stored"].astype(np.int64)
    if longer.any():
        raw = np.frombuffer(part.data, np.uint8)
        for row in np.flatnonzero(longer):
            first = int(part.starts[row])
            after_born = 48 + (20 if flags[row] & SysFlag.BORN_HOST_V6 else 8)
            stored[row] = int.from_bytes(raw[first + after_born : first + after_born + 8].tobytes(), "big")
            size_at = first + 84 + int(longer[row])
            body_size[row] = int.from_bytes(raw[size_at : size_at + 4].tobytes(), "big", signed=True)
    length_at = part.starts + V4_HEAD.itemsize + longer + body_size
    ends = part.starts + part.sizes
    if ((body_size < 0) | (length_at + 2 > ends)).any():
        raise RecordError(f"a record behind commit-log offset {part.base + int(part.starts[0])} is damaged")
    raw = np.frombuffer(part.data, np.uint8)
    long_topic = heads["magic"] == MAGIC_V2
    length = raw[length_at].astype(np.int64)
    length[long_topic] = length[long_topic] * 256 + raw[length_at[long_topic] + 1]
    topic_at = length_at + 1 + long_topic
    if (topic_at + length > ends).any():
        raise RecordError(f"a record behind commit-log offset {part.base + int(part.starts[0])} is damaged")
    coded = gather(part.data, topic_at, topic_at + length, pa.string()).dictionary_encode()
    names = coded.dictionary.to_pylist()
    days = stored // DAY_MS
    first_day = int(days.min())
    keys = numbers_of(coded.indices).astype(np.int64) + (days - first_day) * len(names)
    kind = flags & SysFlag.TRANSACTION_MASK
    listed = (kind == SysFlag.TRANSACTION_NONE) | (kind == SysFlag.TRANSACTION_COMMIT)
    return [
        Group(names[key % len(names)], first_day + key // len(names), np.flatnonzero((keys == key) & listed))
        for key in np.unique(keys[listed]).tolist()
    ]
