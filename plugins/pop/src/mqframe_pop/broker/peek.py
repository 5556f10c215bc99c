"""What a pop would return, without popping it: PEEK_MESSAGE, NOTIFICATION, POLLING_INFO.

Sources: PeekMessageProcessor.java, NotificationProcessor.java, PollingInfoProcessor.java.
"""

from __future__ import annotations

from collections.abc import Awaitable

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.storage.found import GetStatus
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces import BrokerPort
from mqframe_pop.broker.admission import EVERYTHING, PopAdmission
from mqframe_pop.broker.long_polling import HeldPop, PopLongPolling, PopWaitProcessor
from mqframe_pop.broker.ordered import OrderedPops
from mqframe_pop.broker.reader import PopReader
from mqframe_pop.requests import (
    Notification,
    NotificationAnswer,
    PeekMessage,
    PollingInfo,
    PollingInfoAnswer,
    PopAnswer,
    PopMessage,
)
from mqframe_pop.rules.bodies import MESSAGES_MAX


class PeekProcessor(PopWaitProcessor[Notification]):
    """Says what there is to pop, at once or as soon as something comes."""

    def __init__(
        self,
        port: BrokerPort,
        reader: PopReader,
        admission: PopAdmission,
        order: OrderedPops,
        pops: PopLongPolling[PopMessage],
    ) -> None:
        super().__init__(port, admission, PopLongPolling())
        self._reader = reader
        self._order = order
        self._pops = pops
        self._store = reader.store

    @serves(PeekMessage)
    def peek(self, fields: PeekMessage, call: Call) -> Reply | Awaitable[Reply]:
        topic, _ = self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        if not 0 < fields.max_msg_nums <= MESSAGES_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"maxMsgNums is {fields.max_msg_nums}: 1 to {MESSAGES_MAX} messages can be looked at",
            )
        return self._look(fields, topic)

    async def _look(self, fields: PeekMessage, topic: TopicConfig) -> Reply:
        parts: list[Body] = []
        count = rest = 0
        for name, queue_id in self._reader.queues(topic, fields.consumer_group, fields.queue_id):
            offset = self._reader.position(fields.consumer_group, name, queue_id)
            rest += max(self._store.queues.max_offset(name, queue_id) - offset, 0)
            if count >= fields.max_msg_nums:
                continue
            most = fields.max_msg_nums - count
            found = self._store.reads.get_now(name, queue_id, offset, most)
            if found is None:
                found = await self._store.reads.get_cold(name, queue_id, offset, most)
            if found.status is GetStatus.FOUND:
                # Copies, because a view of the log's map may not outlive a wait for the disk.
                parts += [bytes(part) for part in found.parts]
                count += found.count
        answer = PopAnswer(pop_time=0, invisible_time=0, revive_qid=0, rest_num=rest)
        if not count:
            return Reply(ResponseCode.PULL_NOT_FOUND, answer, remark="NO_MESSAGE_IN_QUEUE")
        return Reply(header=answer, remark="FOUND", body=parts)

    @serves(Notification)
    def notify(self, fields: Notification, call: Call) -> Reply | None:
        topic, _ = self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        if self._has_message(fields, topic):
            return Reply(header=NotificationAnswer(has_msg=True, polling_full=False))
        full = self.full(fields)
        nothing = Reply(header=NotificationAnswer(has_msg=False, polling_full=full))
        if full or self.wait_seconds(fields, call) <= 0:
            return nothing
        self.hold(call, fields, topic, EVERYTHING, nothing)
        return None

    def serve_held(self, held: HeldPop[Notification], queue_id: int) -> int | None:
        """Answer a request that waited, if there is a message; it stays for the next one that waits."""
        if not self._has_message(held.fields, held.topic):
            return None
        held.call.reply(Reply(header=NotificationAnswer(has_msg=True, polling_full=False)))
        return 1

    def _has_message(self, fields: Notification, topic: TopicConfig) -> bool:
        group = fields.consumer_group
        for name, queue_id in self._reader.queues(topic, group, fields.queue_id):
            if fields.order and self._order.blocks((name, group, queue_id), fields.attempt_id, 0):
                continue
            if self._store.queues.max_offset(name, queue_id) > self._reader.position(group, name, queue_id):
                return True
        return False

    @serves(PollingInfo)
    def count(self, fields: PollingInfo, call: Call) -> PollingInfoAnswer:
        self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        number = self._pops.at(fields.topic, fields.consumer_group, fields.queue_id)
        return PollingInfoAnswer(polling_num=number)
