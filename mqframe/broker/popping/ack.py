"""What becomes of popped messages: 200051, 200151 and 200053.

Who acknowledges too late, or twice, is told so (208): the message comes again, or came again already, and
nothing that is out changes. The reference answers success there (sources: AckMessageProcessor.java,
ChangeInvisibleTimeProcessor.java).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from mqframe.broker.part import Part
from mqframe.broker.pop_keeper import PopKeeper
from mqframe.broker.pop_order import OrderKeeper
from mqframe.broker.statistics import ACKNOWLEDGED, Statistics
from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.loosejson import decode
from mqframe.core.pop_bodies import BatchAck, BatchAckBody
from mqframe.core.pop_check_point import CheckPoint, Key
from mqframe.core.pop_handle import ORDER_REVIVE_QUEUE, HandleError, ReceiptHandle, real_topic
from mqframe.core.requests.pop import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    ChangeInvisibleTimeAnswer,
)
from mqframe.core.topic_table import TopicTable
from mqframe.net.call import Call, Handler, Reply
from mqframe.store.message_store import MessageStore

_UNCHANGED = "not set any response code"


class AckProcessor(Part):
    """Takes acknowledgements, and wishes to hide a message for longer or shorter."""

    def __init__(
        self,
        keeper: PopKeeper,
        order: OrderKeeper,
        topics: TopicTable,
        store: MessageStore,
        statistics: Statistics,
        clock: Clock,
        broker_name: str,
    ) -> None:
        self._keeper = keeper
        self._order = order
        self._topics = topics
        self._store = store
        self._statistics = statistics
        self._clock = clock
        self._broker_name = broker_name

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {
            AckMessage.CODE: self._acknowledge,
            BatchAckMessage.CODE: self._acknowledge_batch,
            ChangeInvisibleTime.CODE: self._change,
        }

    def _acknowledge(self, call: Call) -> Reply:
        fields = call.fields(AckMessage)
        handle = self._check(fields, last=1)
        topic, group, queue_id, offset = fields.topic, fields.consumer_group, fields.queue_id, fields.offset
        if handle.revive_queue == ORDER_REVIVE_QUEUE:
            self._order.acknowledge((topic, group, queue_id), offset, handle.pop_time)
        elif not self._keeper.acknowledge(
            Key(topic, group, queue_id, handle.start_offset, handle.pop_time), [offset],
            handle.invisible_time, handle.revive_queue,
        ):  # fmt: skip
            raise self._not_out(handle, topic, offset)
        self._statistics.add(ACKNOWLEDGED, topic, group)
        return Reply()

    def _acknowledge_batch(self, call: Call) -> Reply:
        body = decode(memoryview(call.frame.body), BatchAckBody)
        if not body.acks:
            raise Refusal(ResponseCode.NO_MESSAGE, "the batch names no message")
        if body.broker_name and body.broker_name != self._broker_name:
            raise self._not_ours(body.broker_name)
        done = sum([self._acknowledge_one(ack) for ack in body.acks])
        if not done:
            raise Refusal(
                ResponseCode.NO_MESSAGE,
                "none of these messages is out: they were acknowledged before, or their time is over",
            )
        return Reply()

    def _acknowledge_one(self, ack: BatchAck) -> int:
        """Acknowledge the messages of one pop; gives how many were out."""
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
                    self._order.acknowledge((topic, group, ack.queue_id), offset, ack.pop_time)
                    done += 1
                except Refusal as refusal:
                    if refusal.code != ResponseCode.NO_MESSAGE:
                        raise
        else:
            key = Key(topic, group, ack.queue_id, ack.start_offset, ack.pop_time)
            done = self._keeper.acknowledge(key, offsets, ack.invisible_time, ack.revive_queue_id)
        if done:
            self._statistics.add(ACKNOWLEDGED, topic, group, done)
        return done

    def _change(self, call: Call) -> Reply | Awaitable[Reply]:
        fields = call.fields(ChangeInvisibleTime)
        handle = self._check(fields, last=0)
        if fields.invisible_time <= 0:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"invisibleTime is {fields.invisible_time} ms: it must be more than 0",
            )
        topic, group, queue_id, offset = fields.topic, fields.consumer_group, fields.queue_id, fields.offset
        now = self._clock.now_ms()
        if handle.ordered:
            until = now + fields.invisible_time
            if not self._order.hide_anew((topic, group, queue_id), offset, handle.pop_time, until):
                raise self._not_out(handle, topic, offset)
            return _changed(handle.pop_time, until - handle.pop_time, handle.revive_queue)
        while Key(topic, group, queue_id, offset, now) in self._keeper.ledger:
            now += 1  # popped, or hidden anew, within this millisecond; handles must differ
        anew = CheckPoint(
            Key(topic, group, queue_id, offset, now), fields.invisible_time, (offset,), handle.revive_queue
        )
        durable: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        key = Key(topic, group, queue_id, handle.start_offset, handle.pop_time)
        if not self._keeper.hide_anew(
            key, handle.visible_at, offset, anew, lambda done: _settle(durable, done)
        ):
            raise self._not_out(handle, topic, offset)
        if not durable.done():
            return self._changed_when(durable, anew)
        if not durable.result():
            raise Refusal(ResponseCode.SYSTEM_ERROR, "the change could not be written to the disk in time")
        return _changed(now, fields.invisible_time, anew.revive_queue)

    async def _changed_when(self, durable: asyncio.Future[bool], anew: CheckPoint) -> Reply:
        if not await durable:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "the change could not be written to the disk in time")
        return _changed(anew.key.pop_time, anew.invisible_ms, anew.revive_queue)

    def _check(self, fields: AckMessage | ChangeInvisibleTime, last: int) -> ReceiptHandle:
        """The handle in `fields`. `last`: how far behind the queue's last message an offset may be.

        Raises `Refusal`: 17 for an unknown topic, 13 for a queue that it does not have and for a handle that
        is none of this broker's, 208 for an offset outside of the queue.
        """
        topic = self._topics.find(fields.topic)
        if topic is None:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {fields.topic} does not exist on this broker")
        if not 0 <= fields.queue_id < topic.read_queue_nums:
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL,
                f"queue id {fields.queue_id} of topic {fields.topic} does not exist: "
                f"it has {topic.read_queue_nums} read queues",
            )
        low = self._store.queue_min(fields.topic, fields.queue_id)
        high = self._store.queue_max(fields.topic, fields.queue_id)
        if not low <= fields.offset < high + last:
            raise Refusal(
                ResponseCode.NO_MESSAGE,
                f"offset {fields.offset} is not one of {fields.topic}/{fields.queue_id}, "
                f"which holds {low} to {high - 1}",
            )
        try:
            handle = ReceiptHandle.parse(fields.extra_info)
        except HandleError as problem:
            raise Refusal(ResponseCode.MESSAGE_ILLEGAL, str(problem)) from None
        if handle.broker_name != self._broker_name:
            raise self._not_ours(handle.broker_name)
        return handle

    def _not_ours(self, broker_name: str) -> Refusal:
        return Refusal(
            ResponseCode.MESSAGE_ILLEGAL,
            f"the receipt handle is of broker {broker_name}; this is {self._broker_name}",
        )

    def _not_out(self, handle: ReceiptHandle, topic: str, offset: int) -> Refusal:
        what = f"message {offset} of {topic}/{handle.queue_id}, popped at {handle.pop_time},"
        if self._clock.now_ms() >= handle.visible_at:
            why = f"was hidden until {handle.visible_at} only; it comes again"
        else:
            why = "is not out: it was acknowledged, or hidden anew under another handle, before"
        return Refusal(ResponseCode.NO_MESSAGE, f"{what} {why}")


def _changed(pop_time: int, invisible_ms: int, revive_queue: int) -> Reply:
    answer = ChangeInvisibleTimeAnswer(pop_time, invisible_ms, revive_queue)
    return Reply(header=answer, remark=_UNCHANGED)


def _settle(future: asyncio.Future[bool], done: bool) -> None:
    if not future.done():
        future.set_result(done)
