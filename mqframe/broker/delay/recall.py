"""Takes messages back that wait for a given time: 370 (source: RecallMessageProcessor.java)."""

from __future__ import annotations

from mqframe.broker.identity import Identity
from mqframe.broker.inlet import Inlet
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part
from mqframe.core import properties as p
from mqframe.core.clock import Clock
from mqframe.core.codes import PERM_WRITE, ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.host import encode_host
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import RecallMessage
from mqframe.core.timer_rules import (
    RECALL_BODY,
    RECALL_TAG,
    RecallHandle,
    decode_recall_handle,
    delete_key,
    whole_number,
)
from mqframe.core.topic_table import TopicTable
from mqframe.net.call import Call, Handler, Reply
from mqframe.store.message_store import MessageStore


class RecallProcessor(Part):
    """Puts a message into the timer that takes another one of its slot back.

    It is not known whether that one is still there: a recall that comes too late changes nothing.
    """

    def __init__(
        self,
        store: MessageStore,
        inlet: Inlet,
        topics: TopicTable,
        identity: Identity,
        live: LiveSettings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._inlet = inlet
        self._topics = topics
        self._identity = identity
        self._live = live
        self._clock = clock
        self._waits_for_disk = store.settings.flush == "SYNC_FLUSH"

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {370: self._recall}

    def _recall(self, call: Call) -> Reply | None:
        request = decode_fields(call.frame.ext, RecallMessage)
        region = {p.MSG_REGION: self._live.current.region}
        try:
            handle = self._checked(request)
            now = self._clock.now_ms()
            stored = self._inlet.put(
                handle.topic,
                0,
                RECALL_BODY,
                {
                    p.TAGS: RECALL_TAG,
                    p.TIMER_DELETE_KEY: delete_key(handle.topic, handle.message_id),
                    p.UNIQUE_KEY: handle.message_id,
                    p.TIMER_DELIVER_MS: handle.time,
                    p.BORN_TIMESTAMP: str(now),
                    p.PRODUCER_GROUP: request.producer_group or "",
                },
                born_timestamp=now,
                born_host=encode_host(call.peer.address),
            )
        except Refusal as refusal:
            return Reply(refusal.code, ext=region, remark=refusal.remark)
        answer = Reply(ext=region | {"msgId": handle.message_id})
        if not self._waits_for_disk:
            return answer
        self._store.when_confirmed(stored.end_offset, lambda _: call.reply(answer))
        return None

    def _checked(self, request: RecallMessage) -> RecallHandle:
        """The handle of a request that may be served. Raises `Refusal`."""
        settings = self._live.current
        if not settings.recall:
            raise Refusal(
                ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden (recallMessageEnable)"
            )
        if not settings.permission & PERM_WRITE:
            raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, "recall failed, the broker takes no messages")
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
        if not 0 < left < self._store.settings.timer_delay_seconds_max * 1000:
            raise Refusal(ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
        return handle
