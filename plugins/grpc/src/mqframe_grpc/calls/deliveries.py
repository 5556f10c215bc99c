"""What becomes of delivered messages, as brokers are told: done, hidden anew, or dead letters."""

from __future__ import annotations

from typing import Final

from mqframe_pop.requests import AckMessage, ChangeInvisibleTime, ChangeInvisibleTimeAnswer

from mqframe.core.clock import Clock
from mqframe.core.requests.messages import ConsumerSendMsgBack
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.answers import fields_of, need
from mqframe_grpc.clients import DoorClient
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.handles import DoorHandle

_TO_DEAD_LETTERS: Final = -1
"""The delay level that asks for it."""
_NOW_MS: Final = 1
"""The shortest time that brokers hide a message for."""


class Deliveries:
    """Asks the broker of a handle. All raise `Rejected`, and `ConnectionLost`."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock

    def _broker(self, handle: DoorHandle) -> str:
        try:
            return self._backend.broker_of(handle.handle.broker_name)
        except Rejected as problem:
            raise Rejected(m.Code.INVALID_RECEIPT_HANDLE, problem.text) from None

    async def acknowledge(self, client: DoorClient, group: str, topic: str, handle: DoorHandle) -> None:
        """The message is done."""
        broker = self._broker(handle)
        handle.check_current(self._clock.now_ms())
        of = handle.handle
        request = AckMessage(
            consumer_group=group,
            topic=of.real_topic(topic, group),
            queue_id=of.queue_id,
            extra_info=of.text,
            offset=of.offset,
            bname=of.broker_name,
        )
        need(await self._backend.ask(client, broker, request))

    async def hide(
        self, client: DoorClient, group: str, topic: str, handle: DoorHandle, duration_ms: int
    ) -> DoorHandle:
        """Hide the message for `duration_ms` from now on; the handle that names it then."""
        broker = self._broker(handle)
        handle.check_current(self._clock.now_ms())
        of = handle.handle
        request = ChangeInvisibleTime(
            consumer_group=group,
            topic=of.real_topic(topic, group),
            queue_id=of.queue_id,
            extra_info=of.text,
            offset=of.offset,
            invisible_time=max(duration_ms, _NOW_MS),
            bname=of.broker_name,
        )
        reply = need(await self._backend.ask(client, broker, request))
        answer = fields_of(reply, ChangeInvisibleTimeAnswer)
        return handle.changed(answer.pop_time, answer.invisible_time, answer.revive_qid)

    async def bury(
        self, client: DoorClient, group: str, topic: str, handle: DoorHandle, message_id: str
    ) -> None:
        """Make the message a dead letter of the group. It is to be acknowledged after that."""
        broker = self._broker(handle)
        handle.check_log_offset()
        of = handle.handle
        request = ConsumerSendMsgBack(
            offset=handle.log_offset,
            group=group,
            delay_level=_TO_DEAD_LETTERS,
            origin_msg_id=message_id,
            origin_topic=of.real_topic(topic, group),
            max_reconsume_times=0,
            bname=of.broker_name,
        )
        need(await self._backend.ask(client, broker, request))
