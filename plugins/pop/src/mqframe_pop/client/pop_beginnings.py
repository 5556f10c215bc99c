"""Where a group begins whose progress brokers keep, when it is new to a topic."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.beginnings import Beginnings
from mqframe.client.consuming.group.offsets import commit_offset, committed_offset
from mqframe.core.consuming.consume_rules import ConsumeFrom
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger

log = get_logger("client")


class PopBeginnings:
    """Tells brokers the ends of queues for `group`, where it begins at the `last` message and is new.

    Asked by pops alone, they would begin at the newest message, and at 0 of a queue that is short.
    """

    def __init__(self, group: str, instance: ClientInstance, *, last: bool) -> None:
        async def read(queue: MessageQueue) -> int | None:
            return await committed_offset(instance, group, queue)

        self._group = group
        self._instance = instance
        self._beginnings = Beginnings(instance, read, (ConsumeFrom.LAST if last else ConsumeFrom.FIRST, 0))
        self._begun: dict[MessageQueue, int] = {}

    async def find(self, topics: Iterable[str], *, late: bool = False) -> None:
        """Look where the group begins in those of `topics` that it is new to; before it pops.

        `late`: they were made since it joined.
        """
        self._begun |= await self._beginnings.find(topics, late=late)

    async def keep(self) -> None:
        """Have brokers hold what `find` found, once they know the group; returns when they do."""
        begun, self._begun = self._begun, {}
        for queue, offset in begun.items():
            try:
                await commit_offset(self._instance, self._group, queue, offset)
            except MqframeError as problem:
                log.warning(
                    "the broker was not told where the group begins",
                    group=self._group,
                    topic=queue.topic,
                    broker=queue.broker_name,
                    queue_id=queue.queue_id,
                    reason=str(problem),
                )
