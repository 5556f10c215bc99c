"""Acknowledgements of popped messages, and changes of their invisible time (ACK_MESSAGE, …).

Who acknowledges too late, or twice, is refused (208): the message comes again, or came again already, and
nothing that is in flight changes. Apache RocketMQ answers success there (sources: AckMessageProcessor.java,
ChangeInvisibleTimeProcessor.java).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.failures import not_confirmed
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.storage.outcome import Outcome
from mqframe.hooks.interfaces import BrokerPort, BrokerService
from mqframe.turns import in_turns
from mqframe_pop.broker.admission import ReceiptAdmission
from mqframe_pop.broker.check_points import CheckPointService
from mqframe_pop.broker.ordered import OrderedPops
from mqframe_pop.broker.processor import PopProcessor
from mqframe_pop.requests import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    ChangeInvisibleTimeAnswer,
)
from mqframe_pop.rules.bodies import BatchAck, BatchAckBody
from mqframe_pop.rules.check_point import CheckPoint, GroupQueue, Key
from mqframe_pop.rules.receipt_handle import ORDER_REVIVE_QUEUE, HandleError, real_topic

TURN_ACKS: Final = 256
"""Acknowledgements, each of up to 32 messages, that are served before others have their turn."""
_UNCHANGED = "not set any response code"


class AckProcessor(BrokerService):
    """Serves acknowledgements, and hides messages for longer or shorter than they were popped for."""

    def __init__(
        self,
        port: BrokerPort,
        receipts: ReceiptAdmission,
        check_points: CheckPointService,
        order: OrderedPops,
        pops: PopProcessor,
    ) -> None:
        self._receipts = receipts
        self._check_points = check_points
        self._order = order
        self._pops = pops
        self._counts = port.counts
        self._clock = port.clock

    def _when_durable(self, call: Call, written_from: int) -> Reply | None:
        """Answer at once if nothing was stored from log offset `written_from` on, else once it is durable.

        What is acknowledged of pops that memory keeps is progress, which is saved from time to time.
        """
        end = self._receipts.log_end()
        if end == written_from:
            return Reply()

        self._receipts.when_decided(end, lambda outcome: call.reply(_answer(outcome)))
        return None

    @serves(AckMessage)
    def acknowledge(self, fields: AckMessage, call: Call) -> Reply | None:
        handle = self._receipts.admit(fields, last=1)
        written_from = self._receipts.log_end()
        topic, group, queue_id, offset = fields.topic, fields.consumer_group, fields.queue_id, fields.offset
        if handle.revive_queue == ORDER_REVIVE_QUEUE:
            self._acknowledge_ordered((topic, group, queue_id), offset, handle.pop_time)
        elif not self._check_points.acknowledge(
            Key(topic, group, queue_id, handle.start_offset, handle.pop_time), [offset],
            handle.invisible_time, handle.revive_queue,
        ):  # fmt: skip
            raise self._receipts.not_in_flight(handle, topic, offset)
        self._counts.acknowledged(group, topic)
        return self._when_durable(call, written_from)

    @serves(BatchAckMessage)
    def acknowledge_batch(self, fields: BatchAckMessage, call: Call) -> Reply | Awaitable[Reply] | None:
        body = call.body(BatchAckBody)
        if not body.acks:
            raise Refusal(ResponseCode.NO_MESSAGE, "the batch names no message")
        if body.broker_name and body.broker_name != self._receipts.broker_name:
            raise self._receipts.not_ours(body.broker_name)
        written_from = self._receipts.log_end()
        if len(body.acks) <= TURN_ACKS:
            _need_some(sum([self._acknowledge_one(ack) for ack in body.acks]))
            return self._when_durable(call, written_from)
        return self._acknowledge_many(body.acks)

    async def _acknowledge_many(self, acks: Sequence[BatchAck]) -> Reply:
        done = 0
        async for some in in_turns(acks, TURN_ACKS):
            done += sum([self._acknowledge_one(ack) for ack in some])
        _need_some(done)
        return _answer(await self._receipts.until_decided(self._receipts.log_end()))

    def _acknowledge_one(self, ack: BatchAck) -> int:
        """Acknowledge the messages of one pop; returns how many were in flight."""
        group = ack.consumer_group
        try:
            topic = real_topic(ack.topic, group, ack.retry)
        except HandleError as problem:
            raise Refusal(ResponseCode.MESSAGE_ILLEGAL, str(problem)) from None
        offsets = ack.offsets()
        if ack.revive_queue_id == ORDER_REVIVE_QUEUE:
            done = 0
            for offset in offsets:
                try:
                    self._acknowledge_ordered((topic, group, ack.queue_id), offset, ack.pop_time)
                    done += 1
                except Refusal as refusal:
                    if refusal.code != ResponseCode.NO_MESSAGE:
                        raise
        else:
            key = Key(topic, group, ack.queue_id, ack.start_offset, ack.pop_time)
            done = self._check_points.acknowledge(key, offsets, ack.invisible_time, ack.revive_queue_id)
        if done:
            self._counts.acknowledged(group, topic, done)
        return done

    def _acknowledge_ordered(self, queue: GroupQueue, offset: int, pop_time: int) -> None:
        if self._order.acknowledge(queue, offset, pop_time):
            topic, group, queue_id = queue
            self._pops.wake(topic, group, queue_id)

    @serves(ChangeInvisibleTime)
    def change(self, fields: ChangeInvisibleTime, call: Call) -> Reply | Awaitable[Reply]:
        handle = self._receipts.admit(fields, last=0)
        if fields.invisible_time <= 0:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"invisibleTime is {fields.invisible_time} ms: it must be more than 0",
            )
        topic, group, queue_id, offset = fields.topic, fields.consumer_group, fields.queue_id, fields.offset
        now = self._clock.now_ms()
        if handle.ordered:
            # By the clock as it was when the queue was popped, which the handle goes by.
            until = self._order.now_of((topic, group, queue_id)) + fields.invisible_time
            if not self._order.change_invisible_time(
                (topic, group, queue_id), offset, handle.pop_time, until
            ):
                raise self._receipts.not_in_flight(handle, topic, offset)
            self._pops.blocked_for(fields.invisible_time)
            return _changed(handle.pop_time, until - handle.pop_time, handle.revive_queue)
        while Key(topic, group, queue_id, offset, now) in self._check_points.table:
            now += 1  # popped, or hidden anew, within this millisecond; handles must differ
        anew = CheckPoint(
            Key(topic, group, queue_id, offset, now), fields.invisible_time, (offset,), handle.revive_queue
        ).by_steady(self._check_points.steady.ahead_ms())
        durable: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        key = Key(topic, group, queue_id, handle.start_offset, handle.pop_time)
        if not self._check_points.change_invisible_time(
            key, handle.visible_at, offset, anew, lambda done: _settle(durable, done)
        ):
            raise self._receipts.not_in_flight(handle, topic, offset)
        if not durable.done():
            return self._changed_when(durable, anew)
        if not durable.result():
            raise Refusal(ResponseCode.SYSTEM_ERROR, "the change was not durable in time")
        return _changed(now, fields.invisible_time, anew.revive_queue)

    async def _changed_when(self, durable: asyncio.Future[bool], anew: CheckPoint) -> Reply:
        if not await durable:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "the change was not durable in time")
        return _changed(anew.key.pop_time, anew.invisible_ms, anew.revive_queue)


def _changed(pop_time: int, invisible_ms: int, revive_queue: int) -> Reply:
    answer = ChangeInvisibleTimeAnswer(pop_time, invisible_ms, revive_queue)
    return Reply(header=answer, remark=_UNCHANGED)


def _settle(future: asyncio.Future[bool], done: bool) -> None:
    if not future.done():
        future.set_result(done)


def _need_some(acknowledged: int) -> None:
    if not acknowledged:
        raise Refusal(
            ResponseCode.NO_MESSAGE,
            "none of these messages is in flight: they were acknowledged before, or their time is over",
        )


def _answer(outcome: Outcome) -> Reply:
    if outcome is Outcome.CONFIRMED:
        return Reply()
    return not_confirmed(outcome, "the acknowledgement", "after a crash the message may come again")
