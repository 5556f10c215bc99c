"""Who passes several buckets at once, and that nobody who comes again when told is passed by for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_quotas.rules.gate import WAITING_MAX, Charge, Gate, Short
from mqframe_quotas.rules.rate_bucket import RateBucket


def test_what_cannot_pay_all_pays_nothing() -> None:
    gate: Gate[str] = Gate()
    full, empty = RateBucket(10.0, 10.0, 0.0), RateBucket(10.0, 10.0, 0.0)
    empty.take(10, 0.0)
    charges = [Charge(full, 4, "full"), Charge(empty, 4, "empty")]
    assert gate.enter("a", charges, 0.0) == Short(0.4, "empty")
    assert full.level(0.0) == 10.0
    assert gate.enter("a", charges, 0.4) is None
    assert (full.level(0.4), empty.level(0.4)) == (6.0, 0.0)


def test_what_is_known_later_is_not_paid_now() -> None:
    gate: Gate[str] = Gate()
    bucket = RateBucket(10.0, 10.0, 0.0)
    assert gate.enter("a", [Charge(bucket, 1, "x")], 0.0, pay=False) is None
    assert bucket.level(0.0) == 10.0


def test_who_comes_again_in_time_keeps_its_place_before_those_that_came_later() -> None:
    gate: Gate[str] = Gate()
    bucket = RateBucket(10.0, 10.0, 0.0)
    bucket.take(10, 0.0)

    def enter(who: str, amount: int, now: float) -> Short[str] | None:
        return gate.enter(who, [Charge(bucket, amount, "x")], now)

    assert enter("first", 10, 0.0) == Short(1.0, "x")
    assert enter("second", 5, 0.0) == Short(1.5, "x")
    assert enter("second", 5, 0.9) is not None, "there would be enough, but not for both"
    assert enter("first", 10, 1.0) is None
    assert enter("second", 5, 1.5) is None


def test_who_gives_up_is_waited_for_no_longer() -> None:
    gate: Gate[str] = Gate()
    bucket = RateBucket(10.0, 10.0, 0.0)
    bucket.take(10, 0.0)
    charges = [Charge(bucket, 10, "x")]
    assert gate.enter("first", charges, 0.0) is not None
    assert gate.enter("second", [Charge(bucket, 5, "x")], 0.5) is not None
    gate.leave("first", charges)
    gate.leave("first", charges)
    assert gate.enter("second", [Charge(bucket, 5, "x")], 0.5) is None


SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=8)


@given(st.floats(1.0, 50.0), st.floats(1.0, 40.0), st.integers(1, 120), SIZES, st.data())
def test_nobody_starves_under_a_flood(
    rate: float, burst: float, amount: int, sizes: list[int], data: st.DataObject
) -> None:
    """One comes again when it is told, others all the time, each with a size of its own: it passes."""
    gate: Gate[int] = Gate()
    shared, other = RateBucket(rate, burst, 0.0), RateBucket(rate, burst, 0.0)
    now, tries = 0.0, 0
    flood = [[Charge(shared, size, 0)] if n % 2 else [Charge(other, size, 1), Charge(shared, size, 0)]
             for n, size in enumerate(sizes)]  # fmt: skip
    for who, charges in enumerate(flood):
        gate.enter(who, charges, now)
    while True:
        short = gate.enter("polite", [Charge(shared, amount, 0), Charge(other, amount, 1)], now)
        if short is None:
            break
        tries += 1
        assert short.seconds <= (2 * sum(sizes) + min(amount, burst)) / rate + 1e-6
        assert tries <= 4 * len(sizes) + 4
        told = now + short.seconds
        for _ in range(20):
            who = data.draw(st.integers(0, len(flood) - 1))
            now += (told - now) / 4
            gate.enter(who, flood[who], now)
        now = told


def test_so_many_wait_as_are_remembered() -> None:
    gate: Gate[str] = Gate()
    bucket = RateBucket(1.0, 1.0, 0.0)
    bucket.take(1, 0.0)
    for who in range(WAITING_MAX + 10):
        assert gate.enter(who, [Charge(bucket, 1, "x")], 0.0) is not None
    assert gate.enter("late", [Charge(bucket, 1, "x")], 200.0) is None
