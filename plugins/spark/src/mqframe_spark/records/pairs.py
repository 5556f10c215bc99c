"""The properties of many records at once: every separator is found in one pass over all their texts."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe.core.messages.properties import decode_properties
from mqframe_spark.records.arrays import array_of, numbers_of
from mqframe_spark.records.gathering import Bytes, bounds_of, content, gather
from mqframe_spark.records.uniform import MAP, NAME_END, PAIR_END

_CODES_MAX = 62
"""Names that fit the bits of a number of 64 bits."""


class Pairs:
    """Names and values in `texts`, one text of properties a record, `name 0x01 value 0x02` repeated.

    As for every reader, pairs without a name or a value are left out, and of a name that occurs twice in a
    record the last value counts. Bytes that are no UTF-8 are replaced.
    """

    def __init__(self, texts: pa.Array) -> None:
        self.rows = len(texts)
        if not self._split(texts):
            self._split_one_by_one(texts)

    def _split(self, texts: pa.Array) -> bool:
        """Find all pairs; False when a text is not as brokers write it."""
        raw, bounds = content(texts), bounds_of(texts).astype(np.int64)
        marks = np.flatnonzero(raw <= PAIR_END)
        self._raw: Bytes = raw
        self._starts = np.empty(len(marks), np.int64)
        self._ends = marks
        if not len(marks):
            self.first = np.zeros(self.rows + 1, np.int64)
            return not len(raw)
        self._starts[0] = 0
        self._starts[1:] = marks[:-1] + 1
        self.first = np.searchsorted(marks, bounds) // 2
        lasts = bounds[1:][np.diff(bounds) > 0] - 1
        return bool(
            len(marks) % 2 == 0
            and (raw[marks[0::2]] == NAME_END).all()
            and (raw[marks[1::2]] == PAIR_END).all()
            and (raw[lasts] == PAIR_END).all()
            and (self._ends > self._starts).all()
            and (raw.max() < 128 or _is_utf8(raw))
        )

    def _split_one_by_one(self, texts: pa.Array) -> None:
        """As `_split`, for texts of any kind."""
        raw = bytearray()
        starts, ends, first = [], [], [0]
        for text in texts.to_pylist():
            pairs = decode_properties(text.decode("utf-8", "replace"))
            for word in (word for pair in pairs.items() for word in pair):
                starts.append(len(raw))
                raw += word.encode()
                ends.append(len(raw))
            first.append(first[-1] + len(pairs))
        self._raw = np.frombuffer(bytes(raw), np.uint8)
        self._starts, self._ends = np.array(starts, np.int64), np.array(ends, np.int64)
        self.first = np.array(first, np.int64)

    @cached_property
    def _data(self) -> pa.Buffer:
        return pa.py_buffer(self._raw)

    def column(self, name: str) -> pa.StringArray:
        """The value of `name` in each record, null where it has none."""
        wanted = name.encode()
        starts, ends = self._starts[0::2], self._ends[0::2]
        found = np.flatnonzero(ends - starts == len(wanted))
        for at, letter in enumerate(wanted):
            if not len(found):
                break
            found = found[self._raw[starts[found] + at] == letter]
        rows = np.searchsorted(self.first, found, "right") - 1
        if len(found) == self.rows and (rows[1:] > rows[:-1]).all():
            return gather(self._data, self._starts[1::2][found], self._ends[1::2][found], pa.string())
        last = np.full(self.rows, -1, np.int64)
        last[rows] = found  # of several the last one stays
        kept = last[last >= 0]
        values = gather(self._data, self._starts[1::2][kept], self._ends[1::2][kept], pa.string())
        places = np.cumsum(last >= 0) - 1
        return values.take(array_of(places, last < 0))

    def maps(self) -> pa.MapArray:
        """All pairs of each record."""
        names = gather(self._data, self._starts[0::2], self._ends[0::2], pa.string())
        values = gather(self._data, self._starts[1::2], self._ends[1::2], pa.string())
        first = self.first
        kept = self._without_doubles(names)
        if kept is not None:
            first = np.concatenate(([0], np.cumsum(kept)))[first]
            chosen = array_of(np.flatnonzero(kept))
            names, values = names.take(chosen), values.take(chosen)
        return pa.MapArray.from_arrays(array_of(first.astype(np.int32)), names, values, type=MAP)

    def _without_doubles(self, names: pa.Array) -> npt.NDArray[np.bool_] | None:
        """Which pairs count; `None` when no record names anything twice."""
        if not len(names):
            return None
        coded = names.dictionary_encode()
        codes = numbers_of(coded.indices).astype(np.int64)
        counts = np.diff(self.first)
        if len(coded.dictionary) <= _CODES_MAX:
            bits = np.int64(1) << codes
            begins = self.first[:-1][counts > 0]
            if (np.add.reduceat(bits, begins) == np.bitwise_or.reduceat(bits, begins)).all():
                return None
        row = np.repeat(np.arange(self.rows), counts)
        keys = row * len(coded.dictionary) + codes
        _, at = np.unique(keys[::-1], return_index=True)
        kept = np.zeros(len(keys), bool)
        kept[len(keys) - 1 - at] = True
        return None if kept.all() else kept


def _is_utf8(raw: Bytes) -> bool:
    try:
        raw.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
