"""Counts with a past."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.measuring.sampled import SAMPLE_SECONDS, Sampled


def grow(count: Sampled, now: float, seconds: float, per_step: int) -> float:
    """Adds `per_step` every 10 s for `seconds`; gives the time at the end."""
    for _ in range(int(seconds / SAMPLE_SECONDS)):
        count.total += per_step
        count.times += 1
        now += SAMPLE_SECONDS
        count.sample(now)
    return now


def test_a_minute_forgets_what_was_before_it() -> None:
    count = Sampled(0.0)
    now = grow(count, 0.0, 60, 5)
    assert count.minute(now) == (30, pytest.approx(0.5), 5.0)
    now = grow(count, now, 60, 0)
    assert count.minute(now).sum == 0
    assert count.hour(now).sum == 30


def test_an_hour_and_a_day_are_kept_apart() -> None:
    count = Sampled(0.0)
    now = grow(count, 0.0, 3600, 1)
    assert count.hour(now).sum == 360
    now = grow(count, now, 2 * 3600, 0)
    assert (count.hour(now).sum, count.day(now).sum) == (0, 360)
    now = grow(count, now, 26 * 3600, 0)
    assert count.day(now).sum == 0


def test_what_was_not_sampled_yet_counts() -> None:
    count = Sampled(100.0)
    count.total, count.times = 6, 3
    assert count.minute(103.0) == (6, 2.0, 2.0)
    assert count.minute(100.0) == (6, 0.0, 2.0)


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(10, 90)), min_size=1, max_size=60))
def test_no_stretch_holds_more_than_was_added(steps: list[tuple[int, float]]) -> None:
    count, now = Sampled(0.0), 0.0
    for added, seconds in steps:
        count.total += added
        now += seconds
        count.sample(now)
        minute, hour, day = count.minute(now), count.hour(now), count.day(now)
        assert 0 <= minute.sum <= hour.sum <= day.sum <= count.total
