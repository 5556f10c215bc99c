"""Looks at a count, and the rates between them."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from mqframe_dashboard.series import LOOKS_MAX, SPAN_SECONDS, Rate, Series

LOOKS = st.lists(
    st.tuples(st.floats(0.1, 400.0), st.one_of(st.none(), st.integers(0, 1000))), min_size=1, max_size=1500
)


def test_rates_are_averages_between_looks():
    series = Series()
    for at, count in ((0, 10), (10, 60), (15, 60), (25, 80)):
        series.add(at, count)
    assert series.rates() == [Rate(0, 10, 5.0), Rate(10, 15, 0.0), Rate(15, 25, 2.0)]
    assert (series.growth, series.is_quiet, series.last) == (70, False, 80)


def test_what_nobody_saw_and_what_was_made_anew_are_gaps():
    series = Series()
    assert math.isnan(series.last)
    series.miss(0)
    assert len(series) == 0
    series.add(1, 5)
    series.miss(11)
    series.miss(21)
    series.add(31, 100)
    series.add(41, 110)
    series.add(51, 4)
    assert series.rates() == [Rate(31, 41, 1.0)]
    assert series.growth == 10


def test_looks_of_an_hour_are_kept():
    series = Series()
    for at in range(0, 7201, 60):
        series.add(at, at)
    rates = series.rates()
    # The rate that reaches into the hour is kept, too.
    assert (rates[0].begin, rates[-1].end) == (7200 - SPAN_SECONDS - 60, 7200)
    assert all(each.per_second == 1.0 for each in rates)


def test_many_looks_become_fewer_that_reach_back_as_far():
    series = Series()
    for at in range(3000):
        series.add(at, 2 * at)
    assert len(series) <= LOOKS_MAX
    rates = series.rates()
    assert (rates[0].begin, rates[-1].end) == (0, 2999)
    assert all(each.per_second == 2.0 for each in rates)
    assert series.growth == 2 * 2999


@given(LOOKS)
def test_memory_is_bounded_and_no_rate_is_made_up(looks):
    series, at = Series(), 0.0
    seen: dict[float, int] = {}
    missed: list[float] = []
    for pause, count in looks:
        at += pause
        if count is None:
            series.miss(at)
            missed.append(at)
        else:
            series.add(at, count)
            seen[at] = count
        assert len(series) <= LOOKS_MAX
    end = 0.0
    for rate in series.rates():
        assert end <= rate.begin < rate.end
        end = rate.end
        assert rate.per_second == (seen[rate.end] - seen[rate.begin]) / (rate.end - rate.begin) >= 0
        assert not any(rate.begin < each < rate.end for each in missed)
