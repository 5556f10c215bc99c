"""Locks of queues for ordered consumption, one member of a group at a time (RebalanceLockManager.java).

state                 event                       then
free                  lock by A                   A's
A's                   lock by A                   A's, for another 60 s
A's                   lock by B                   A's; B is refused
A's                   unlock by A                 free
A's                   unlock by B                 A's
A's, not renewed 60 s lock by B                   B's
A's, not renewed 60 s expire                      free
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.message import MessageQueue

LEASE_SECONDS: Final = 60.0
"""A lock that was not renewed for so long is free."""


class QueueLocks:
    """Who holds which queue for which group, and until when."""

    __slots__ = ("_clock", "_groups", "_lease")

    def __init__(self, clock: Clock, lease_seconds: float = LEASE_SECONDS) -> None:
        self._clock = clock
        self._lease = lease_seconds
        self._groups: dict[str, dict[MessageQueue, tuple[str, float]]] = {}

    def lock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> list[MessageQueue]:
        """Lock, or renew the lock of, each of `queues` for `client_id`; gives those that it holds now."""
        now = self._clock.monotonic()
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
            if not held:
                del self._groups[group]
