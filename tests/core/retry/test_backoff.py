"""Every wait before something is tried again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.consuming.group_config import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)
from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.errors import CallTimeout, ConnectError, ConnectionLost, Refusal, answer_error
from mqframe.core.retry.backoff import (
    DELAY_MS_MAX,
    Pauses,
    backoff_seconds,
    check_policy,
    listed_waits,
    ordered_interval,
    pull_backoff,
    retry_level,
    retry_schedule,
    retry_wait,
    suspend_seconds,
)

LEVELS = parse_levels(DEFAULT_LEVELS)


def exponential(initial=5000, most=7_200_000, multiplier=2):
    return GroupRetryPolicy("EXPONENTIAL", None, ExponentialRetryPolicy(initial, most, multiplier))


def customized(*waits):
    return GroupRetryPolicy("CUSTOMIZED", CustomizedRetryPolicy(list(waits)), None)


@pytest.mark.parametrize(
    ("tries", "seconds"), [(1, 0.1), (2, 0.16), (3, 0.256), (4, 0.4096), (7, 1.6777216), (8, 2.0), (30, 2.0)]
)
def test_without_jitter(tries, seconds):
    assert backoff_seconds(tries, lambda: 0.5) == pytest.approx(seconds)


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_jitter_is_a_fifth_and_the_cap_holds(tries, random):
    plain = backoff_seconds(tries, lambda: 0.5)
    found = backoff_seconds(tries, lambda: random)
    assert found <= 2.0
    assert found <= plain * 1.2 + 1e-9
    assert found >= min(plain * 0.8, 2.0 * 0.8) - 1e-9


def test_pauses_grow_until_half_of_the_time_is_shorter():
    pauses = Pauses(lambda: 0.5)
    left, found = 1.0, []
    while (pause := pauses.next_pause(left)) is not None:
        found.append(round(pause, 3))
        left -= pause
    assert found == [0.1, 0.16, 0.256, 0.242, 0.121, 0.06]


@pytest.mark.parametrize(
    ("problem", "seconds"),
    [
        (CallTimeout("late"), 3.0),
        (answer_error(1, None, "a:1"), 3.0),
        (answer_error(215, None, "a:1"), 0.02),
        (answer_error(24, None, "a:1"), 3.0),
    ],
)
def test_a_pull_waits_long_after_an_error_and_short_after_flow_control(problem, seconds) -> None:
    for failures in (1, 2, 100):
        assert pull_backoff(problem, failures, lambda: 0.5) == seconds
        assert pull_backoff(problem, failures, lambda: 0.5, 0.5) == min(seconds, 0.5)
        assert pull_backoff(problem, failures, lambda: 0.5, 0.01) == 0.01
        assert pull_backoff(problem, failures, lambda: 0.5, 60.0) == seconds


@pytest.mark.parametrize(
    "problem",
    [ConnectError("x"), ConnectionLost("x"), answer_error(2, "busy", "a:1"), answer_error(14, "", "a")],
)
def test_a_pull_looks_soon_again_for_a_broker_that_restarts(problem) -> None:
    waits = [pull_backoff(problem, failures, lambda: 0.5) for failures in range(1, 10)]
    assert waits[:7] == pytest.approx([0.1 * 1.6**n for n in range(7)])
    assert waits[7:] == [3.0, 3.0]
    assert pull_backoff(problem, 7, lambda: 0.5, 0.5) == 0.5


@given(st.integers(0, 100), st.lists(st.integers(1, 10**6), min_size=1, max_size=5))
def test_retries_climb_the_levels_or_the_schedule_and_stay_at_its_end(times, waits):
    assert retry_level(times) == 3 + times
    assert retry_wait(waits, times) == (waits[times] if times < len(waits) else waits[-1])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (GroupRetryPolicy(), None),
        (GroupRetryPolicy("EXPONENTIAL"), None),
        (GroupRetryPolicy("CUSTOMIZED", None, ExponentialRetryPolicy()), None),
        (customized(1000, 5000, *LEVELS[2:]), LEVELS[2:]),
        (customized(7), (7,)),
        (customized(7, 8), (8,)),
        (customized(7, 8, 9, 10), (9, 10)),
        (customized(), None),
        (customized(1, 1, -5, DELAY_MS_MAX + 1), (1, DELAY_MS_MAX)),
    ],
)
def test_schedules(policy, expected):
    assert retry_schedule(policy) == expected


def test_waits_that_are_listed_are_those_that_are_kept():
    assert retry_schedule(listed_waits([])) is None
    policy = listed_waits([10_000, 30_000])
    check_policy("g", policy)
    assert retry_schedule(policy) == (10_000, 30_000)


def test_exponential_waits_grow_to_their_limit():
    schedule = retry_schedule(exponential(1000, 60_000, 3))
    assert schedule is not None
    assert schedule[:6] == (1000, 3000, 9000, 27_000, 60_000, 60_000)
    assert schedule[-1] == 60_000
    # Like Apache RocketMQ, which stops counting at 32.
    assert retry_schedule(exponential(1, DELAY_MS_MAX, 1)) == (1,) * 33


@pytest.mark.parametrize(
    "policy",
    [GroupRetryPolicy(), exponential(), customized(1, 2, 3), customized(DELAY_MS_MAX), exponential(5, 5, 1)],
)
def test_good_policies(policy):
    check_policy("g", policy)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (GroupRetryPolicy("LINEAR"), "type 'LINEAR'"),
        (customized(), "next is empty"),
        (customized(0), "0 ms"),
        (customized(5, DELAY_MS_MAX + 1), "259200001 ms"),
        (exponential(multiplier=0), "multiplier 0"),
        (exponential(initial=0), "initial 0"),
        (exponential(initial=9, most=8), "max 8"),
        (exponential(most=DELAY_MS_MAX + 1), "259200001"),
    ],
)
def test_bad_policies(policy, words):
    with pytest.raises(Refusal, match="retry policy of group g") as caught:
        check_policy("g", policy)
    assert caught.value.code == 29
    assert words in caught.value.remark


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [(None, 1.0), (-1, 1.0), (0, 0.01), (5, 0.01), (250, 0.25), (30_000, 30.0), (60_000, 30.0)],
)
def test_pause_after_a_failure(wanted: float | None, seconds: float) -> None:
    assert suspend_seconds(wanted, 1000) == seconds


def test_only_groups_that_say_that_they_consume_in_order_have_one_interval() -> None:
    waits = listed_waits([7000, 9000])
    assert ordered_interval(SubscriptionGroupConfig("g", group_retry_policy=waits)) is None
    assert ordered_interval(SubscriptionGroupConfig("g", consume_message_orderly=True)) is None
    ordered = SubscriptionGroupConfig("g", consume_message_orderly=True, group_retry_policy=waits)
    assert ordered_interval(ordered) == 7000
