"""Locks that brokers give on queues that are consumed in order: had, renewed, released.

Source: RebalanceImpl.java.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.offsets import master_address
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import LockAnswerBody, LockBody, QueueBody
from mqframe.core.consuming.queue_locks import LOCK_TIMES, LockLease, LockTimes
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.consumers import LockBatchMq, UnlockBatchMq
from mqframe.core.requests.fields import Request
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock

log = get_logger("client")

LOCK_TIMEOUT_SECONDS = 1.0
"""Longest wait for a broker's answer to a lock request."""
_UNKNOWN = (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)


class QueueLocker:
    """The locks that `client_id` has for `group`. One request a broker, all brokers at once.

    `unknown`: notified when a broker does not know this member (any more), which a heartbeat cures.
    """

    def __init__(
        self, group: str, client_id: str, instance: ClientInstance, unknown: Callable[[], object]
    ) -> None:
        self._unknown = unknown
        self._group = group
        self._client_id = client_id
        self._instance = instance

    async def lock(self, queues: Iterable[MessageQueue]) -> dict[MessageQueue, bool]:
        """Lock `queues`, or renew their locks. Whether each is ours now; one whose broker could not say is
        left out."""
        asked = _by_broker(queues)
        found: dict[MessageQueue, bool] = {}
        for part in await asyncio.gather(*map(self._lock, asked)):
            found.update(part)
        return found

    async def unlock(self, queues: Iterable[MessageQueue]) -> None:
        """Release the locks of `queues`. At a broker that cannot be reached they end by themselves."""
        asked = _by_broker(queues)
        if len(asked) == 1:  # as at the end of a turn, whose loop may end before a task of its own began
            await self._unlock(asked[0])
        else:
            await asyncio.gather(*map(self._unlock, asked))

    async def _lock(self, queues: Sequence[MessageQueue]) -> dict[MessageQueue, bool]:
        try:
            answer = await self._call(LockBatchMq(), queues)
            body = loose_json.decode(bytes(answer.body), LockAnswerBody)
        except MqframeError as problem:
            self._log("locks could not be had", queues, problem)
            if isinstance(problem, AnswerError) and problem.code in _UNKNOWN:
                self._unknown()
            return {}
        self._instance.outages.over("locks could not be had", queues[0].broker_name)
        ours = {each.queue for each in body.lock_ok_mq_set}
        return {queue: queue in ours for queue in queues}

    async def _unlock(self, queues: Sequence[MessageQueue]) -> None:
        try:
            await self._call(UnlockBatchMq(), queues)
        except MqframeError as problem:
            self._log("locks could not be released", queues, problem)
        else:
            self._instance.outages.over("locks could not be released", queues[0].broker_name)

    async def _call(self, request: Request, queues: Sequence[MessageQueue]) -> Frame:
        """The answer of the master of `queues`, all of one broker."""
        address = await master_address(self._instance, queues[0])
        mine = [QueueBody.of(queue) for queue in queues]
        body = LockBody(client_id=self._client_id, consumer_group=self._group, mq_set=mine)
        return await self._instance.call(
            address, request, loose_json.dumps(body), timeout=LOCK_TIMEOUT_SECONDS
        )

    def _log(self, what: str, queues: Sequence[MessageQueue], problem: MqframeError) -> None:
        broker = queues[0].broker_name
        names = [f"{queue.topic}/{queue.queue_id}" for queue in queues]
        self._instance.outages.note(what, broker, problem, group=self._group, broker=broker, queues=names)


class LockKeeper:
    """The leases of one member, renewed in time.

    `lost`: notified of queues whose lock another member has; they are to be given up without a commit. All
    methods belong to the loop; leases may be looked at from any thread.
    """

    def __init__(
        self,
        group: str,
        locker: QueueLocker,
        clock: LoopClock,
        lost: Callable[[list[MessageQueue]], None],
        times: LockTimes = LOCK_TIMES,
    ) -> None:
        self._group = group
        self._locker = locker
        self._clock = clock
        self._lost = lost
        self._times = times
        self._leases: dict[MessageQueue, LockLease] = {}
        self._renewal: Every | None = None

    def start(self) -> None:
        """Begin to renew."""
        self._renewal = Every(self._clock, self._times.renewed, self.renew, name="queue locks")

    def stop(self) -> None:
        """Renew no more. What is locked stays so until `unlock`, or until its lease ends at the broker."""
        if self._renewal is not None:
            self._renewal.stop()

    def lease(self, queue: MessageQueue) -> LockLease:
        """The lease of `queue`; a free one where it was not locked."""
        return self._leases.setdefault(queue, LockLease(self._times))

    async def lock(self, queues: Sequence[MessageQueue]) -> list[MessageQueue]:
        """Get the locks of queues that nobody here consumes; returns those that are ours now."""
        asked = self._clock.monotonic()
        found = await self._locker.lock(queues)
        ours = [queue for queue in queues if found.get(queue)]
        for queue in ours:
            lease = self._leases[queue] = LockLease(self._times)
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
        """Release the locks of `queues`."""
        queues = list(queues)
        for queue in queues:
            self.drop(queue)
        if queues:
            await self._locker.unlock(queues)


def _by_broker(queues: Iterable[MessageQueue]) -> list[list[MessageQueue]]:
    parts: dict[str, list[MessageQueue]] = {}
    for queue in queues:
        parts.setdefault(queue.broker_name, []).append(queue)
    return list(parts.values())
