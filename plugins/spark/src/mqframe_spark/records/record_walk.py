"""Where the records of a pull's answer begin: found stretch by stretch where neighbours are of one size."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from mqframe.core.storage.record import HEAD, RecordError
from mqframe.core.wire.frame import Body
from mqframe_spark.records.gathering import Offsets

_SIZE: Final = struct.Struct(">i")
_LOOK: Final = 64
_RUN_MIN: Final = 8
"""Fewer records of one size are not worth a look at many at once."""
_STEPS: Final = 1024
"""Records passed one by one before runs are looked for again."""


def walk(body: Body) -> tuple[Offsets, Offsets]:
    """Starts and sizes of the records that lie back to back in `body`.

    Raises `RecordError` when they do not fill it.
    """
    starts: list[Offsets] = []
    sizes: list[Offsets] = []
    at, end = 0, len(body)
    while at < end:
        size = _size_at(body, at)
        count = _alike(body, at, size)
        if count >= _RUN_MIN:
            starts.append(np.arange(at, at + count * size, size))
            sizes.append(np.full(count, size))
            at += count * size
            continue
        steps = _stepped(body, at)
        starts.append(steps[:-1])
        sizes.append(np.diff(steps))
        at = int(steps[-1])
    if not starts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate(starts), np.concatenate(sizes)


def numbers_at(body: Body, starts: Offsets, sizes: Offsets, place: int) -> Offsets:
    """The 8-byte numbers at byte `place` of the records at `starts`."""
    count = len(starts)
    if count and (sizes == sizes[0]).all():
        kind, stride = np.dtype(">i8"), int(sizes[0])
        return np.ndarray(count, kind, body, int(starts[0]) + place, (stride,)).astype(np.int64)
    raw = np.frombuffer(body, np.uint8)
    found: Offsets = raw[starts[:, None] + np.arange(place, place + 8)].view(">i8")[:, 0].astype(np.int64)
    return found


def _size_at(body: Body, at: int) -> int:
    size = int(_SIZE.unpack_from(body, at)[0]) if at + _SIZE.size <= len(body) else 0
    if size < HEAD.size or at + size > len(body):
        raise _broken(body, at)
    return size


def _stepped(body: Body, at: int) -> Offsets:
    """Where the next records from `at` on begin, and the last of them ends."""
    unpack, last = _SIZE.unpack_from, len(body) - HEAD.size
    passed = [at]
    for _ in range(_STEPS):
        if at > last:
            break
        (size,) = unpack(body, at)
        if size < HEAD.size:
            raise _broken(body, at)
        at += size
        passed.append(at)
    if at > len(body):
        raise _broken(body, passed[-2])
    return np.array(passed)


def _broken(body: Body, at: int) -> RecordError:
    return RecordError(f"byte {at} of an answer of {len(body)} bytes begins no whole record")


def _alike(body: Body, at: int, size: int) -> int:
    """How many records from `at` on have `size`: each is where the one before it ends."""
    room = (len(body) - at) // size
    for count in (min(room, _LOOK), room):
        same = np.ndarray(count, ">i4", body, at, (size,)) == size
        if not same.all():
            return int(np.argmin(same))
    return room
