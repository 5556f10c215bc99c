"""A lite pull consumer as operators see it, and where they send it.

Source: DefaultLitePullConsumerImpl.consumerRunningInfo.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from mqframe.client.lite_pull_service import LitePullService
from mqframe.client.queue_report import queue_info
from mqframe.core import consumer_info as info
from mqframe.core.codes import ResponseCode
from mqframe.core.consumer_info import ConsumerRunningInfo, DirectResult
from mqframe.core.errors import MqframeError, Refusal
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.hooks.interfaces import OffsetStore, ReadFrom

if TYPE_CHECKING:
    from mqframe.client.lite_membership import LitePlan


class LiteReport:
    """Answers for one member. All methods belong to its loop. `save`: makes offsets of queues durable."""

    def __init__(
        self,
        plan: LitePlan,
        pulls: LitePullService,
        store: OffsetStore,
        save: Callable[[Sequence[MessageQueue]], Awaitable[None]],
    ) -> None:
        self._plan = plan
        self._pulls = pulls
        self._store = store
        self._save = save
        self._started_ms = plan.clock.now_ms()

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on from `offsets` in those of the queues that are assigned; what is held of them is dropped."""
        mine = [queue for queue in self._pulls.queues if queue.topic == topic and queue in offsets]
        for queue in mine:
            self._pulls.seek(queue, offsets[queue])
            self._store.update(queue, offsets[queue], increase_only=False)
        if mine:
            await self._save(self._pulls.queues)

    def remembered_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """The offsets in memory."""
        return self._store.snapshot(topic)

    async def running_info(self) -> ConsumerRunningInfo:
        """What the member does at the moment."""
        plan = self._plan
        settings = attrs.asdict(cast("Any", plan.settings), recurse=False)
        topics = [plan.interests[topic] for topic in sorted(plan.interests)]
        found = ConsumerRunningInfo(
            properties={
                "consumerGroup": plan.group,
                "messageModel": plan.model.value,
                "consumeFromWhere": plan.begin[0].value,
                "autoCommit": str(plan.auto_commit).lower(),
                **{name: str(value) for name, value in settings.items()},
                info.ORDERLY: "false",
                info.CONSUME_TYPE: "CONSUME_ACTIVELY",
                info.START_TIME: str(self._started_ms),
            },
            subscription_set=[each.wanted.subscription(each.topic, each.version) for each in topics],
        )
        for queue in self._pulls.queues:
            try:
                committed = await self._store.read(queue, ReadFrom.MEMORY_THEN_STORE)
            except MqframeError:
                committed = None  # what can be told is told
            position = self._pulls.position(queue)
            held = position.held if position is not None else None
            found.mq_table[queue] = queue_info(held, committed, self._plan.clock)
        return found

    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        """Nothing can be consumed at an operator's will, since there is no listener."""
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            f"group {self._plan.group} polls in this client; only a push consumer takes messages directly",
        )
