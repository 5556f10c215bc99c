from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.rules.per_second import PerSecond


def test_a_second_counts_in_the_one_after_it_alone() -> None:
    count = PerSecond()
    count.add(5, 10.2)
    count.add(7, 10.9)
    assert count.last(10.95) == 0
    assert count.last(11.0) == 12
    count.add(1, 11.5)
    assert count.last(11.9) == 12
    assert count.last(12.5) == 1
    assert count.last(13.5) == 0


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 20)), max_size=30), st.floats(20, 25))
def test_it_says_what_was_counted_in_the_whole_second_before(
    counted: list[tuple[int, float]], now: float
) -> None:
    count = PerSecond()
    counted = sorted(counted, key=lambda each: each[1])
    for number, at in counted:
        count.add(number, at)
    assert count.last(now) == sum(number for number, at in counted if int(at) == int(now) - 1)
