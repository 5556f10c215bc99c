"""The bucket of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_rate_limits.token_bucket import TokenBucket


def test_what_lies_in_the_bucket_is_there_at_once_and_the_rest_flows_in() -> None:
    bucket = TokenBucket(2.0, 3)
    assert [bucket.take(1, 10.0) for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 1.0]
    assert bucket.take(1, 11.0) == 0.5, "behind those that wait"
    assert bucket.take(1, 100.0) == 0.0
    assert [bucket.take(1, 100.0) for _ in range(3)] == [0.0, 0.0, 0.5], "no more lie there than it holds"


def test_a_batch_may_take_more_than_it_holds_and_those_behind_it_wait() -> None:
    bucket = TokenBucket(10.0, 5)
    assert bucket.take(25, 0.0) == pytest.approx(2.0)
    assert bucket.take(1, 0.0) == pytest.approx(2.1)


def test_a_clock_that_another_thread_read_earlier_gives_nothing_twice() -> None:
    bucket = TokenBucket(1.0, 1)
    assert bucket.take(1, 5.0) == 0.0
    assert bucket.take(1, 4.0) == 1.0
    assert bucket.take(1, 5.0) == 2.0


@given(
    rate=st.floats(0.1, 1000),
    burst=st.integers(1, 50),
    calls=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 80)), min_size=1, max_size=40),
)
def test_no_time_has_more_messages_than_it_may(
    rate: float, burst: int, calls: list[tuple[float, int]]
) -> None:
    bucket, now = TokenBucket(rate, burst), 0.0
    begun: list[tuple[float, int]] = []
    for pause, count in calls:
        now += pause
        begun.append((now + bucket.take(count, now), count))
    for first, (start, own) in enumerate(begun):
        total = 0
        for end, count in begun[first:]:
            total += count
            assert total <= max(burst, own) + rate * (end - start) + 1e-6 * rate * end + 1e-6
    starts = [start for start, _ in begun]
    assert starts == sorted(starts), "in their order"


@given(rate=st.floats(0.1, 1000), count=st.integers(1, 200))
def test_and_nobody_waits_longer_than_has_to_be(rate: float, count: int) -> None:
    bucket = TokenBucket(rate, 1)
    waits = [bucket.take(1, 0.0) for _ in range(count)]
    assert waits == pytest.approx([place / rate for place in range(count)])
