"""Recall of messages that wait for a given time (RECALL_MESSAGE; source: RecallMessageProcessor.java)."""

from __future__ import annotations

from mqframe.core.codes import PERM_WRITE, ResponseCode
from mqframe.core.delay.recall_handle import RecallHandle, decode_recall_handle, delete_key
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.names import is_closed_topic
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.requests.failures import not_confirmed
from mqframe.core.requests.messages import RecallMessage
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.storage.outcome import Outcome
from mqframe.hooks.interfaces import BrokerPort, BrokerService
from mqframe_delay.rules.timer_rules import RECALL_BODY, RECALL_TAG
from mqframe_delay.settings import DelaySettings


class RecallProcessor(BrokerService):
    """Puts a message into the timer that takes another one of its slot back.

    It is not known whether that one is still there: a recall that comes too late changes nothing.
    """

    def __init__(self, port: BrokerPort) -> None:
        self._writer, self._topics = port.writer, port.topics
        self._identity, self._clock = port.identity, port.clock
        self._in_force, self._settings = port.in_force, port.settings(DelaySettings)
        self._when_decided = port.store.confirming.when_decided
        self._is_sure_at_once = port.store.confirming.confirms_at_once

    @serves(RecallMessage)
    def recall(self, fields: RecallMessage, call: Call) -> Reply | None:
        region = {p.MSG_REGION: self._in_force.region}
        try:
            handle = self._checked(fields)
            now = self._clock.now_ms()
            stored = self._writer.put(
                handle.topic,
                0,
                RECALL_BODY,
                {
                    p.TAGS: RECALL_TAG,
                    p.TIMER_DELETE_KEY: delete_key(handle.topic, handle.message_id),
                    p.UNIQUE_KEY: handle.message_id,
                    p.TIMER_DELIVER_MS: handle.time,
                    p.BORN_TIMESTAMP: str(now),
                    p.PRODUCER_GROUP: fields.producer_group or "",
                },
                born_timestamp=now,
                born_host=encode_host(call.peer.address),
            )
        except Refusal as refusal:
            return Reply(refusal.code, ext=region, remark=refusal.remark)
        answer = Reply(ext=region | {"msgId": handle.message_id})
        if self._is_sure_at_once:
            return answer

        def reply(outcome: Outcome) -> None:
            if outcome is Outcome.CONFIRMED:
                call.reply(answer)
                return
            late = not_confirmed(outcome, "the recall", "after a crash the message may come")
            late.ext = region
            call.reply(late)

        self._when_decided(stored.end_offset, reply)
        return None

    def _checked(self, request: RecallMessage) -> RecallHandle:
        """The handle of a request that may be served. Raises `Refusal`."""
        settings = self._settings.current
        if not settings.recall:
            raise Refusal(
                ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden (recallMessageEnable)"
            )
        if not self._in_force.permission & PERM_WRITE:
            raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, "recall failed, the broker takes no messages")
        if is_closed_topic(request.topic):
            raise Refusal(
                ResponseCode.NO_PERMISSION, f"recall failed, topic {request.topic} is the system's own"
            )
        if self._topics.find(request.topic) is None:
            raise Refusal(
                ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{request.topic}] not exist"
            )
        try:
            handle = decode_recall_handle(request.recall_handle)
        except ValueError as problem:
            raise Refusal(ResponseCode.ILLEGAL_OPERATION, str(problem)) from None
        if handle.topic != request.topic:
            raise Refusal(ResponseCode.ILLEGAL_OPERATION, "recall failed, topic not match")
        if handle.broker_name != self._identity.name:
            raise Refusal(
                ResponseCode.ILLEGAL_OPERATION,
                f"recall failed, the message waits at broker {handle.broker_name}, this is"
                f" {self._identity.name}",
            )
        left = (whole_number(handle.time) or -1) - self._clock.now_ms()
        if not 0 < left < settings.timer_delay_seconds_max * 1000:
            raise Refusal(ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
        return handle
