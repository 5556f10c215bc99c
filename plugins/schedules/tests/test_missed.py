"""Missed times against a list of all planned ones."""

from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_schedules.missed import ALL, ONE, SKIP, next_time

GRACE = 1_000


class Listed:
    def __init__(self, planned: list[int]) -> None:
        self.planned = sorted(set(planned))
        self.asked = 0

    def next_after(self, after_ms: int) -> int | None:
        self.asked += 1
        place = bisect_right(self.planned, after_ms)
        return self.planned[place] if place < len(self.planned) else None


def sent_at(planned: list[int], settled: int, now: int, policy: str) -> list[int]:
    """What is sent at `now`, one after the other."""
    times, sent = Listed(planned), []
    while (time := next_time(times, settled, now, policy, GRACE)) is not None and time <= now:
        assert time > settled
        sent.append(time)
        settled = time
    return sent


@given(st.lists(st.integers(0, 10**7), max_size=40), st.integers(0, 10**7), st.integers(0, 10**7))
def test_each_policy_sends_what_it_says(planned: list[int], settled: int, now: int) -> None:
    due = sorted({time for time in planned if settled < time <= now})
    missed = [time for time in due if time < now - GRACE]
    kept = [time for time in due if time >= now - GRACE]
    assert sent_at(planned, settled, now, ALL) == due
    assert sent_at(planned, settled, now, SKIP) == kept
    assert sent_at(planned, settled, now, ONE) == missed[-1:] + kept


@given(st.lists(st.integers(0, 10**6), max_size=20), st.sampled_from([SKIP, ONE, ALL]), st.integers(0, 20))
def test_a_broker_that_stops_after_any_message_goes_on_as_if_it_had_not(
    planned: list[int], policy: str, stop: int
) -> None:
    now = 10**6
    whole = sent_at(planned, -1, now, policy)
    before = whole[:stop]
    after = sent_at(planned, before[-1] if before else -1, now, policy)
    assert before + after == whole


@pytest.mark.parametrize("policy", [SKIP, ONE, ALL])
def test_the_next_time_is_said_when_nothing_is_due(policy: str) -> None:
    assert next_time(Listed([5_000, 9_000]), 5_000, 6_000, policy, GRACE) == 9_000
    assert next_time(Listed([5_000]), 5_000, 6_000, policy, GRACE) is None


def test_a_year_of_missed_seconds_is_not_walked_through() -> None:
    class Seconds:
        asked = 0

        def next_after(self, after_ms: int) -> int:
            self.asked += 1
            return after_ms // 1000 * 1000 + 1000

    for policy in (SKIP, ONE):
        times = Seconds()
        now = 365 * 86_400_000
        assert next_time(times, 0, now, policy, GRACE) == now - GRACE - (1_000 if policy == ONE else 0)
        assert times.asked < 100
