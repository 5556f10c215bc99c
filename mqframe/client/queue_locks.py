"""Asks brokers for the locks of queues, and gives them back: 41 and 42 (source: RebalanceImpl.java)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from mqframe.client.offsets import Broker, master_address
from mqframe.core import loosejson
from mqframe.core.bodies import LockAnswerBody, LockBody, QueueBody
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.message import MessageQueue
from mqframe.core.requests.consumers import LockBatchMq, UnlockBatchMq
from mqframe.log import get_logger

log = get_logger("client")

LOCK_TIMEOUT_SECONDS = 1.0
"""Longest wait for a broker's answer to a lock request."""
_UNKNOWN = (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)


class QueueLocker:
    """The locks that `client_id` has for `group`. One request a broker, all brokers at once.

    `unknown`: told when a broker does not know this member (any more), which a heartbeat cures.
    """

    def __init__(self, group: str, client_id: str, instance: Broker, unknown: Callable[[], object]) -> None:
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
        """Give the locks of `queues` back. A broker that cannot be told lets them end by themselves."""
        await asyncio.gather(*map(self._unlock, _by_broker(queues)))

    async def _lock(self, queues: Sequence[MessageQueue]) -> dict[MessageQueue, bool]:
        try:
            address = await master_address(self._instance, queues[0])
            answer = await self._instance.call(
                address, LockBatchMq(), self._body(queues), timeout=LOCK_TIMEOUT_SECONDS
            )
        except MqframeError as problem:
            self._log("locks could not be asked for", queues, problem)
            if isinstance(problem, AnswerError) and problem.code in _UNKNOWN:
                self._unknown()
            return {}
        body = loosejson.decode(bytes(answer.body), LockAnswerBody)
        ours = {each.queue for each in body.lock_ok_mq_set}
        return {queue: queue in ours for queue in queues}

    async def _unlock(self, queues: Sequence[MessageQueue]) -> None:
        try:
            address = await master_address(self._instance, queues[0])
            await self._instance.call(
                address, UnlockBatchMq(), self._body(queues), timeout=LOCK_TIMEOUT_SECONDS
            )
        except MqframeError as problem:
            self._log("locks could not be given back", queues, problem)

    def _body(self, queues: Iterable[MessageQueue]) -> bytes:
        return loosejson.dumps(
            LockBody(
                client_id=self._client_id,
                consumer_group=self._group,
                mq_set=[QueueBody.of(queue) for queue in queues],
            )
        )

    def _log(self, what: str, queues: Sequence[MessageQueue], problem: MqframeError) -> None:
        log.warning(
            what,
            group=self._group,
            broker=queues[0].broker_name,
            queues=[f"{queue.topic}/{queue.queue_id}" for queue in queues],
            reason=str(problem),
        )


def _by_broker(queues: Iterable[MessageQueue]) -> list[list[MessageQueue]]:
    parts: dict[str, list[MessageQueue]] = {}
    for queue in queues:
        parts.setdefault(queue.broker_name, []).append(queue)
    return list(parts.values())
