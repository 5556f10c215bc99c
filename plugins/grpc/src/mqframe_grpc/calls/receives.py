"""Receiving: what a member of a group is handed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mqframe_pop.requests import PopMessage
from mqframe_pop.rules.popped import PopResult, read_pop
from mqframe_pop.rules.receipt_handle import ReceiptHandle

from mqframe.core.clock import Clock
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, BodyUnreadable, MqframeError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import POP_CHECK_POINT
from mqframe.core.requests.serving import Reply
from mqframe.log import get_logger
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.answers import frame_of, status_of
from mqframe_grpc.calls.held import HeldCalls
from mqframe_grpc.calls.renewing import Renewing
from mqframe_grpc.clients import DoorClient, DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, rejected, status
from mqframe_grpc.rules.handles import DoorHandle
from mqframe_grpc.rules.membership import choice_of
from mqframe_grpc.rules.names import group_name, topic_name
from mqframe_grpc.rules.receives import (
    ReceiveLimits,
    invisible_ms,
    message_of,
    polling_ms,
)
from mqframe_grpc.rules.renewal import GIVEN_BACK_MS
from mqframe_grpc.rules.settings import attempts_max, request_timeout_ms
from mqframe_grpc.rules.times import timestamp
from mqframe_grpc.transport.call import GrpcCall

log = get_logger("grpc")

_ANY_QUEUE: Final = -1
_NEWEST: Final = 1


class _Delivery(NamedTuple):
    handle: DoorHandle
    message: m.Message
    reconsume_times: int


class ReceiveCalls:
    """ReceiveMessage. `held`: the calls that wait."""

    def __init__(
        self,
        backend: Backend,
        clients: DoorClients,
        clock: Clock,
        limits: ReceiveLimits,
        renewing: Renewing,
    ) -> None:
        self.held = HeldCalls()
        self._backend = backend
        self._clients = clients
        self._clock = clock
        self._limits = limits
        self._deliveries = renewing.deliveries
        self._renewing = renewing

    async def receive(self, call: GrpcCall, request: m.ReceiveMessageRequest) -> None:
        """Serve ReceiveMessage: a status, the messages, and when they were delivered."""
        try:
            client = self._clients.of(call)
            group = group_name(request.group)
            topic = topic_name(request.message_queue.topic)
            found = await self._pop(call, client, group, topic, request)
        except Exception as problem:  # isolation boundary: of this call
            await call.send(m.ReceiveMessageResponse(status=status_of(problem, call)))
        else:
            await self._hand_over(call, client, group, topic, found, renewed=request.auto_renew)
        await call.send(m.ReceiveMessageResponse(delivery_timestamp=timestamp(self._clock.now_ms())))

    async def _pop(
        self, call: GrpcCall, client: DoorClient, group: str, topic: str, request: m.ReceiveMessageRequest
    ) -> list[_Delivery]:
        limits = self._limits
        remaining_ms = None
        if call.deadline is not None:
            remaining_ms = round((call.deadline - self._clock.monotonic()) * 1000)
        wait_ms = polling_ms(
            request, remaining_ms, request_timeout_ms(client.settings), limits, client.version_text
        )
        hidden_ms = invisible_ms(request, limits)
        choice = choice_of(request.filter_expression)
        broker = self._backend.broker_of(request.message_queue.broker.name)
        config = await self._backend.group(group)
        ordered = config is not None and config.consume_message_orderly
        asking = self._backend.ask(
            client,
            broker,
            PopMessage(
                consumer_group=group,
                topic=topic,
                queue_id=_ANY_QUEUE,
                max_msg_nums=max(1, min(request.batch_size, limits.batch_max)),
                invisible_time=hidden_ms,
                poll_time=wait_ms,
                # The broker counts from its own clock then.
                born_time=0,
                init_mode=_NEWEST,
                exp_type=choice.expression_type,
                exp=choice.expression,
                order=ordered,
                attempt_id=request.attempt_id or None,
                bname=broker,
            ),
        )
        reply = await self.held.over(call, asking)
        result = _read(reply, broker, topic, self._clock.monotonic() + hidden_ms / 1000)
        if result.full:
            raise Rejected(m.Code.TOO_MANY_REQUESTS, "polling full: too many receives wait at the broker")
        if not result.messages:
            raise Rejected(m.Code.MESSAGE_NOT_FOUND, "no new message")
        chosen = choice.choose(result.messages)
        if len(chosen) < len(result.messages):
            wanted = set(map(id, chosen))
            await self._done_with(
                client, group, topic, [each for each in result.messages if id(each) not in wanted]
            )
        found = await self._made(client, group, request.message_queue.topic, config, chosen)
        if not found:
            raise Rejected(m.Code.MESSAGE_NOT_FOUND, "no match message")
        return found

    async def _made(
        self,
        client: DoorClient,
        group: str,
        topic: m.Resource,
        config: SubscriptionGroupConfig | None,
        messages: Sequence[ReceivedMessage],
    ) -> list[_Delivery]:
        """What of `messages` can be handed over; those that came too often become dead letters."""
        found = []
        most = attempts_max(config)
        for message in messages:
            handle = _handle(message)
            try:
                if message.reconsume_times >= most:
                    await self._deliveries.bury(client, group, topic.name, handle, message.message_id)
                    await self._deliveries.acknowledge(client, group, topic.name, handle)
                    continue
                made = message_of(message, topic, handle.text)
            except BodyUnreadable as problem:
                log.error("message cannot be unpacked", topic=topic.name, group=group, problem=str(problem))
            except MqframeError as problem:
                # It comes again, and is buried then.
                log.warning("no dead letter yet", topic=topic.name, group=group, problem=str(problem))
            else:
                found.append(_Delivery(handle, made, message.reconsume_times))
        return found

    async def _done_with(
        self, client: DoorClient, group: str, topic: str, messages: Sequence[ReceivedMessage]
    ) -> None:
        for message in messages:
            handle = _handle(message)
            try:
                await self._deliveries.acknowledge(client, group, topic, handle)
            except MqframeError as problem:
                log.debug("message of another tag comes again", topic=topic, reason=str(problem))

    async def _hand_over(
        self,
        call: GrpcCall,
        client: DoorClient,
        group: str,
        topic: str,
        found: Sequence[_Delivery],
        *,
        renewed: bool,
    ) -> None:
        renewing = self._renewing
        if renewed:
            now_ms = renewing.now_ms()
            for each in found:
                message_id = each.message.system_properties.message_id
                renewing.renewals.deliver(
                    client.name, group, topic, message_id, each.handle, now_ms, each.reconsume_times
                )
        sent = 0
        try:
            await call.send(m.ReceiveMessageResponse(status=status(m.Code.OK)))
            for each in found:
                await call.send(m.ReceiveMessageResponse(message=each.message))
                sent += 1
        except BaseException:
            for each in found[sent:]:
                renewing.later(self._give_back(client, group, topic, each))
            raise

    async def _give_back(self, client: DoorClient, group: str, topic: str, each: _Delivery) -> None:
        """The client has gone before it got the message: others get it soon."""
        message_id = each.message.system_properties.message_id
        try:
            work = await self._renewing.take(client, group, topic, message_id, each.handle)
            handle = each.handle if work is None else work.handle
            await self._deliveries.hide(client, group, topic, handle, GIVEN_BACK_MS)
        except MqframeError as problem:
            log.debug("message comes back by itself", topic=topic, reason=str(problem))


def _handle(message: ReceivedMessage) -> DoorHandle:
    return DoorHandle(ReceiptHandle.parse(message.properties[POP_CHECK_POINT]), message.commit_log_offset)


def _read(reply: Reply, broker: str, topic: str, deadline: float) -> PopResult:
    """What a pop found. Raises `Rejected`."""
    try:
        return read_pop(frame_of(reply), broker, topic, broker, deadline)
    except AnswerError as problem:
        raise rejected(problem.code, problem.remark) from None
