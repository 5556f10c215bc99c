"""No second has more than is allowed, wherever it begins."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.rules.send_rate import SendRate

STEPS = st.lists(st.tuples(st.floats(0, 1.5), st.integers(0, 2000)), max_size=60)


@given(st.integers(1024, 5000), STEPS, st.floats(0, 1e6))
def test_no_second_has_more_than_the_most(most: int, steps: list[tuple[float, int]], now: float) -> None:
    rate, sent = SendRate(most, now), []
    for wait, wanted in steps:
        now += wait
        size = rate.allowed(wanted, now)
        assert 0 <= size <= wanted
        rate.spend(size)
        sent.append((now, size))
    for begin, _ in sent:
        assert sum(size for at, size in sent if at >= begin and at - begin <= 1) <= most


def test_whoever_always_has_something_to_send_gets_nearly_all_of_it() -> None:
    rate, total = SendRate(1100, 7.0), 0
    for step in range(1, 1001):
        size = rate.allowed(5000, 7 + step * 0.1)
        rate.spend(size)
        total += size
    assert 99_000 <= total <= 100_000


def test_what_was_not_sent_is_not_saved_up() -> None:
    rate = SendRate(1100, 5.0)
    assert rate.allowed(5000, 5.0) == rate.allowed(5000, 500.0) == 100


def test_little_is_allowed_at_once_and_of_much_no_small_part() -> None:
    rate = SendRate(1100, 5.0)
    rate.spend(rate.allowed(60, 5.0))
    assert rate.allowed(40, 5.0) == 40
    assert rate.allowed(41, 5.0) == 0
    assert rate.allowed(5000, 5.0105) == 50
    rate.spend(50)
    assert rate.allowed(1, 5.0105) == 0
    assert rate.allowed(5000, 5.0505) == 0
    assert rate.allowed(5000, 5.0615) == 51
