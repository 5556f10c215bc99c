"""Replies of request-reply, pushed to the client that waits (source: ReplyMessageProcessor.java)."""

from __future__ import annotations

from random import randrange
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MqframeError, Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.requests.replies import SendReplyMessage, SendReplyMessageV2
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.storage.stored import Stored
from mqframe.hooks.interfaces import BrokerPort, BrokerService
from mqframe.hooks.interfaces.send_rule import SendFields
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe_request_reply.requests import PushReplyMessageToClient
from mqframe_request_reply.settings import ReplySettings

log = get_logger("broker")

PUSH_SECONDS: Final = 10.0
"""Longest wait for the client to take its reply (Broker2Client.callClient)."""


class ReplyProcessor(BrokerService):
    """Hands replies to who waits, and stores them where `store_replies` says so."""

    Settings = ReplySettings

    def __init__(self, port: BrokerPort) -> None:
        self._sends, self._writer, self._clients = port.sends, port.writer, port.clients
        self._identity, self._clock = port.identity, port.clock
        self._settings = port.settings(ReplySettings)
        settings = port.in_force
        self._marks = {p.MSG_REGION: settings.region, p.TRACE_ON: str(settings.trace_on).lower()}

    @serves(SendReplyMessage, SendReplyMessageV2)
    async def push_reply(self, fields: SendReplyMessage | SendReplyMessageV2, call: Call) -> Reply:
        try:
            return await self._hand_on(call, fields)
        except Refusal as refusal:
            return Reply(refusal.code, ext=dict(self._marks), remark=refusal.remark)

    async def _hand_on(self, call: Call, fields: SendFields) -> Reply:
        target = self._sends.find(fields)
        body = bytes(call.frame.body)  # the call's view would not outlive the wait for the client
        if not body:
            raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"reply for topic {fields.topic} has no body")
        queue_id = fields.queue_id if fields.queue_id >= 0 else randrange(target.write_queues)
        pairs = p.decode_properties(fields.properties or "") | self._marks
        problem = await self._push(call, fields, dict(pairs), body)
        stored = None
        if self._settings.current.store_replies:
            stored = self._keep(call, fields, queue_id, pairs, body)
        if problem:
            log.warning("reply was not delivered", reason=problem)
            raise Refusal(ResponseCode.SYSTEM_ERROR, problem)
        ext = {
            # Of a reply that is not stored the reference says 0, which clients can read.
            "msgId": self._identity.offset_id(stored.commit_log_offset) if stored else "0",
            "queueId": str(queue_id),
            "queueOffset": str(stored.queue_offset if stored else 0),
        }
        return Reply(ext=ext | self._marks)

    async def _push(self, call: Call, fields: SendFields, pairs: dict[str, str], body: bytes) -> str:
        """Hand the reply to its client; returns what stood in the way, "" when the client has it."""
        client_id = pairs.get(p.REPLY_TO_CLIENT)
        if client_id is None:
            return f"the reply lacks the property {p.REPLY_TO_CLIENT}, which names who waits for it"
        peer = self._clients.producer_channel(client_id)
        if peer is None:
            return f"no producer {client_id} is connected to this broker; the reply cannot be delivered"
        now_ms = self._clock.now_ms()
        pairs[p.PUSH_REPLY_TIME] = str(now_ms)
        request = PushReplyMessageToClient(
            producer_group=fields.producer_group,
            topic=fields.topic,
            default_topic=fields.default_topic,
            default_topic_queue_nums=fields.default_topic_queue_nums,
            queue_id=fields.queue_id,
            sys_flag=fields.sys_flag,
            born_timestamp=fields.born_timestamp,
            flag=fields.flag,
            born_host=call.peer.address,
            store_host=self._identity.address,
            store_timestamp=now_ms,
            properties=p.encode_properties(pairs),
            reconsume_times=fields.reconsume_times,
            unit_mode=bool(fields.unit_mode),
        )
        try:
            answer = await peer.invoke(request, body, timeout=PUSH_SECONDS)
        except MqframeError as problem:
            return f"the reply to {client_id} was not delivered: {problem}"
        if answer.code:
            return f"client {client_id} refused the reply: {answer.code} {answer.remark}"
        return ""

    def _keep(
        self,
        call: Call,
        fields: SendFields,
        queue_id: int,
        pairs: dict[str, str],
        body: bytes,
    ) -> Stored | None:
        try:
            return self._writer.put(
                fields.topic,
                queue_id,
                body,
                pairs,
                born_timestamp=fields.born_timestamp,
                born_host=encode_host(call.peer.address),
                flag=fields.flag,
                sys_flag=fields.sys_flag,
                reconsume_times=fields.reconsume_times or 0,
                heed_delay=False,
            )
        except Refusal as problem:  # who waits has its reply; that it is not kept, too, is no reason to fail
            log.warning("reply was not stored", topic=fields.topic, reason=problem.remark)
            return None


@hookimpl
def register_broker_services() -> Factories:
    """`request_reply`."""
    return {"request_reply": ReplyProcessor}
