"""The confirmed-offset port: up to where the log holds what the configured durability promises.

Consumers never see a record at or past the confirmed offset, so they cannot commit past one that a crash
would take back. It is "what is flushed as configured" (store.md §3). What slaves have is waited for by
senders only: readers of a master see a message whether slaves have it or not, as in Apache RocketMQ
(replication.md §4).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode


class ConfirmedOffset(Protocol):
    """Names the first commit-log offset, in bytes, that is not confirmed yet."""

    def __call__(self) -> int:
        """The offset. It never goes back."""
        ...


def flushed_as_configured(
    sync: bool, appended: Callable[[], int], flushed: Callable[[], int]
) -> ConfirmedOffset:
    """The port of a broker: `flushed` with synchronous flush, else `appended`; in bytes."""
    return flushed if sync else appended


class ReplicaLimits(NamedTuple):
    """`slaves`: how many have to have a message; one that is `behind_bytes_max` behind does not count."""

    slaves: int
    timeout_seconds: float
    behind_bytes_max: int


class _Waiter(NamedTuple):
    end: int
    deadline: float
    callback: Callable[[int], object]


class ReplicaWaits:
    """Those who wait until enough slaves have what they stored: what a SYNC_MASTER answers.

    `acknowledged`: for each slave that is connected, up to which log offset it has the log.
    """

    def __init__(
        self, clock: Clock, limits: ReplicaLimits, acknowledged: Callable[[], Sequence[int]]
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._acknowledged = acknowledged
        self._waiters: deque[_Waiter] = deque()

    def when_replicated(self, end: int, callback: Callable[[int], object]) -> None:
        """Call `callback` with the code of the answer once enough slaves have the log up to `end`.

        That is where the log ends now. SUCCESS, SLAVE_NOT_AVAILABLE at once where too few slaves are near and
        connected, FLUSH_SLAVE_TIMEOUT when it took too long.
        """
        behind = self._limits.behind_bytes_max
        near = sum(end - each < behind for each in self._acknowledged())
        if near < self._limits.slaves:
            callback(ResponseCode.SLAVE_NOT_AVAILABLE)
        elif end <= self._reached():
            callback(ResponseCode.SUCCESS)
        else:
            deadline = self._clock.monotonic() + self._limits.timeout_seconds
            self._waiters.append(_Waiter(end, deadline, callback))

    def _reached(self) -> float:
        if not self._limits.slaves:
            return float("inf")
        known = sorted(self._acknowledged(), reverse=True)
        return known[self._limits.slaves - 1] if len(known) >= self._limits.slaves else -1

    def settle(self) -> None:
        """Call back those whose messages enough slaves have now."""
        if not self._waiters:
            return
        reached = self._reached()
        while self._waiters and self._waiters[0].end <= reached:
            self._waiters.popleft().callback(ResponseCode.SUCCESS)

    def expire(self) -> None:
        """Call back those who have waited too long."""
        now = self._clock.monotonic()
        while self._waiters and self._waiters[0].deadline <= now:
            self._waiters.popleft().callback(ResponseCode.FLUSH_SLAVE_TIMEOUT)

    def give_up(self) -> None:
        """Call all back: the broker stops."""
        while self._waiters:
            self._waiters.popleft().callback(ResponseCode.FLUSH_SLAVE_TIMEOUT)
