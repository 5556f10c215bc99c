"""Arrow arrays from NumPy's and from texts, and back, past pyarrow's own converters.

`pa.array`, `pa.scalar` and `Array.to_numpy` import pandas, where it is installed, to know its series from
other values. That takes a third of a second of each process that Spark starts for a source, a sink or their
tasks, and nothing here uses pandas.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]

_ARROW_OF: Final[dict[np.dtype[Any], pa.DataType]] = {
    np.dtype(np.int8): pa.int8(),
    np.dtype(np.int16): pa.int16(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.int64): pa.int64(),
    np.dtype(np.float64): pa.float64(),
}
_NUMPY_OF: Final[dict[pa.DataType, np.dtype[Any]]] = {arrow: numpy for numpy, arrow in _ARROW_OF.items()}
_BYTES_MAX: Final = (1 << 31) - 1


def array_of(values: npt.NDArray[Any], missing: Mask | None = None) -> pa.Array:
    """Numbers or truth values as Arrow's. `missing`: which of them are null."""
    bits = None if missing is None else _packed(~missing)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [bits, _packed(values)])
    laid = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_ARROW_OF[values.dtype], len(values), [bits, laid])


def texts_of(values: Iterable[bytes | str | None], kind: pa.DataType | None = None) -> pa.Array:
    """Texts as an array of `kind`, `pa.string()` or (by default) `pa.binary()`; null where one is `None`.

    Raises `pa.ArrowCapacityError` where they are 2 GiB or more together.
    """
    given = [value.encode() if isinstance(value, str) else value for value in values]
    bounds = [0, *accumulate(len(value or b"") for value in given)]
    if bounds[-1] > _BYTES_MAX:
        raise pa.ArrowCapacityError(f"{bounds[-1]} bytes of text do not fit one Arrow array")
    missing = np.array([value is None for value in given], bool)
    bits = _packed(~missing) if missing.any() else None
    data = pa.py_buffer(b"".join([value for value in given if value]))
    return pa.Array.from_buffers(
        kind or pa.binary(), len(given), [bits, pa.py_buffer(np.array(bounds, np.int32)), data]
    )


def scalar_of(value: bytes | str | None, kind: pa.DataType | None = None) -> pa.Scalar:
    """One text as Arrow's, see `texts_of`."""
    return texts_of([value], kind)[0]


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """Arrow's numbers as NumPy's; null is 0."""
    kind = _NUMPY_OF[array.type]
    _, data = array.buffers()
    if not len(array):
        return np.empty(0, kind)
    values: npt.NDArray[Any] = np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)
    if array.null_count:
        values = values.copy()
        values[null_mask(array)] = 0
    return values


def flags_of(array: pa.BooleanArray) -> Mask:
    """Arrow's truth values as NumPy's; null is false."""
    if not len(array):
        return np.empty(0, bool)
    validity, data = array.buffers()
    found = _unpacked(data, array)
    return found & _unpacked(validity, array) if array.null_count else found


def null_mask(array: pa.Array) -> Mask:
    """Which elements are null."""
    return flags_of(array.is_null())


def _packed(mask: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))


def _unpacked(bits: pa.Buffer, array: pa.Array) -> Mask:
    end = array.offset + len(array)
    found = np.unpackbits(np.frombuffer(bits, np.uint8), count=end, bitorder="little")
    return found[array.offset :].view(bool)
