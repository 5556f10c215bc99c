from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_kombu.times import deliver_ms, due_ms, lifetime_ms, since_ms, waits_again

DAY = 86_400_000


@pytest.mark.parametrize(
    ("eta", "due"),
    [
        ("1970-01-02T00:00:00+00:00", DAY),
        ("1970-01-02T00:00:00Z", DAY),
        ("1970-01-02T09:00:00+09:00", DAY),
        ("1970-01-01T17:00:00.0001-07:00", DAY + 1),
        (datetime(1970, 1, 2, tzinfo=UTC), DAY),
        ("1970-01-02T00:00:00", None),
        (datetime(1970, 1, 2), None),
        ("tomorrow", None),
        (None, None),
        (5, None),
    ],
)
def test_when_a_task_is_due(eta: object, due: int | None) -> None:
    assert due_ms({"eta": eta}) == due
    assert due_ms({}) is None
    assert due_ms(None) is None


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_it_is_never_due_early_and_less_than_a_millisecond_late(at: datetime, minutes: int) -> None:
    eta = at.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    due = due_ms({"eta": eta.isoformat()})
    exact = (eta - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1)
    assert due is not None
    assert -0.01 <= due - exact < 1.01


def test_what_brokers_are_asked() -> None:
    assert deliver_ms(None, 1000, 500) is None
    assert deliver_ms(1000, 1000, 500) is None
    assert deliver_ms(1400, 1000, 500) == 1400
    assert deliver_ms(9000, 1000, 500) == 1500


@given(st.integers(1, 40 * DAY), st.integers(1000, 3 * DAY))
def test_long_delays_are_waited_for_in_turns(delay: int, longest: int) -> None:
    now, due, turns = 0, delay, 0
    while (at := deliver_ms(due, now, longest)) is not None:
        turns += 1
        stored, now = now, at
        if now < due and not waits_again(due, stored, now, longest):
            assert due - now <= 1000
            break
    assert turns <= delay // longest + 1


def test_what_came_at_once_is_not_sent_round() -> None:
    assert not waits_again(due=10 * DAY, stored_ms=0, now_ms=5, delay_max_ms=3 * DAY)
    assert waits_again(due=10 * DAY, stored_ms=0, now_ms=3 * DAY, delay_max_ms=3 * DAY)


def test_the_shorter_lifetime_counts() -> None:
    assert lifetime_ms("2000", None) == 2000
    assert lifetime_ms("2000", 300) == 300
    assert lifetime_ms(None, 300) == 300
    assert lifetime_ms(None, None) is None
    assert lifetime_ms("soon", None) is None


def test_a_message_grows_old_from_when_it_is_due() -> None:
    due = {"eta": "1970-01-02T00:00:00+00:00"}
    assert since_ms(5, due) == DAY
    assert since_ms(DAY + 5, due) == DAY + 5
    assert since_ms(5, {}) == since_ms(5, None) == 5
