"""Locks of queues for ordered consumption: the table of a broker, and a member's lease of one lock.

Source: RebalanceLockManager.java, ProcessQueue.isLockExpired, RebalanceImpl.lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from math import inf
from typing import Final

import attrs

from mqframe.core.clock import Clock
from mqframe.core.measuring.budget import admit_all
from mqframe.core.messages.message import MessageQueue

LEASE_SECONDS: Final = 60.0
"""A broker's lock that was not renewed for so long is free, unless its settings say otherwise."""


class QueueLocks:
    """A broker's table: the one member of a group that holds the lock of a queue, and until when.

    state                 event                       then
    free                  lock by A                   A's
    A's                   lock by A                   A's, for another `lease_seconds`
    A's                   lock by B                   A's; B is refused
    A's                   unlock by A                 free
    A's                   unlock by B                 A's
    A's, lease ended      lock by B                   B's
    A's, lease ended      expire                      free

    `count`: locks of all groups; `admit`: raises where there is no room for so many more.
    """

    __slots__ = ("_clock", "_groups", "_lease", "admit", "count")

    def __init__(self, clock: Clock, lease_seconds: float = LEASE_SECONDS) -> None:
        self.admit: Callable[[int], None] = admit_all
        self.count = 0
        self._clock = clock
        self._lease = lease_seconds
        self._groups: dict[str, dict[MessageQueue, tuple[str, float]]] = {}

    def lock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> list[MessageQueue]:
        """Lock, or renew the lock of, each of `queues` for `client_id`; returns those that it holds now.

        Raises `Refusal` where there is no room for those that nobody has locked.
        """
        now = self._clock.monotonic()
        queues = list(queues)
        known = self._groups.get(group, {})
        fresh = len({queue for queue in queues if queue not in known})
        if fresh:
            self.admit(fresh)
            self.count += fresh
        held = self._groups.setdefault(group, {})
        won = []
        for queue in queues:
            owner, since = held.get(queue, (client_id, now))
            if owner == client_id or now - since > self._lease:
                held[queue] = (client_id, now)
                won.append(queue)
        return won

    def unlock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Give back those of `queues` that `client_id` holds."""
        held = self._groups.get(group, {})
        for queue in queues:
            if queue in held and held[queue][0] == client_id:
                del held[queue]
                self.count -= 1
        if not held:
            self._groups.pop(group, None)

    def any_held(self, group: str) -> bool:
        """Whether somebody holds a queue for `group`."""
        now = self._clock.monotonic()
        return any(now - since <= self._lease for _, since in self._groups.get(group, {}).values())

    def expire(self) -> None:
        """Forget the locks whose lease has ended."""
        now = self._clock.monotonic()
        for group, held in tuple(self._groups.items()):
            for queue in [queue for queue, (_, since) in held.items() if now - since > self._lease]:
                del held[queue]
                self.count -= 1
            if not held:
                del self._groups[group]


@attrs.frozen
class LockTimes:
    """A member's times of locks, seconds.

    `lease`: what brokers give; `trusted`: how long after it asked a member lets listeners run
    (REBALANCE_LOCK_MAX_LIVE_TIME); `renewed`: how often it asks (REBALANCE_LOCK_INTERVAL).
    """

    lease: float = LEASE_SECONDS
    trusted: float = 30.0
    renewed: float = 20.0

    @property
    def fault(self) -> str:
        """What is wrong with them: two members at one queue, or none half of the time; "" for nothing."""
        if self.trusted >= self.lease:
            return "a lock must be trusted for a shorter time than brokers give it"
        return "" if self.renewed < self.trusted else "locks must be renewed before they are trusted no more"


LOCK_TIMES: Final = LockTimes()


class LeaseState(Enum):
    """Whether the lock is ours."""

    FREE = "free"
    HELD = "held"
    DOUBTED = "doubted"
    LOST = "lost"


class LockLease:
    """A member's own view of its lock on one queue. Times are monotonic seconds.

        state      event                    then
        FREE       granted                  HELD
        HELD       granted                  HELD, the lease runs from the moment at which it was asked for
        HELD       granted after the lease  LOST: somebody may have had it in between
        HELD       doubted                  DOUBTED: a broker that was started anew knows no locks
        DOUBTED    granted                  as HELD
        any        refused                  LOST: somebody else has it
        LOST       anything                 LOST; the queue is given up and taken anew

    Only while a lease is HELD and was asked for no longer ago than it is trusted may a listener be called:
    another member may have the lock when the broker's lease ends, so whoever cannot renew stops long before.
    It counts from the asking, since the broker counts from some moment after it.
    `until`: when that ends; long ago where it is not HELD.
    """

    __slots__ = ("_times", "since", "state", "until")

    def __init__(self, times: LockTimes = LOCK_TIMES) -> None:
        self._times = times
        self.since = 0.0
        self._become(LeaseState.FREE)

    def granted(self, asked: float) -> bool:
        """The broker gave or renewed the lock when asked at `asked`; whether it was ours all the time."""
        if self.state in (LeaseState.HELD, LeaseState.DOUBTED) and asked - self.since > self._times.lease:
            self._become(LeaseState.LOST)
        elif self.state is not LeaseState.LOST:
            self.since = max(self.since, asked)
            self._become(LeaseState.HELD)
        return self.state is LeaseState.HELD

    def refused(self) -> None:
        """Somebody else holds the lock."""
        self._become(LeaseState.LOST)

    def doubted(self) -> None:
        """The broker may have forgotten the lock; it must be asked for again."""
        if self.state is LeaseState.HELD:
            self._become(LeaseState.DOUBTED)

    def valid(self, now: float) -> bool:
        """Whether a listener may be called now."""
        return now <= self.until

    def _become(self, state: LeaseState) -> None:
        self.state = state
        self.until = self.since + self._times.trusted if state is LeaseState.HELD else -inf
