"""Locks of queues for ordered consumption (LOCK_BATCH_MQ, …; source: AdminBrokerProcessor.java).

The reference gives a lock to whoever asks. So it is here for a group that has no members, for some clients
lock before their first heartbeat. Of a group that has, only a member gets one (206), since a lock that a
stranger holds stops the group for a minute. A client that has just come back is a member again with its next
heartbeat. A broker of the same name that asks on behalf of a client (`onlyThisBroker`) has looked at that
itself.

The lock of a client whose connection closed is kept until its lease ends. That client may work on: its
listeners run, and it comes back on another connection within seconds. To free the queue at once would have
two members consume it side by side.
"""

from __future__ import annotations

from mqframe.broker.tables.shared import Registry
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import LockAnswerBody, LockBody, QueueBody
from mqframe.core.consuming.queue_locks import QueueLocks
from mqframe.core.errors import Refusal
from mqframe.core.requests.consumers import LockBatchMq, UnlockBatchMq
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.hooks.interfaces import BrokerService, Periodic

EXPIRE_SECONDS = 10.0


class QueueLockProcessor(BrokerService):
    """Locks queues for the members of groups that consume in order."""

    def __init__(self, locks: QueueLocks, registry: Registry) -> None:
        self._locks = locks
        self._clients = registry.clients

    def periodic(self) -> list[Periodic]:
        """Forgets locks whose lease has ended."""
        return [Periodic(EXPIRE_SECONDS, self._locks.expire, "queue locks")]

    @serves(LockBatchMq)
    def lock(self, fields: LockBatchMq, call: Call) -> LockAnswerBody:
        body = call.body(LockBody)
        if not body.only_this_broker:
            self._check_member(body.consumer_group, body.client_id)
        queues = [item.queue for item in body.mq_set]
        held = self._locks.lock(body.consumer_group, queues, body.client_id)
        return LockAnswerBody(lock_ok_mq_set=[QueueBody.of(queue) for queue in held])

    @serves(UnlockBatchMq)
    def unlock(self, fields: UnlockBatchMq, call: Call) -> Reply:
        body = call.body(LockBody)
        self._locks.unlock(body.consumer_group, [item.queue for item in body.mq_set], body.client_id)
        return Reply()

    def _check_member(self, name: str, client_id: str) -> None:
        group = self._clients.consumers.get(name)
        if group is not None and not group.has_client(client_id):
            raise Refusal(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"client {client_id} is no member of consumer group {name} here; lock after a heartbeat",
            )
