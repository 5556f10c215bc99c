"""When messages come back that were not consumed: levels, schedules, policies of groups."""

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
from mqframe.core.errors import Refusal
from mqframe.core.retry.redelivery import (
    DELAY_MS_MAX,
    check_policy,
    ordered_interval,
    retry_level,
    retry_schedule,
    retry_wait,
)

LEVELS = parse_levels(DEFAULT_LEVELS)


def exponential(initial=5000, most=7_200_000, multiplier=2):
    return GroupRetryPolicy("EXPONENTIAL", None, ExponentialRetryPolicy(initial, most, multiplier))


def customized(*waits):
    return GroupRetryPolicy("CUSTOMIZED", CustomizedRetryPolicy(list(waits)), None)


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


def test_only_groups_that_say_that_they_consume_in_order_have_one_interval() -> None:
    waits = customized(7000, 7000, 7000, 9000)
    assert ordered_interval(SubscriptionGroupConfig("g", group_retry_policy=waits)) is None
    assert ordered_interval(SubscriptionGroupConfig("g", consume_message_orderly=True)) is None
    ordered = SubscriptionGroupConfig("g", consume_message_orderly=True, group_retry_policy=waits)
    assert ordered_interval(ordered) == 7000
