from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.records.gathering import bounds_of, content, gather


@given(st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5)), max_size=20))
def test_slices_come_without_the_gaps_between_them(parts) -> None:
    """Each part is a gap and what is wanted behind it."""
    data, starts, ends = b"", [], []
    for gap, wanted in parts:
        starts.append(len(data) + len(gap))
        data += gap + wanted
        ends.append(len(data))
    found = gather(pa.py_buffer(data), np.array(starts, np.int64), np.array(ends, np.int64))
    assert found.to_pylist() == [wanted for _, wanted in parts]
    assert found.type == pa.binary()


def test_slices_may_be_texts() -> None:
    found = gather(pa.py_buffer(b"..ab.c"), np.array([2, 5]), np.array([4, 6]), pa.string())
    assert found.to_pylist() == ["ab", "c"]
    nothing = np.array([], np.int64)
    assert gather(pa.py_buffer(b""), nothing, nothing, pa.string()).type == pa.string()


@given(st.lists(st.binary(max_size=4), max_size=8), st.integers(0, 8), st.integers(0, 8))
def test_content_and_bounds_of_a_part_of_an_array(values, start, length) -> None:
    array = pa.array(values, pa.binary()).slice(min(start, len(values)), length)
    whole, bounds = content(array).tobytes(), bounds_of(array).tolist()
    assert bounds[0] == 0
    assert [whole[low:high] for low, high in pairwise(bounds)] == array.to_pylist()
    assert len(whole) == bounds[-1]
