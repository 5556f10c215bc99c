"""The properties of many records at once: every separator is found in one pass over all their texts."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mqframe.core.messages.properties import decode_properties
from mqframe_spark.records.arrays import Mask, array_of, numbers_of
from mqframe_spark.records.gathering import Bytes, bounds_of, content, gather, repeated
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
        self._words = np.empty((1, self.rows), np.int32)
        """Of texts with as many pairs each: the byte before each word, and the one behind the last."""
        if not self._split(texts):
            self._split_one_by_one(texts)

    def _split(self, texts: pa.Array) -> bool:
        """Find all pairs; False when a text is not as brokers write it."""
        raw, bounds = content(texts), bounds_of(texts)
        marks = np.flatnonzero(raw <= PAIR_END)
        self._raw: Bytes = raw
        self._ends = marks
        if not len(marks):
            self.first = np.zeros(self.rows + 1, np.int64)
            return not len(raw)
        kinds = raw[marks]
        if (
            len(marks) % 2
            or (kinds[0::2] != NAME_END).any()
            or (kinds[1::2] != PAIR_END).any()
            or marks[0] == 0
            or (np.diff(marks) < 2).any()
            or not (raw.max() < 128 or _is_utf8(raw))
        ):
            return False
        each = int(np.searchsorted(marks, bounds[1]))
        as_many = each and each % 2 == 0 and len(marks) == each * self.rows
        if as_many and (marks[each - 1 :: each] == bounds[1:] - 1).all():
            self.first = np.arange(self.rows + 1) * (each // 2)
            self._words = np.empty((each + 1, self.rows), np.int32)
            self._words[0] = bounds[:-1] - 1
            self._words[1:] = marks.reshape(self.rows, each).T
            return True
        self.first = np.searchsorted(marks, bounds.astype(np.int64)) // 2
        lasts = bounds[1:][np.diff(bounds) > 0] - 1
        return bool((raw[lasts] == PAIR_END).all())

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
    def _starts(self) -> npt.NDArray[np.int64]:
        """Where each name and each value begins; both follow the mark before them."""
        starts = np.empty(len(self._ends), np.int64)
        starts[:1] = 0
        np.add(self._ends[:-1], 1, out=starts[1:])
        return starts

    @cached_property
    def _data(self) -> pa.Buffer:
        return pa.py_buffer(self._raw)

    def column(self, name: str) -> pa.StringArray:
        """The value of `name` in each record, null where it has none."""
        wanted = name.encode()
        place = self._place_of(wanted)
        if place is not None:
            return gather(self._data, self._words[place + 1] + 1, self._words[place + 2], pa.string())
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

    def _place_of(self, name: bytes) -> int | None:
        """Which word of each record is `name`, where it is the same one in all and no other is."""
        found = None
        for place in range(0, len(self._words) - 1, 2):
            named = self._are_named(place, name)
            if named is None:
                continue
            if found is not None or not named.all():
                return None
            found = place
        return found

    def _are_named(self, place: int, name: bytes) -> Mask | None:
        """Of which records the word number `place` is `name`; `None` for none at all."""
        before = self._words[place]
        named: Mask = self._words[place + 1] - before == len(name) + 1
        for size, at in _parts(len(name)):
            if not named.any():
                return None
            # Numbers that begin at any byte: the texts as an array of numbers that overlap.
            numbers = np.ndarray(len(self._raw) - size + 1, f"<u{size}", self._raw, 0, (1,))
            # Of a shorter word at the end of the texts there is no whole number.
            some = numbers[np.minimum(before + (at + 1), len(numbers) - 1)]
            named &= some == int.from_bytes(name[at : at + size], "little")
        return named if named.any() else None

    def _common_names(self) -> list[bytes] | None:
        """The names of each record, where all have the same ones in the same order, and none twice."""
        if not self.rows or len(self._words) == 1:
            return None
        first = self._words[:, 0].tolist()
        names = [
            self._raw[low + 1 : high].tobytes() for low, high in zip(first[0::2], first[1::2], strict=False)
        ]
        if len(set(names)) != len(names):
            return None
        named = (self._are_named(2 * place, name) for place, name in enumerate(names))
        return names if all(mask is not None and mask.all() for mask in named) else None

    def maps(self) -> pa.MapArray:
        """All pairs of each record."""
        values = gather(self._data, self._starts[1::2], self._ends[1::2], pa.string())
        first, common = self.first, self._common_names()
        if common is not None:
            names = repeated(common, self.rows)
            return pa.MapArray.from_arrays(array_of(first.astype(np.int32)), names, values, type=MAP)
        names = gather(self._data, self._starts[0::2], self._ends[0::2], pa.string())
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


def _parts(size: int) -> list[tuple[int, int]]:
    """Sizes and places of numbers that cover `size` bytes; the last one may overlap the one before."""
    word = next(each for each in (8, 4, 2, 1) if each <= size)
    places = [*range(0, size - word, word), size - word]
    return [(word, place) for place in places]


def _is_utf8(raw: Bytes) -> bool:
    try:
        raw.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
