"""Keeps the brokers' locks of the queues that a member consumes in order (source: RebalanceImpl.java)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mqframe.client.queue_locks import QueueLocker
from mqframe.core.lock_lease import RENEW_SECONDS, LockLease
from mqframe.core.message import MessageQueue
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock

log = get_logger("client")


class LockKeeper:
    """The leases of one member, renewed every 20 s.

    `lost`: told of queues whose lock another member has; they are to be given up without a commit. All
    methods belong to the loop; leases may be looked at from any thread.
    """

    def __init__(
        self, group: str, locker: QueueLocker, clock: LoopClock, lost: Callable[[list[MessageQueue]], None]
    ) -> None:
        self._group = group
        self._locker = locker
        self._clock = clock
        self._lost = lost
        self._leases: dict[MessageQueue, LockLease] = {}
        self._renewal: Every | None = None

    def start(self) -> None:
        """Begin to renew."""
        self._renewal = Every(self._clock, RENEW_SECONDS, self.renew, name="queue locks")

    def stop(self) -> None:
        """Renew no more. What is locked stays so until `unlock`, or until its lease ends at the broker."""
        if self._renewal is not None:
            self._renewal.stop()

    def lease(self, queue: MessageQueue) -> LockLease:
        """The lease of `queue`; a free one where it was not locked."""
        return self._leases.setdefault(queue, LockLease())

    async def lock(self, queues: Sequence[MessageQueue]) -> list[MessageQueue]:
        """Get the locks of queues that nobody here consumes; gives those that are ours now."""
        asked = self._clock.monotonic()
        found = await self._locker.lock(queues)
        ours = [queue for queue in queues if found.get(queue)]
        for queue in ours:
            lease = self._leases[queue] = LockLease()
            lease.granted(asked)
        return ours

    async def renew(self) -> None:
        """Renew the locks of all queues. Those that somebody else has are lost."""
        leases = dict(self._leases)
        if not leases:
            return
        asked = self._clock.monotonic()
        found = await self._locker.lock(leases)
        lost = []
        for queue, lease in leases.items():
            granted = found.get(queue)
            if granted is None or self._leases.get(queue) is not lease:
                continue  # the broker did not say, or the queue was given up meanwhile
            if not granted:
                lease.refused()
            if not granted or not lease.granted(asked):
                lost.append(queue)
        if lost:
            log.warning(
                "another member has the lock, or may have had it; the queues are given up",
                group=self._group,
                queues=[f"{queue.topic}/{queue.broker_name}/{queue.queue_id}" for queue in lost],
            )
            for queue in lost:
                self.drop(queue)
            self._lost(lost)

    def doubt(self, queue: MessageQueue) -> None:
        """The connection to the broker of `queue` broke: it may know nothing of the lock any more."""
        lease = self._leases.get(queue)
        if lease is not None:
            lease.doubted()

    def drop(self, queue: MessageQueue) -> None:
        """Renew the lock of `queue` no more."""
        self._leases.pop(queue, None)

    async def unlock(self, queues: Iterable[MessageQueue]) -> None:
        """Give the locks of `queues` back."""
        queues = list(queues)
        for queue in queues:
            self.drop(queue)
        if queues:
            await self._locker.unlock(queues)
