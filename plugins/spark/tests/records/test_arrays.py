import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.records.arrays import array_of, flags_of, null_mask, numbers_of, scalar_of, texts_of

KINDS = [np.int8, np.int16, np.int32, np.int64, np.float64, np.bool_]
BOUND = st.integers(0, 20)


@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=20))
def test_arrays_are_those_that_pyarrow_makes(kind, rows) -> None:
    values = np.array([value for value, _ in rows], kind)
    missing = np.array([gone for _, gone in rows], bool)
    for mask in (None, missing):
        found = array_of(values, mask)
        found.validate(full=True)
        assert found.equals(pa.array(values, mask=mask))


def test_every_second_number_of_an_array_is_laid_out_anew() -> None:
    assert array_of(np.arange(6)[::2]).to_pylist() == [0, 2, 4]


@given(st.lists(st.none() | st.text(max_size=4), max_size=12))
def test_texts_are_those_that_pyarrow_makes(texts) -> None:
    as_bytes = [None if text is None else text.encode() for text in texts]
    for values, kind in ((texts, pa.string()), (as_bytes, pa.binary())):
        found = texts_of(values, kind)
        found.validate(full=True)
        assert found.equals(pa.array(values, kind))


def test_one_text_is_a_scalar() -> None:
    assert scalar_of(b"a").equals(pa.scalar(b"a"))
    assert scalar_of("ä", pa.string()).equals(pa.scalar("ä"))
    assert scalar_of(None).equals(pa.scalar(None, pa.binary()))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float64()])
@given(values=st.lists(st.none() | st.integers(-128, 127), max_size=20), start=BOUND, length=BOUND)
def test_numbers_come_back_with_0_for_null(kind, values, start, length) -> None:
    array = pa.array(values, kind).slice(min(start, len(values)), length)
    assert numbers_of(array).tolist() == [value or 0 for value in array.to_pylist()]
    assert null_mask(array).tolist() == [value is None for value in array.to_pylist()]


@given(values=st.lists(st.none() | st.booleans(), max_size=20), start=BOUND, length=BOUND)
def test_truth_values_come_back_with_false_for_null(values, start, length) -> None:
    array = pa.array(values, pa.bool_()).slice(min(start, len(values)), length)
    assert flags_of(array).tolist() == [bool(value) for value in array.to_pylist()]


def test_nulls_of_any_type_are_found() -> None:
    assert null_mask(pa.nulls(2)).tolist() == [True, True]
    assert null_mask(pa.array([["a"], None], pa.list_(pa.string()))).tolist() == [False, True]


def test_nothing_here_imports_pandas() -> None:
    pytest.importorskip("pandas")
    script = """
import sys
import numpy as np
import pyarrow as pa
from mqframe_spark.records.arrays import *
array = array_of(np.arange(3), np.array([True, False, False]))
assert numbers_of(array).tolist() == [0, 1, 2] and null_mask(array).tolist() == [True, False, False]
assert texts_of(["a", None])[0].as_py() == scalar_of("a").as_py() == b"a"
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
