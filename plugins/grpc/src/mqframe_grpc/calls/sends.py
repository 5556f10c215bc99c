"""Sending, and taking back what was to be delivered later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.delay.recall_handle import decode_recall_handle
from mqframe.core.messages.properties import encode_properties
from mqframe.core.requests.messages import RecallAnswer, RecallMessage, SendAnswer, SendMessageV2
from mqframe_grpc.access import to_publish
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.answers import fields_of, need
from mqframe_grpc.calls.ordinary_sends import OrdinarySend
from mqframe_grpc.calls.routes import MESSAGE_TYPE
from mqframe_grpc.clients import DoorClient, DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, overall, rejected, status
from mqframe_grpc.rules.names import topic_name
from mqframe_grpc.rules.routes import topic_type
from mqframe_grpc.rules.send_checks import SendLimits, check_sends
from mqframe_grpc.rules.sends import SendDraft, check_type, draft
from mqframe_grpc.transport.call import GrpcCall

_DEFAULT_TOPIC: Final = "TBW102"
_DEFAULT_QUEUES: Final = 4
_STORED: Final[dict[int, m.Code]] = {
    ResponseCode.SUCCESS: m.Code.OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: m.Code.MASTER_PERSISTENCE_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: m.Code.SLAVE_PERSISTENCE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: m.Code.HA_NOT_AVAILABLE,
}
"""Codes of messages that are stored, though perhaps not as safely as was configured."""
_SAFE_OR_NOT: Final = frozenset(_STORED.values())
_RECALLED_TYPES: Final = ("DELAY", "MIXED")


class SendCalls:
    """SendMessage and RecallMessage.

    `half_stored(topic, transaction id, broker, answer)`: is told of messages that wait for the end of their
    transaction.
    """

    def __init__(
        self,
        backend: Backend,
        clients: DoorClients,
        clock: Clock,
        limits: SendLimits,
        half_stored: Callable[[str, str, str, SendAnswer], None],
    ) -> None:
        self._backend = backend
        self._clients = clients
        self._clock = clock
        self._limits = limits
        self._half_stored = half_stored
        self.check_types = True

    async def send(
        self, call: GrpcCall, request: m.SendMessageRequest | OrdinarySend
    ) -> m.SendMessageResponse:
        """Serve SendMessage: an entry for each message, in their order."""
        client, answer = self._clients.of(call), m.SendMessageResponse()
        if isinstance(request, OrdinarySend):
            topic = topic_name(request)
            self._clients.gate.check(client, to_publish(topic))
            codes = [await self._store(client, topic, request.draft, answer.entries.add())]
        else:
            topic = check_sends(request.messages, self._limits, self._clock.now_ms())
            # Before anything is said of the topic, such as that there is none.
            self._clients.gate.check(client, to_publish(topic))
            codes = [
                await self._store(client, topic, self._draft(call, each), answer.entries.add())
                for each in request.messages
            ]
        if len(codes) == 1 and codes[0] not in _SAFE_OR_NOT:
            return m.SendMessageResponse(status=answer.entries[0].status)
        answer.status.CopyFrom(overall(codes))
        return answer

    def _draft(self, call: GrpcCall, message: m.Message) -> SendDraft:
        return draft(message, call.address, self._clock.now_ms(), self._limits)

    async def _store(
        self, client: DoorClient, topic: str, made: SendDraft, entry: m.SendResultEntry
    ) -> m.Code:
        """Have a message stored; what became of it goes into `entry`."""
        place = await self._backend.write_place(client, topic, made.group)
        if self.check_types:
            check_type(made.properties, topic, topic_type(place.topic.attributes.get(MESSAGE_TYPE)))
        reply = await self._backend.ask(
            client,
            place.broker,
            SendMessageV2(
                producer_group=topic,
                topic=topic,
                default_topic=_DEFAULT_TOPIC,
                default_topic_queue_nums=_DEFAULT_QUEUES,
                queue_id=place.queue_id,
                sys_flag=made.sys_flag,
                born_timestamp=made.born_timestamp,
                flag=0,
                properties=made.text or encode_properties(made.properties),
            ),
            made.body,
        )
        entry.message_id = made.message_id
        code = _STORED.get(reply.code)
        if code is None:
            problem = rejected(reply.code, reply.remark)
            entry.status.CopyFrom(status(problem.code, problem.text))
            return problem.code
        answer = fields_of(reply, SendAnswer)
        if made.sys_flag & SysFlag.TRANSACTION_PREPARED:
            self._half_stored(topic, made.message_id, place.broker, answer)
        entry.status.CopyFrom(status(code, "" if code is m.Code.OK else reply.remark or ""))
        entry.transaction_id = made.message_id
        entry.offset = answer.queue_offset
        if answer.recall_handle:
            entry.recall_handle = answer.recall_handle
        return code

    async def recall(self, call: GrpcCall, request: m.RecallMessageRequest) -> m.RecallMessageResponse:
        """Serve RecallMessage."""
        client = self._clients.of(call)
        topic = topic_name(request.topic)
        self._clients.gate.check(client, to_publish(topic))
        config = await self._backend.topic(topic)
        kind = config.attributes.get(MESSAGE_TYPE) or "NORMAL"
        if self.check_types and kind not in _RECALLED_TYPES:
            raise Rejected(
                m.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
                f"messages of topic {topic}, of type {kind}, are not recalled; those of DELAY and MIXED are",
            )
        try:
            broker = self._backend.broker_of(decode_recall_handle(request.recall_handle).broker_name)
        except ValueError as problem:
            raise Rejected(m.Code.INTERNAL_SERVER_ERROR, str(problem)) from None
        reply = await self._backend.ask(
            client,
            broker,
            RecallMessage(topic=topic, recall_handle=request.recall_handle, producer_group=topic),
        )
        answer = fields_of(need(reply), RecallAnswer)
        return m.RecallMessageResponse(status=status(m.Code.OK), message_id=answer.msg_id)
