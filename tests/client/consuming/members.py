"""Members of a group that consists of what a test says: queues that are held, offsets, subscriptions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mqframe_testing.consuming import AllQueues, MemoryOffsets
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.group.allocation import AllocationChoice
from mqframe.client.consuming.group.group_offsets import OffsetChoice
from mqframe.client.consuming.group.subscriptions import SubscriptionTable
from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.consume_rules import ConsumeFrom, MessageModel
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.codecs import Codecs
from mqframe.hooks.manager import PluginManager


def push_plan(
    clock: ManualClock, *listeners: Any, topic: str = "orders", ordered: bool = False, **settings: Any
) -> ConsumerPlan:
    """The plan of a push consumer of group `g` with one listener for `topic`."""
    function = listeners[0] if listeners else lambda messages, context: ConsumeResult.SUCCESS
    return ConsumerPlan(
        group="g",
        model=MessageModel.CLUSTERING,
        begin=(ConsumeFrom.FIRST, 0),
        clock=clock,
        allocation=AllocationChoice(PluginManager(), AllQueues()),
        hooks=(),
        store=OffsetChoice(PluginManager(list), MemoryOffsets(), None, None, MessageModel.CLUSTERING),
        subscriptions=SubscriptionTable({topic: subscription(topic, "paid", function, 1, 7)}),
        settings=ConsumerSettings(**settings),
        persist_seconds=5.0,
        codecs=Codecs(PluginManager(list)),
        ordered=ordered,
    )


class Runtime:
    """As much of a `ConsumerRuntime` as operators look at."""

    def __init__(self) -> None:
        self.paused: list[MessageQueue] = []
        self.resets: list[tuple[str, Any]] = []
        self.held: dict[MessageQueue, ProcessQueue | None] = {}
        self.offsets: dict[MessageQueue, int] = {}
        self.instance = SimpleNamespace(client_id="c1")
        self.parts = SimpleNamespace(offsets=self)
        self.store = MemoryOffsets()
        self.queues: Any = self

    async def reset_offsets(self, topic: str, offsets: Any) -> None:
        self.resets.append((topic, offsets))

    def __iter__(self) -> Any:
        return iter(self.held)

    def get(self, queue: MessageQueue) -> Any:
        held = self.held[queue]
        return None if held is None else SimpleNamespace(held=held)

    async def committed(self, queue: MessageQueue) -> int | None:
        if queue not in self.offsets:
            raise RouteError("its broker is away")
        return self.offsets[queue]
