"""Locks of queues for ordered consumption: 41 and 42 (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from mqframe.broker.part import Part, Periodic
from mqframe.core.bodies import LockAnswerBody, LockBody, QueueBody
from mqframe.core.loosejson import decode, dumps
from mqframe.core.queue_locks import QueueLocks
from mqframe.net.call import Call, Handler, Reply

EXPIRE_SECONDS = 10.0


class LockProcessor(Part):
    """Gives members the locks of their queues."""

    def __init__(self, locks: QueueLocks) -> None:
        self._locks = locks

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {41: self._lock, 42: self._unlock}

    def periodic(self) -> list[Periodic]:
        """Forgets locks whose lease has ended."""
        return [Periodic(EXPIRE_SECONDS, self._locks.expire, "queue locks")]

    def _lock(self, call: Call) -> Reply:
        body = decode(memoryview(call.frame.body), LockBody)
        queues = [item.queue for item in body.mq_set]
        held = self._locks.lock(body.consumer_group, queues, body.client_id)
        return Reply(body=dumps(LockAnswerBody(lock_ok_mq_set=[QueueBody.of(queue) for queue in held])))

    def _unlock(self, call: Call) -> Reply:
        body = decode(memoryview(call.frame.body), LockBody)
        self._locks.unlock(body.consumer_group, [item.queue for item in body.mq_set], body.client_id)
        return Reply()
