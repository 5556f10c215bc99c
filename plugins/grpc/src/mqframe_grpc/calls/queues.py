"""Pulling, and offsets: RPCs of the protocol that Apache's proxies do not serve."""

from __future__ import annotations

import itertools

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.pull import PullStatus, pull_request, read_answer
from mqframe.core.errors import AnswerError, BodyUnreadable, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.consumers import (
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from mqframe.log import get_logger
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.answers import fields_of, frame_of, need, status_of
from mqframe_grpc.calls.held import HeldCalls
from mqframe_grpc.clients import DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, rejected, status
from mqframe_grpc.rules.membership import choice_of
from mqframe_grpc.rules.names import group_name, topic_name
from mqframe_grpc.rules.receives import ReceiveLimits, message_of
from mqframe_grpc.rules.times import duration_ms, moment_ms
from mqframe_grpc.transport.call import GrpcCall
from mqframe_grpc.transport.messages import framed, together

log = get_logger("grpc")


class QueueCalls:
    """PullMessage, UpdateOffset, GetOffset, QueryOffset."""

    def __init__(
        self, backend: Backend, clients: DoorClients, clock: Clock, limits: ReceiveLimits, held: HeldCalls
    ) -> None:
        self._held = held
        self._backend = backend
        self._clients = clients
        self._clock = clock
        self._limits = limits

    def _queue(self, queue: m.MessageQueue) -> MessageQueue:
        topic = topic_name(queue.topic)
        return MessageQueue(topic, self._backend.broker_of(queue.broker.name), queue.id)

    async def pull(self, call: GrpcCall, request: m.PullMessageRequest) -> None:
        """Serve PullMessage: a status, the messages, and where to go on."""
        try:
            messages, next_offset = await self._pull(call, request)
        except Exception as problem:  # isolation boundary: of this call
            await call.send(m.PullMessageResponse(status=status_of(problem, call)))
            return
        code = m.Code.OK if messages else m.Code.MESSAGE_NOT_FOUND
        call.first = found = m.PullMessageResponse(status=status(code))
        made = (m.PullMessageResponse(message=message) for message in messages)
        answers = itertools.chain((found,), made, (m.PullMessageResponse(next_offset=next_offset),))
        for _, data in together(framed(answer.SerializeToString()) for answer in answers):
            call.pass_on(data)
            await call.room()

    async def _pull(self, call: GrpcCall, request: m.PullMessageRequest) -> tuple[list[m.Message], int]:
        client = self._clients.of(call)
        group, queue = group_name(request.group), self._queue(request.message_queue)
        choice = choice_of(request.filter_expression)
        wait_ms = min(max(duration_ms(request.long_polling_timeout), 0), self._limits.polling_max_ms)
        if call.deadline is not None:
            # The answer has to be on its way by then.
            left_ms = round((call.deadline - self._clock.monotonic()) * 1000)
            wait_ms = max(0, min(wait_ms, left_ms // 2))
        asking = self._backend.ask(
            client,
            queue.broker_name,
            pull_request(
                group,
                queue,
                request.offset,
                messages_max=max(1, min(request.batch_size, self._limits.batch_max)),
                expression=choice.expression,
                expression_type=choice.expression_type,
                wait_seconds=wait_ms / 1000,
            ),
        )
        reply = await self._held.over(call, asking)
        try:
            found = read_answer(frame_of(reply), queue, choice, queue.broker_name, request.offset)
        except AnswerError as problem:
            raise rejected(problem.code, problem.remark) from None
        if found.status is PullStatus.OFFSET_ILLEGAL:
            held = f"{found.min_offset} to {found.max_offset}"
            raise Rejected(m.Code.ILLEGAL_OFFSET, f"offset {request.offset}: the queue has those from {held}")
        made = []
        for message in found.messages:
            try:
                made.append(message_of(message, request.message_queue.topic, ""))
            except (BodyUnreadable, MqframeError) as problem:
                log.error("message cannot be unpacked", topic=queue.topic, group=group, problem=str(problem))
        return made, found.next_offset

    async def update(self, call: GrpcCall, request: m.UpdateOffsetRequest) -> m.UpdateOffsetResponse:
        """Serve UpdateOffset."""
        client = self._clients.of(call)
        group, queue = group_name(request.group), self._queue(request.message_queue)
        if request.offset < 0:
            raise Rejected(m.Code.ILLEGAL_OFFSET, f"offset {request.offset}: 0 is the first one")
        asked = UpdateConsumerOffset(
            consumer_group=group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=request.offset,
            bname=queue.broker_name,
        )
        need(await self._backend.ask(client, queue.broker_name, asked))
        return m.UpdateOffsetResponse(status=status(m.Code.OK))

    async def committed(self, call: GrpcCall, request: m.GetOffsetRequest) -> m.GetOffsetResponse:
        """Serve GetOffset: how far a group is in a queue."""
        client = self._clients.of(call)
        group, queue = group_name(request.group), self._queue(request.message_queue)
        asked = QueryConsumerOffset(
            consumer_group=group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            set_zero_if_not_found=False,
            bname=queue.broker_name,
        )
        reply = await self._backend.ask(client, queue.broker_name, asked)
        if reply.code == ResponseCode.QUERY_NOT_FOUND:
            raise Rejected(m.Code.OFFSET_NOT_FOUND, f"group {group} has no offset in {queue.topic} yet")
        offset = fields_of(need(reply), OffsetAnswer).offset
        return m.GetOffsetResponse(status=status(m.Code.OK), offset=offset)

    async def offset(self, call: GrpcCall, request: m.QueryOffsetRequest) -> m.QueryOffsetResponse:
        """Serve QueryOffset: where a queue begins, ends, or was at a time."""
        client, queue = self._clients.of(call), self._queue(request.message_queue)
        place = (queue.topic, queue.queue_id)
        asked: GetMinOffset | GetMaxOffset | SearchOffsetByTimestamp
        if request.query_offset_policy == m.QueryOffsetPolicy.BEGINNING:
            asked = GetMinOffset(*place, bname=queue.broker_name)
        elif request.query_offset_policy == m.QueryOffsetPolicy.END:
            asked = GetMaxOffset(*place, bname=queue.broker_name)
        else:
            when = moment_ms(request.timestamp)
            if when is None:
                raise Rejected(m.Code.BAD_REQUEST, "the timestamp is no time from 1970 to 9999")
            asked = SearchOffsetByTimestamp(*place, when, bname=queue.broker_name)
        reply = need(await self._backend.ask(client, queue.broker_name, asked))
        return m.QueryOffsetResponse(status=status(m.Code.OK), offset=fields_of(reply, OffsetAnswer).offset)
