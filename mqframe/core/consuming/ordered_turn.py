"""Whose turn it is at one queue that is consumed in order: one batch at a time, one worker at a time.

    state      event                            then
    RESTING    offer                            QUEUED: a worker is to be sent
    QUEUED     begin, messages wait             LISTENING
    QUEUED     begin, nothing waits             RESTING
    QUEUED     begin, no valid lease            PAUSED (UNLOCKED)
    QUEUED     begin, 60 s without a pause      PAUSED (LONG)
    LISTENING  end, good                        QUEUED, with the same worker; what is left waits first
    LISTENING  end, not good                    PAUSED (FAILED)
    PAUSED     resume, messages wait            QUEUED: a worker is to be sent
    PAUSED     resume, nothing waits            RESTING
    LISTENING  close                            CLOSING
    CLOSING    end                              CLOSED
    others     close                            CLOSED

`offer` in QUEUED, LISTENING and PAUSED only adds; in CLOSING and CLOSED it is refused. A queue's lock goes
back to the broker in CLOSED, never in CLOSING: the listener that still runs must be the only one. Batches
are cut when they begin, so what came meanwhile goes along. Who uses one from several threads puts a lock
around every call. Source: ConsumeMessageOrderlyService.ConsumeRequest, the two locks of a queue in the
client.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Reversible
from enum import Enum
from math import inf
from typing import Final

from mqframe.core.consuming.queue_locks import LockLease, LockTimes
from mqframe.core.messages.message import ReceivedMessage

CONTINUOUS_SECONDS_MAX: Final = 60.0
"""A queue is left for others after so long without a pause (MAX_TIME_CONSUME_CONTINUOUSLY)."""


class Turn(Enum):
    """Who has the queue."""

    RESTING = "resting"
    QUEUED = "queued"
    LISTENING = "listening"
    PAUSED = "paused"
    CLOSING = "closing"
    CLOSED = "closed"


class Why(Enum):
    """Why a worker let go of a queue."""

    EMPTY = "empty"
    FAILED = "failed"
    UNLOCKED = "unlocked"
    LONG = "long"
    CLOSED = "closed"


# Asked several times for every message; the class would look each up by name.
(_RESTING, _QUEUED, _LISTENING, _PAUSED, _CLOSING, _CLOSED) = Turn
_ENDLESS: Final = LockLease(LockTimes(lease=inf, trusted=inf))
_ENDLESS.granted(0.0)


class OrderedTurn:
    """The turns of one queue. `lease`: of its lock at the broker; `None` where there are no locks.

    Until `until`, and for as long as `lease` is trusted, the listener that runs may be called for the rest of
    its batch; long ago where none runs. To look at both takes no lock.
    """

    __slots__ = ("_began", "_waiting", "lease", "state", "until", "why")

    def __init__(self, lease: LockLease | None) -> None:
        self.state = _RESTING
        self.why = Why.EMPTY
        self.lease = lease or _ENDLESS
        self.until = -inf
        self._waiting: deque[ReceivedMessage] = deque()
        self._began = 0.0

    @property
    def open(self) -> bool:
        """Whether messages are still taken."""
        return self.state not in (_CLOSING, _CLOSED)

    @property
    def queued(self) -> bool:
        """Whether a worker has the queue, or is sent to it, and no listener runs."""
        return self.state is _QUEUED

    @property
    def paused(self) -> bool:
        """Whether the queue waits to be resumed."""
        return self.state is _PAUSED

    @property
    def waiting_count(self) -> int:
        """How many messages wait for their turn."""
        return len(self._waiting)

    def offer(self, messages: Iterable[ReceivedMessage], now: float) -> bool:
        """Add what comes next, in order; returns whether a worker is to be sent."""
        if not self.open:
            return False
        self._waiting.extend(messages)
        return self.state is _RESTING and self._go(now)

    def begin(self, count_max: int, now: float) -> list[ReceivedMessage]:
        """The next batch, for the worker that has the queue. Empty: it lets go, and `why` says why."""
        if self.state is not _QUEUED:
            self.why = Why.CLOSED
            return []
        if not self.lease.valid(now):
            return self._pause(Why.UNLOCKED)
        if now - self._began > CONTINUOUS_SECONDS_MAX:
            return self._pause(Why.LONG)
        waiting = self._waiting
        if not waiting:
            self.state, self.why = _RESTING, Why.EMPTY
            return []
        self.state, self.until = _LISTENING, self._began + CONTINUOUS_SECONDS_MAX
        if count_max < len(waiting):
            return [waiting.popleft() for _ in range(count_max)]
        batch = list(waiting)
        waiting.clear()
        return batch

    def end(self, good: bool, left: Reversible[ReceivedMessage] = ()) -> None:
        """The listener answered, and did not get what is `left` of the batch.

        After anything but `good` the queue pauses, and `why` says so.
        """
        self.until = -inf
        if self.state is _CLOSING:
            self.state, self.why = _CLOSED, Why.CLOSED
        elif self.state is _LISTENING:
            self._waiting.extendleft(reversed(left))
            if good:
                self.state = _QUEUED
            else:
                self._pause(Why.FAILED)

    def resume(self, now: float) -> bool:
        """Let a paused queue go on; returns whether a worker is to be sent."""
        if self.state is not _PAUSED:
            return False
        self.state = _RESTING
        return self._go(now)

    def withdraw(self) -> None:
        """Forget what waits; it is offered again later."""
        self._waiting.clear()

    def close(self) -> bool:
        """Begin nothing more; returns whether nobody is at it any more."""
        self._waiting.clear()
        self.until = -inf
        if self.state in (_LISTENING, _CLOSING):
            self.state = _CLOSING
            return False
        self.state = _CLOSED
        return True

    def _go(self, now: float) -> bool:
        if not self._waiting:
            return False
        self.state = _QUEUED
        self._began = now
        return True

    def _pause(self, why: Why) -> list[ReceivedMessage]:
        self.state, self.why = _PAUSED, why
        return []
