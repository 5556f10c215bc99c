"""Budgets: what is refused, and who has to go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.measuring.budget import Budget, Shares, admit_all


def test_beyond_a_budget_requests_are_refused_as_busy_with_the_name_of_the_setting() -> None:
    used, limit = [3], [4]
    budget = Budget("waiting pulls", "broker.pull_waiting_max", lambda: used[0], lambda: limit[0])
    budget.admit()
    with pytest.raises(
        Refusal, match=r"waiting pulls: 3 of at most 4 .*\(broker.pull_waiting_max\)"
    ) as caught:
        budget.admit(2)
    assert caught.value.code == ResponseCode.SYSTEM_BUSY
    assert budget.counters() == {
        "budget.waitingPulls.used": "3",
        "budget.waitingPulls.max": "4",
        "budget.waitingPulls.refused": "1",
    }
    limit[0] = 5
    budget.admit(2)
    admit_all(1 << 40)


def test_whoever_holds_much_for_the_longest_goes_first() -> None:
    shares: Shares[str] = Shares(80)
    for holder, size in (("first", 30), ("small", 1), ("second", 30), ("third", 15)):
        assert shares.take(holder, size) == ()
    assert shares.take("third", 20) == ["first"]
    assert (shares.used, len(shares), shares.shed) == (51, 3, 1)
    assert shares.take("second", 0) == ()
    assert shares.take("second", 60) == ["third"]
    assert shares.used == 61


def test_one_that_alone_is_too_much_goes() -> None:
    shares: Shares[str] = Shares(80)
    assert shares.take("one", 81) == ["one"]
    assert (shares.used, len(shares)) == (0, 0)


def test_what_became_less_unnoticed_is_counted_anew_first() -> None:
    left = {"first": 0, "second": 10}
    shares: Shares[str] = Shares(80, lambda holder: left[holder])
    shares.take("first", 60)
    assert shares.take("second", 30) == ()
    assert (shares.used, len(shares)) == (10, 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 100)), max_size=60))
def test_the_sum_is_that_of_all_and_never_above_the_limit(steps: list[tuple[int, int]]) -> None:
    shares: Shares[int] = Shares(120)
    sizes: dict[int, int] = {}
    for holder, size in steps:
        sizes[holder] = size
        for gone in shares.take(holder, size):
            del sizes[gone]
        assert shares.used == sum(sizes.values()) <= 120
        assert len(shares) == sum(size > 0 for size in sizes.values())


def test_room_is_made_for_more_than_the_last_byte() -> None:
    shares: Shares[int] = Shares(8000)
    looks = [number for number in range(40_000) if shares.take(number, 1)]
    assert looks == list(range(8000, 40_000, 1001))[: len(looks)]
    assert len(looks) > 20
