"""Many slices of one buffer, copied together at once.

The wanted slices and the gaps between them make one Arrow binary array that is laid over the buffer without a
copy; `take` gathers the slices. No Python object is made for any of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe_spark.records.arrays import array_of, texts_of

Offsets = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def gather(data: pa.Buffer, starts: Offsets, ends: Offsets, kind: pa.DataType | None = None) -> pa.Array:
    """The slices [start, end) of `data`, which is shorter than 2 GiB, as an array of `kind` (binary).

    `starts` and `ends` ascend, and the slices do not overlap.
    """
    count = len(starts)
    if not count:
        return texts_of([], kind)
    bounds = np.empty(2 * count, np.int32)
    bounds[0::2] = starts
    bounds[1::2] = ends
    laid = pa.Array.from_buffers(
        kind or pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds.tobytes()), data]
    )
    return laid.take(array_of(np.arange(0, 2 * count, 2, dtype=np.int32)))


def repeated(words: Sequence[bytes], count: int) -> pa.Array:
    """`words`, all of them, `count` times, as an array of strings."""
    bounds = bounds_in_rows(np.cumsum([len(word) for word in words], dtype=np.int32), count)
    data = pa.py_buffer(b"".join(words) * count)
    return pa.Array.from_buffers(pa.string(), len(words) * count, [None, pa.py_buffer(bounds), data])


def bounds_in_rows(ends: npt.NDArray[np.int32], rows: int) -> npt.NDArray[np.int32]:
    """Where words lie that fill `rows` of one shape, back to back; `ends`: where they end in a row."""
    bounds = np.zeros(len(ends) * rows + 1, np.int32)
    firsts = np.arange(rows, dtype=np.int32) * ends[-1]
    np.add(firsts[:, None], ends, out=bounds[1:].reshape(rows, len(ends)))
    return bounds


def bounds_of(array: pa.Array) -> npt.NDArray[np.int32]:
    """Where the elements of a binary or string array begin in `content`, and where the last one ends."""
    if not len(array):
        return np.zeros(1, np.int32)
    bounds = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)
    moved: npt.NDArray[np.int32] = bounds - bounds[0]
    return moved


def content(array: pa.Array) -> Bytes:
    """The bytes of all elements of a binary or string array, back to back."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return np.empty(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4)
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
