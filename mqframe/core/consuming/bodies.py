"""JSON bodies: queues, locks, offsets, and `config/consumerOffset.json` (wire.md §4, store.md §5)."""

from __future__ import annotations

from typing import Any

import msgspec

from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.bodies import Body, DataVersion


class QueueBody(Body):
    """A message queue as a JSON object."""

    broker_name: str
    queue_id: int
    topic: str

    @classmethod
    def of(cls, queue: MessageQueue) -> QueueBody:
        """The body that stands for `queue`."""
        return cls(topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id)

    @property
    def queue(self) -> MessageQueue:
        """The queue that the body stands for."""
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class LockBody(Body):
    """Queues that a member wants to lock or to give back."""

    client_id: str
    consumer_group: str
    mq_set: list[QueueBody] = []
    only_this_broker: bool = False


class LockAnswerBody(Body):
    """Queues that the member holds now."""

    lock_ok_mq_set: list[QueueBody] = msgspec.field(default_factory=list, name="lockOKMQSet")


class OffsetWrapper(Body):
    """How far a group is in one queue."""

    broker_offset: int = 0
    consumer_offset: int = 0
    last_timestamp: int = 0
    pull_offset: int = 0


class ConsumeStats(Body):
    """How far a group is."""

    consume_tps: float = 0.0
    offset_table: dict[Any, OffsetWrapper] = {}


class OffsetTableBody(Body):
    """An offset for each queue."""

    offset_table: dict[Any, int] = {}


class ConsumerOffsetTable(Body):
    """`config/consumerOffset.json`: "topic@group" to queue id to offset."""

    data_version: DataVersion | None = None
    offset_table: dict[str, dict[int, int]] = {}
