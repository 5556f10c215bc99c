"""When a message comes back that was not consumed: by delay levels, or by the retry policy of its group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import GroupRetryPolicy, SubscriptionGroupConfig
from mqframe.core.errors import Refusal

REDELIVER_SECONDS: Final = 5.0
"""A failed message that no broker takes back is consumed again by the same client after this time."""
FIRST_LEVEL: Final = 3
"""The delay level of the first retry; each further one takes the next level."""
TIMEOUT_LEVEL: Final = 3
"""The delay level of a message that took too long (ProcessQueue.cleanExpiredMsg)."""
DELAY_MS_MAX: Final = 3 * 24 * 3_600_000
"""Longest wait that a group's policy may ask for: as far ahead as brokers keep messages for later."""
_EXPONENTS_MAX: Final = 32


def retry_level(reconsume_times: int) -> int:
    """The delay level of the next retry of a message that was retried `reconsume_times` times."""
    return FIRST_LEVEL + reconsume_times


def retry_wait(schedule: Sequence[int], reconsume_times: int) -> int:
    """The same by the group's `schedule` (`retry_schedule`), ms; its last wait is kept from there on."""
    return schedule[min(max(reconsume_times, 0), len(schedule) - 1)]


def retry_schedule(policy: GroupRetryPolicy) -> tuple[int, ...] | None:
    """The waits of `policy` in ms, for the first retry, the second …; the last one is kept from there on.

    `None` where the policy says nothing of its own, so that the broker's levels count. The first two waits of
    a customized policy are those that no retry uses, as with the levels (CustomizedRetryPolicy.java).
    """
    if policy.type == "EXPONENTIAL" and policy.exponential_retry_policy is not None:
        grows = policy.exponential_retry_policy
        waits = [
            min(grows.max, grows.initial * grows.multiplier**times) for times in range(_EXPONENTS_MAX + 1)
        ]
    elif policy.type == "CUSTOMIZED" and policy.customized_retry_policy is not None:
        listed = policy.customized_retry_policy.next
        waits = listed[FIRST_LEVEL - 1 :] or listed[-1:]
    else:
        return None
    return tuple(min(max(wait, 1), DELAY_MS_MAX) for wait in waits) or None


def ordered_interval(group: SubscriptionGroupConfig) -> int | None:
    """The wait, ms, between tries of a message that `group` consumes in order; `None` where nothing is set.

    Order knows one interval for all tries: the first of the group's schedule, if the group says of itself
    that it consumes in order.
    """
    waits = retry_schedule(group.group_retry_policy) if group.consume_message_orderly else None
    return waits[0] if waits else None


def check_policy(group: str, policy: GroupRetryPolicy) -> None:
    """Raise `Refusal` 29 for a policy that cannot be kept."""

    def refuse(what: str) -> Refusal:
        return Refusal(ResponseCode.INVALID_PARAMETER, f"retry policy of group {group}: {what}")

    if policy.type not in ("CUSTOMIZED", "EXPONENTIAL"):
        raise refuse(f"type {policy.type!r} is neither CUSTOMIZED nor EXPONENTIAL")
    if policy.customized_retry_policy is not None:
        waits = policy.customized_retry_policy.next
        if not waits:
            raise refuse("next is empty; give at least one wait in ms")
        bad = [wait for wait in waits if not 1 <= wait <= DELAY_MS_MAX]
        if bad:
            raise refuse(f"a wait of {bad[0]} ms is not within 1 and {DELAY_MS_MAX}")
    if policy.exponential_retry_policy is not None:
        grows = policy.exponential_retry_policy
        if grows.multiplier < 1:
            raise refuse(f"multiplier {grows.multiplier} is less than 1")
        if not 1 <= grows.initial <= grows.max <= DELAY_MS_MAX:
            raise refuse(
                f"initial {grows.initial} ms and max {grows.max} ms must satisfy "
                f"1 <= initial <= max <= {DELAY_MS_MAX}"
            )
