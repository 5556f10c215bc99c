"""The properties of many rows at once, in their text form: `name 0x01 value 0x02`, repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mqframe.core.messages import properties as p
from mqframe_spark.records.arrays import array_of, flags_of, null_mask, numbers_of, scalar_of, texts_of
from mqframe_spark.records.gathering import bounds_of, content

NameEnd: Final = scalar_of(p.NAME_END)
PairEnd: Final = scalar_of(p.PAIR_END)
_NOTHING: Final = scalar_of(b"")
_NULL: Final = scalar_of(None)
_SPACE: Final = scalar_of(b" ")
_RESERVED: Final = texts_of(sorted(p.RESERVED))

Complain = Callable[[int, str], Exception]
"""Makes the error for a row, counted within its Arrow batch, and what is wrong with it."""


def join(*parts: pa.Array | pa.Scalar) -> pa.BinaryArray:
    """The bytes of `parts` behind one another, row by row; null adds nothing."""
    return pc.binary_join_element_wise(*parts, _NOTHING, null_handling="replace", null_replacement=b"")


def joined_where_all(*parts: pa.Array | pa.Scalar) -> pa.BinaryArray:
    """As `join`; null where one of them is."""
    return pc.binary_join_element_wise(*parts, _NOTHING)


def plain(column: pa.Array) -> pa.BinaryArray:
    """A text or binary column, of whatever width, as binary."""
    return column.cast(pa.binary())


def first_true(mask: npt.NDArray[np.bool_]) -> int:
    """The first row of `mask`, which holds one."""
    return int(np.argmax(mask))


def pair(name: str, column: pa.Array, complain: Complain, *, what: str) -> pa.BinaryArray:
    """The pair of `name` and each value of `column`, nothing for null and for an empty text."""
    values = plain(column)
    separators = _with_separator(values)
    if separators is not None:
        raise complain(separators, f"column {what} holds a character 1 or 2, which separate properties")
    empty = (np.diff(bounds_of(values)) == 0) & ~null_mask(values)
    if empty.any():
        values = pc.if_else(array_of(empty), _NULL, values)
    if values.null_count == len(values):
        return pa.nulls(len(values), pa.binary())
    return joined_where_all(scalar_of(f"{name}{p.NAME_END}"), values, PairEnd)


def joined_keys(column: pa.ListArray, complain: Complain) -> pa.BinaryArray:
    """A list of keys as one text with spaces between."""
    flat = plain(column.flatten())
    lengths = numbers_of(pc.list_value_length(column))
    raw, bounds = content(flat), bounds_of(flat)
    bad = null_mask(flat) | (np.diff(bounds) == 0)
    bad[_elements_of(bounds, np.flatnonzero(raw == ord(" ")))] = True
    if bad.any():
        row = int(np.repeat(np.arange(len(column)), lengths)[first_true(bad)])
        raise complain(
            row, "column keys holds a key that is null, empty or has a space, which separates keys"
        )
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    dense = pa.ListArray.from_arrays(array_of(offsets), flat)
    return pc.binary_join(dense, _SPACE)


def map_pairs(
    column: pa.MapArray, left_out: str, *, drop_reserved: bool, complain: Complain
) -> pa.BinaryArray:
    """The pairs of each row's map, in their order.

    `left_out`: a name whose pair is somebody else's to give, or empty. `drop_reserved`: leave out the names
    that belong to the system instead of complaining.
    """
    rows = len(column)
    offsets = numbers_of(column.offsets).astype(np.int64)
    counts = np.diff(offsets)
    counts[null_mask(column)] = 0
    starts = np.repeat(offsets[:-1] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    places = array_of(np.arange(len(starts)) + starts)
    row_of = np.repeat(np.arange(rows), counts)
    names, values = plain(column.keys.take(places)), plain(column.items.take(places))
    dropped = np.zeros(len(names), bool)
    reserved = flags_of(pc.is_in(names, value_set=_RESERVED))
    if reserved.any():
        if not drop_reserved:
            at = first_true(reserved)
            raise complain(
                int(row_of[at]),
                f"column properties: {names[at].as_py().decode()!r} belongs to the system; choose another "
                "name, or set ignoreColumns = 'true' to leave it out",
            )
        dropped |= reserved
    if left_out:
        dropped |= flags_of(pc.equal(names, scalar_of(left_out)))
    if dropped.any():
        kept = array_of(~dropped)
        names, values, row_of = names.filter(kept), values.filter(kept), row_of[~dropped]
        counts = np.bincount(row_of, minlength=rows)
    _check_pairs(names, values, row_of, complain)
    pairs = joined_where_all(names, NameEnd, values, PairEnd)
    bounds = bounds_of(pairs)[np.concatenate(([0], np.cumsum(counts)))]
    return pa.Array.from_buffers(
        pa.binary(), rows, [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(content(pairs))]
    )


def _check_pairs(
    names: pa.BinaryArray, values: pa.BinaryArray, row_of: npt.NDArray[np.int64], complain: Complain
) -> None:
    for which, texts in (("name", names), ("value", values)):
        bad = null_mask(texts) | (np.diff(bounds_of(texts)) == 0)
        if bad.any():
            at = first_true(bad)
            raise complain(
                int(row_of[at]),
                f"column properties: the {which} of {names[at].as_py()!r} is null or empty; leave it out",
            )
        separators = _with_separator(texts)
        if separators is not None:
            raise complain(
                int(row_of[separators]),
                f"column properties: the {which} of {names[separators].as_py()!r} holds a character 1 or 2, "
                "which separate properties",
            )


def _with_separator(texts: pa.BinaryArray) -> int | None:
    """The first of `texts` with a byte that separates properties."""
    raw = content(texts)
    found = np.flatnonzero((raw == 1) | (raw == 2))
    return int(_elements_of(bounds_of(texts), found[:1])[0]) if len(found) else None


def _elements_of(bounds: npt.NDArray[np.int32], places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Which elements the bytes at `places` belong to."""
    return np.searchsorted(bounds, places, "right") - 1
