"""Listed waits as the policy of a group."""

from __future__ import annotations

from mqframe_admin.rules.retry_waits import listed_waits

from mqframe.core.retry.redelivery import check_policy, retry_schedule


def test_waits_that_are_listed_are_those_that_are_kept() -> None:
    assert retry_schedule(listed_waits([])) is None
    policy = listed_waits([10_000, 30_000])
    check_policy("g", policy)
    assert retry_schedule(policy) == (10_000, 30_000)
