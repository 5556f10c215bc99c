"""Admission of requests about popped messages: topic, group, filter and receipt handle are checked.

Sources: PopMessageProcessor.java, AckMessageProcessor.java.
"""

from __future__ import annotations

from typing import Final

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import no_read_queue
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.hooks.interfaces import BrokerPort, ReadAdmission
from mqframe_pop.requests import AckMessage, ChangeInvisibleTime
from mqframe_pop.rules.receipt_handle import HandleError, ReceiptHandle

EVERYTHING: Final = RecordChoice()


class PopAdmission:
    """Finds topic and group of a request, or refuses it."""

    def __init__(self, reads: ReadAdmission) -> None:
        self._reads = reads

    def admit(self, topic: str, group: str, queue_id: int) -> tuple[TopicConfig, SubscriptionGroupConfig]:
        """Topic and group of a read; `queue_id` -1 means any queue. Raises `Refusal` as `ReadAdmission`."""
        found = self._reads.topic(topic, queue_id if queue_id >= 0 else None)
        config = self._reads.group(group)
        self._reads.check_allowed(group, topic)
        return found, config

    def filter(self, expression: str | None, expression_type: str | None) -> RecordChoice:
        """The filter of a pop with this expression.

        Raises `Refusal`: 23 for an expression that is wrong, 1 for one of a type that is not enabled.
        """
        return self._reads.choice(expression_type, expression) if expression else EVERYTHING


class ReceiptAdmission:
    """Checks the receipt handles of requests, or refuses these. `broker_name`: the only one that is ours."""

    def __init__(self, port: BrokerPort) -> None:
        self._store = store = port.store
        self.when_decided = store.confirming.when_decided
        self.until_decided = store.confirming.until_decided
        self._topics = port.topics
        self._clock = port.clock
        self.broker_name = port.identity.name

    def log_end(self) -> int:
        """Log offset behind all that is stored, bytes."""
        return self._store.log.max_offset

    def admit(self, fields: AckMessage | ChangeInvisibleTime, last: int) -> ReceiptHandle:
        """The handle in `fields`. `last`: how far behind the queue's last message an offset may be.

        Raises `Refusal`: 17 for an unknown topic, 13 for a queue that it does not have and for a handle that
        is none of this broker's, 208 for an offset outside of the queue.
        """
        topic = self._topics.need(fields.topic)
        if not 0 <= fields.queue_id < topic.read_queue_nums:
            raise no_read_queue(topic, fields.queue_id, ResponseCode.MESSAGE_ILLEGAL)
        low = self._store.queues.min_offset(fields.topic, fields.queue_id)
        high = self._store.queues.max_offset(fields.topic, fields.queue_id)
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
        if handle.broker_name != self.broker_name:
            raise self.not_ours(handle.broker_name)
        return handle

    def not_ours(self, broker_name: str) -> Refusal:
        """The refusal of a handle that another broker made."""
        return Refusal(
            ResponseCode.MESSAGE_ILLEGAL,
            f"the receipt handle is of broker {broker_name}; this is {self.broker_name}",
        )

    def not_in_flight(self, handle: ReceiptHandle, topic: str, offset: int) -> Refusal:
        """The refusal of what concerns a message that is not in flight by this handle, with the reason."""
        what = f"message {offset} of {topic}/{handle.queue_id}, popped at {handle.pop_time},"
        if self._clock.now_ms() >= handle.visible_at:
            why = f"was hidden until {handle.visible_at} only; it comes again"
        else:
            why = "is not in flight: it was acknowledged, or hidden anew under another handle, before"
        return Refusal(ResponseCode.NO_MESSAGE, f"{what} {why}")
