"""What the settings of a push consumer mean for its pulls and retries."""

from __future__ import annotations

import sys

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.core.consuming.flow_control import FetchLimits, FlowLimits
from mqframe.core.consuming.queue_locks import LockTimes
from mqframe.core.errors import SettingError


@pytest.mark.parametrize(("ordered", "span"), [(False, 10), (True, sys.maxsize)])
def test_every_limit_and_pause_reaches_the_pulls(ordered: bool, span: int) -> None:
    settings = ConsumerSettings(
        pull_messages_max=3,
        pull_bytes_max=4,
        pull_wait_seconds=5.0,
        pull_timeout_seconds=6.0,
        pull_interval_seconds=0.5,
        queue_messages_max=8,
        queue_bytes_max=9,
        queue_span_max=10,
        topic_messages_max=11,
        topic_bytes_max=12,
        held_bytes_max=13,
    )
    clock = ManualClock()
    found = settings.fetch_options("g", clock, ordered=ordered)
    assert found.limits == FetchLimits(
        queue=FlowLimits(8, 9, span), topic_messages_max=11, topic_bytes_max=12, held_bytes_max=13
    )
    assert (found.group, found.clock, found.lite) == ("g", clock, False)
    assert (found.messages_max, found.bytes_max, found.interval_seconds) == (3, 4, 0.5)
    assert (found.wait_seconds, found.timeout_seconds, found.error_seconds) == (5.0, 6.0, 3.0)


@pytest.mark.parametrize(("named", "limit"), [(-1, None), (0, None), (1, 1), (5, 5)])
def test_without_a_maximum_of_its_own_a_consumer_leaves_it_to_its_group(
    named: int, limit: int | None
) -> None:
    assert ConsumerSettings(max_reconsume_times=named).returns_max == limit


def test_times_of_locks_are_java_s_unless_said_otherwise() -> None:
    assert ConsumerSettings().lock_times == LockTimes(60.0, 30.0, 20.0)
    told = ConsumerSettings(lock_lease_seconds=15, lock_trust_seconds=7, lock_renew_seconds=5)
    assert told.lock_times == LockTimes(15, 7, 5)


def test_a_lock_that_is_trusted_for_longer_than_brokers_give_it_is_refused() -> None:
    with pytest.raises(SettingError, match=r"shorter .*lock_trust_seconds = 30, lock_lease_seconds = 15"):
        ConsumerSettings(lock_lease_seconds=15)
