"""Properties of records that all look alike: the same names, and values of the same lengths.

That is how most topics are, stretch by stretch. The texts are then the rows of a table of bytes, and a value
is some of its columns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe_spark.records.arrays import array_of
from mqframe_spark.records.gathering import Bytes, bounds_in_rows, bounds_of, content, repeated

MAP = pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))
NAME_END, PAIR_END = 1, 2
_ROWS_AT_ONCE = 32


class UniformPairs:
    """Names and values in texts of one shape. Made by `of`."""

    def __init__(self, table: Bytes, marks: npt.NDArray[np.int64]) -> None:
        self._table = table
        self.rows = len(table)
        row = table[0].tobytes() if self.rows else b""
        starts = np.concatenate(([0], marks[:-1] + 1))
        self._names = [row[low:high] for low, high in zip(starts[0::2], marks[0::2], strict=True)]
        self._values = [slice(low, high) for low, high in zip(starts[1::2], marks[1::2], strict=True)]

    @classmethod
    def of(cls, texts: pa.Array) -> UniformPairs | None:
        """The pairs in `texts`; `None` when they are not of one shape, or not as brokers write them."""
        rows = len(texts)
        bounds = bounds_of(texts)
        if not rows or bounds[-1] == 0:
            return None
        width = int(bounds[1])
        if bounds[-1] != rows * width or (np.diff(bounds) != width).any():
            return None
        table = content(texts).reshape(rows, width)
        marks = np.flatnonzero(table[0] <= PAIR_END)
        made = table[0][marks]
        if (
            len(marks) % 2
            or marks[-1] != width - 1
            or (made[0::2] != NAME_END).any()
            or (made[1::2] != PAIR_END).any()
            or (np.diff(marks, prepend=-1) < 2).any()
        ):
            return None
        # All but values must be the same in every row, and values may hold no marks.
        low, high = _extremes(table, np.minimum), _extremes(table, np.maximum)
        varying = low != high
        found = cls(table, marks)
        for place in found._values:
            if (low[place] <= PAIR_END).any():
                return None
            varying[place] = False
        alike = not varying.any() and high.max() < 128
        return found if alike and len(set(found._names)) == len(found._names) else None

    def column(self, name: str) -> pa.StringArray:
        """The value of `name` in each record, null where it has none."""
        try:
            place = self._values[self._names.index(name.encode())]
        except ValueError:
            return pa.nulls(self.rows, pa.string())
        cut = np.ascontiguousarray(self._table[:, place])
        bounds = np.arange(0, cut.size + 1, cut.shape[1], dtype=np.int32)
        return pa.Array.from_buffers(pa.string(), self.rows, [None, pa.py_buffer(bounds), pa.py_buffer(cut)])

    def maps(self) -> pa.MapArray:
        """All pairs of each record."""
        count = len(self._names)
        names = repeated(self._names, self.rows)
        cut = np.concatenate([self._table[:, place] for place in self._values], axis=1)
        ends = np.cumsum([place.stop - place.start for place in self._values], dtype=np.int32)
        values = pa.Array.from_buffers(
            pa.string(),
            self.rows * count,
            [None, pa.py_buffer(bounds_in_rows(ends, self.rows)), pa.py_buffer(cut)],
        )
        first = np.arange(0, self.rows * count + 1, count, dtype=np.int32)
        return pa.MapArray.from_arrays(array_of(first), names, values, type=MAP)


def _extremes(table: Bytes, choose: np.ufunc) -> Bytes:
    """The least or the greatest of each column of `table`. Rows are short, so several are taken as one."""
    rows, width = table.shape
    most = rows - rows % _ROWS_AT_ONCE
    found: Bytes = choose.reduce(table[most:], axis=0, initial=255 if choose is np.minimum else 0)
    if most:
        wide = choose.reduce(table[:most].reshape(-1, _ROWS_AT_ONCE * width), axis=0)
        found = choose(found, choose.reduce(wide.reshape(_ROWS_AT_ONCE, width), axis=0))
    return found
