"""What passes a bucket in any time, and what a change of its limits leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_quotas.rules.rate_bucket import LINE_MAX, RateBucket

TRIES = st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(1, 40)), min_size=1, max_size=60)


@given(st.floats(0.5, 20.0), st.floats(1.0, 30.0), TRIES)
def test_in_any_time_no_more_passes_than_flows_in_and_the_burst(
    rate: float, burst: float, tries: list[tuple[float, int]]
) -> None:
    bucket, now, passed = RateBucket(rate, burst, 0.0), 0.0, []
    for gap, amount in tries:
        now += gap
        if not bucket.wait("a", 1, amount, now):
            bucket.take(amount, now)
            passed.append((now, amount))
    for first in range(len(passed)):
        total, begun = 0, passed[first][0]
        for at, amount in passed[first:]:
            total += amount
            most = max(burst, *(each for _, each in passed[first:]))
            assert total <= most + rate * (at - begun) + 1e-3
            if all(each <= burst for _, each in passed):
                assert total <= burst + rate * (at - begun) + 1e-3


@given(st.floats(0.5, 20.0), st.floats(1.0, 30.0), TRIES)
def test_whoever_waits_as_long_as_it_is_told_passes_whatever_its_size(
    rate: float, burst: float, tries: list[tuple[float, int]]
) -> None:
    bucket, now = RateBucket(rate, burst, 0.0), 0.0
    for gap, amount in tries:
        now += gap
        wait = bucket.wait("a", 1, amount, now)
        assert wait <= (burst + sum(each for _, each in tries)) / rate, "no more than all that can be owed"
        now += wait
        assert bucket.wait("a", 1, amount, now) < 1e-6
        bucket.take(amount, now)


def test_what_is_larger_than_the_burst_passes_when_it_is_full_and_owes_the_rest() -> None:
    bucket = RateBucket(10.0, 10.0, 0.0)
    bucket.take(1, 0.0)
    assert bucket.wait("a", 1, 35, 0.0) == pytest.approx(0.1)
    assert bucket.wait("a", 1, 35, 0.1) == 0.0
    bucket.take(35, 0.1)
    assert bucket.level(0.1) == pytest.approx(-25.0)
    assert bucket.wait("b", 2, 1, 0.1) == pytest.approx(2.6)


def test_time_that_goes_back_gives_nothing() -> None:
    bucket = RateBucket(10.0, 10.0, 5.0)
    bucket.take(10, 5.0)
    assert bucket.level(4.0) == bucket.level(5.0) == 0.0
    assert bucket.level(5.5) == pytest.approx(5.0)


def test_who_is_younger_gets_what_the_line_leaves() -> None:
    bucket = RateBucket(10.0, 10.0, 0.0)
    bucket.take(8, 0.0)
    bucket.stand("old", 1, 6, until=1.0, now=0.0)
    assert bucket.wait("young", 2, 2, 0.0) == pytest.approx(0.6)
    assert bucket.wait("old", 1, 6, 0.0) == pytest.approx(0.4)
    assert bucket.wait("older", 0, 2, 0.0) == 0.0
    assert bucket.wait("young", 2, 2, 0.6) == 0.0, "there is enough for both"
    bucket.leave("old")
    assert bucket.wait("young", 2, 2, 0.0) == 0.0


def test_who_does_not_come_again_loses_its_place() -> None:
    bucket = RateBucket(10.0, 10.0, 0.0)
    bucket.take(10, 0.0)
    bucket.stand("gone", 1, 10, until=0.5, now=0.0)
    assert bucket.wait("next", 2, 5, 0.4) > 0.0
    assert bucket.wait("next", 2, 5, 0.5) == 0.0


def test_a_line_is_no_longer_than_it_may_be() -> None:
    bucket = RateBucket(1.0, 1.0, 0.0)
    bucket.take(1, 0.0)
    for each in range(LINE_MAX + 10):
        bucket.stand(each, each, 1, until=10.0, now=0.0)
    assert bucket.wait("last", 1000, 1, 0.0) == pytest.approx(LINE_MAX + 1)
    bucket.stand("late", 1000, 1, until=30.0, now=20.0)
    assert bucket.wait("last", 1001, 1, 20.0) == pytest.approx(1.0), "places whose time is over are free"


def test_idle_is_who_is_full_and_waited_for_by_nobody() -> None:
    bucket = RateBucket(10.0, 10.0, 0.0)
    assert bucket.is_idle(0.0)
    bucket.take(5, 0.0)
    bucket.stand("a", 1, 1, until=1.0, now=0.0)
    assert not bucket.is_idle(0.1)
    assert not bucket.is_idle(0.9)
    assert bucket.is_idle(1.0)


def test_a_changed_rate_leaves_as_many_seconds() -> None:
    bucket = RateBucket(10.0, 10.0, 0.0)
    bucket.change(20.0, 20.0, 0.0)
    assert bucket.level(0.0) == 20.0, "what was full is"
    bucket.take(30, 0.0)
    bucket.change(5.0, 5.0, 0.0)
    assert bucket.level(0.0) == pytest.approx(-2.5), "half a second's"
    bucket.change(5.0, 5.0, 1.2)
    assert bucket.level(1.2) == pytest.approx(3.5)
