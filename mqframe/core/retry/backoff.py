"""Every back-off: of sends, of consume retries, of pulls, of rebalances and queue locks.

A change of how long something waits before it is tried again is made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import (
    CustomizedRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)
from mqframe.core.errors import AnswerError, ConnectionLost, MqframeError, Refusal
from mqframe.core.retry.passing import is_passing

# Calls to a broker or name server that is busy or restarts

FIRST_SECONDS: Final = 0.1
FACTOR: Final = 1.6
JITTER: Final = 0.2
CAP_SECONDS: Final = 2.0
_STEPS_TO_CAP: Final = 7
"""1.6 ** 7 passes the cap; larger powers need not be computed, and would overflow in the end."""
LAST_SECONDS: Final = 0.1
"""With less time left no further try is begun."""


def backoff_seconds(tries: int, randomness: Callable[[], float]) -> float:
    """The pause after the `tries`-th failure (1, 2, …), s: 0.1 s, each time 1.6 times as long, at most 2 s.

    `randomness` returns numbers in [0, 1).
    """
    plain = FIRST_SECONDS * FACTOR ** min(tries - 1, _STEPS_TO_CAP)
    jitter = 1 + JITTER * (2 * randomness() - 1)
    return min(plain * jitter, CAP_SECONDS)


class Pauses:
    """The pauses between the tries of one call, which may take only so long."""

    __slots__ = ("_count", "_randomness")

    def __init__(self, randomness: Callable[[], float]) -> None:
        self._count = 0
        self._randomness = randomness

    def next_pause(self, seconds_left: float) -> float | None:
        """Seconds until the next try; `None` when time is up.

        Never more than half of what is left, so that a server which returns late is found in time.
        """
        if seconds_left < LAST_SECONDS:
            return None
        self._count += 1
        return min(backoff_seconds(self._count, self._randomness), seconds_left / 2)


# Pulls (DefaultMQPushConsumerImpl.java)

HELD_BACK_SECONDS: Final = 0.05
"""After the consumer's own flow control held a pull back."""
SUSPENDED_SECONDS: Final = 1.0
"""While the application has suspended consumption, or paused the queue."""
ERROR_SECONDS: Final = 3.0
"""After a pull that failed, and when the first offset of a queue was not found."""
BUSY_SECONDS: Final = 0.02
"""After the broker's flow control refused a pull (PULL_TIME_DELAY_MILLS_WHEN_BROKER_FLOW_CONTROL)."""


def pull_backoff(
    error: MqframeError,
    failures: int,
    randomness: Callable[[], float],
    error_seconds: float = ERROR_SECONDS,
) -> float:
    """The wait after the `failures`-th pull in a row that failed, by `error`: s, at most `error_seconds`.

    Java's wait 3 s after any; ours find a broker that restarts as soon as `backoff_seconds` lets them, and
    look every 3 s when it stays away.
    """
    if isinstance(error, AnswerError) and error.code == ResponseCode.FLOW_CONTROL:
        return min(BUSY_SECONDS, error_seconds)
    restarts = is_passing(error) or isinstance(error, ConnectionLost)
    if restarts and failures <= _STEPS_TO_CAP:
        return min(backoff_seconds(failures, randomness), error_seconds)
    return min(ERROR_SECONDS, error_seconds)


# Rebalances

REBALANCE_AGAIN_SECONDS: Final = 1.0
"""After a rebalance in which something failed (RebalanceService's minimum interval)."""
REBALANCE_LOCK_SECONDS: Final = 0.5
"""After the lock of a queue that is to be assigned could not be had."""

ROUTE_AGAIN_SECONDS: Final = 0.5
"""Before a topic without a route is looked for again, at first."""
ROUTE_LOOKS_SECONDS: Final = (0.1, 0.3, 0.6, 1.0)
"""Waits of a send before it looks again for a topic that name servers do not know (yet)."""


def route_again(missing_seconds: float, most_seconds: float) -> float:
    """The wait before a topic is looked for again that had no route for `missing_seconds`: each time about as
    long as it was missing until then, at most `most_seconds`."""
    return min(max(missing_seconds, ROUTE_AGAIN_SECONDS), most_seconds)


# Queues that are consumed in order (ConsumeMessageOrderlyService.java)

PAUSE_SECONDS: Final = 0.01
"""Before a queue goes on that paused for another reason than a failure."""
UNLOCKED_SECONDS: Final = 0.1
"""Before the lock is asked for again when a queue turns out to be unlocked at its turn."""
LOCK_AGAIN_SECONDS: Final = 3.0
"""Before a queue is looked at again whose lock could not be had."""
SUSPEND_SECONDS_MIN: Final = 0.01
SUSPEND_SECONDS_MAX: Final = 30.0


def suspend_seconds(wanted_millis: float | None, usual_millis: float) -> float:
    """For how long a queue pauses after a failure: what the listener wants, else the consumer, in its
    bounds."""
    seconds = (usual_millis if wanted_millis is None or wanted_millis == -1 else wanted_millis) / 1000
    return min(max(seconds, SUSPEND_SECONDS_MIN), SUSPEND_SECONDS_MAX)


# Messages that were not consumed

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


def listed_waits(waits: Sequence[int]) -> GroupRetryPolicy:
    """The policy of a group whose messages come back after `waits` (ms), one after the other.

    The last one is kept; without any the broker's levels count.
    """
    if not waits:
        return GroupRetryPolicy()
    unused = [waits[0]] * (FIRST_LEVEL - 1)
    return GroupRetryPolicy("CUSTOMIZED", CustomizedRetryPolicy([*unused, *waits]))


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
