import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.measuring.histogram import Histogram, merged


def test_a_value_counts_below_the_first_bound_that_it_does_not_exceed():
    histogram = Histogram((1, 10))
    for value in (0, 1, 2, 10, 11):
        histogram.add(value)
    histogram.add(5, times=3)
    assert (histogram.counts, histogram.sum) == ([2, 5, 1], 39)


@given(st.lists(st.lists(st.integers(0, 100)), min_size=1, max_size=4))
def test_merged_is_what_one_histogram_would_have_counted(lists):
    whole, parts = Histogram((10, 50)), []
    for values in lists:
        part = Histogram((10, 50))
        for value in values:
            part.add(value)
            whole.add(value)
        parts.append(part)
    found = merged(parts)
    assert (found.counts, found.sum) == (whole.counts, whole.sum)


def test_nothing_cannot_be_merged():
    with pytest.raises(ValueError, match="no histogram"):
        merged([])
