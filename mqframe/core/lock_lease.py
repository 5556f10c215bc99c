"""A member's own view of the lock that it holds on a queue at the broker.

    state      event                    then
    FREE       granted                  HELD
    HELD       granted                  HELD, the lease runs from the moment at which it was asked for
    HELD       granted after 60 s       LOST: somebody may have had it in between
    HELD       doubted                  DOUBTED: a broker that was started anew knows no locks
    DOUBTED    granted                  as HELD
    any        refused                  LOST: somebody else has it
    LOST       anything                 LOST; the queue is given up and taken anew

Only while a lease is HELD and was asked for at most 30 s ago may a listener be called: the broker gives the
lock to somebody else 60 s after it was renewed last, so whoever cannot renew stops long before. It counts
from the asking, since the broker counts from some moment after it. Sources: ProcessQueue.isLockExpired,
RebalanceImpl.lock, RebalanceLockManager.java.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from mqframe.core.queue_locks import LEASE_SECONDS as BROKER_SECONDS

LEASE_SECONDS: Final = 30.0
"""A member trusts a lock for so long (REBALANCE_LOCK_MAX_LIVE_TIME)."""
RENEW_SECONDS: Final = 20.0
"""How often locks are renewed (REBALANCE_LOCK_INTERVAL)."""


class LeaseState(Enum):
    """Whether the lock is ours."""

    FREE = "free"
    HELD = "held"
    DOUBTED = "doubted"
    LOST = "lost"


class LockLease:
    """The lease of one queue's lock. Times are monotonic seconds."""

    __slots__ = ("since", "state")

    def __init__(self) -> None:
        self.state = LeaseState.FREE
        self.since = 0.0

    def granted(self, asked: float) -> bool:
        """The broker gave or renewed the lock when asked at `asked`; gives whether it was ours all the
        time."""
        if self.state in (LeaseState.HELD, LeaseState.DOUBTED) and asked - self.since > BROKER_SECONDS:
            self.state = LeaseState.LOST
        elif self.state is not LeaseState.LOST:
            self.state = LeaseState.HELD
            self.since = max(self.since, asked)
        return self.state is LeaseState.HELD

    def refused(self) -> None:
        """Somebody else holds the lock."""
        self.state = LeaseState.LOST

    def doubted(self) -> None:
        """The broker may have forgotten the lock; it must be asked for again."""
        if self.state is LeaseState.HELD:
            self.state = LeaseState.DOUBTED

    def valid(self, now: float) -> bool:
        """Whether a listener may be called now."""
        return self.state is LeaseState.HELD and now - self.since <= LEASE_SECONDS
