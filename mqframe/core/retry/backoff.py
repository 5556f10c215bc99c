"""Every back-off of clients: of sends, pulls, rebalances and queue locks; of messages: `redelivery`.

A change of how long something waits before it is tried again is made in these two and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ConnectionLost, MqframeError
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

    def next_pause(self, seconds_left: float, told: float = 0.0) -> float | None:
        """Seconds until the next try; `None` when time is up. `told`: what the server asked for, if it did.

        Else never more than half of what is left, so that a server which returns late is found in time.
        """
        if seconds_left < LAST_SECONDS:
            return None
        self._count += 1
        if 0.0 < told <= seconds_left - LAST_SECONDS:
            return told
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
    error: MqframeError, failures: int, randomness: Callable[[], float], error_seconds: float = ERROR_SECONDS
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
