"""A push consumer over a scripted broker, on a clock that only the tests move."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import cast

from mqframe_testing.consuming import AllQueues, ClientScene

from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.requests.consumers import (
    NotifyConsumerIdsChanged,
    UpdateConsumerOffset,
)
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame

GROUP = "billing"
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


class PushScene(ClientScene):
    """A client with a consumer that is not started yet; `options` are the consumer's."""

    def __init__(self, *, topics=None, **options) -> None:
        super().__init__(topics)
        self.make(**options)

    async def stop(self) -> None:
        try:
            await self.finish(self.consumer.stop(), 1.0)
        finally:
            await super().stop()

    def make(self, **options) -> AsyncPushConsumer:
        options = {"allocate": AllQueues(), "consume_from": "first", **options}
        self.consumer = AsyncPushConsumer(GROUP, instance=self.instance, clock=self.clock, **options)
        return self.consumer

    def announce_members(self) -> None:
        """As a broker does when a member came or went."""
        request = Frame(NotifyConsumerIdsChanged.CODE, ext={"consumerGroup": GROUP})
        self.broker.handlers[request.code](Call(request, cast("Peer", None), 0.0))

    def stored(self, queue_id: int = 0, topic: str = "orders") -> int | None:
        return super().stored(GROUP, queue_id, topic)

    def committed(self) -> list[tuple[int, int]]:
        return [(r.queue_id, r.commit_offset) for r in self.broker.sent(UpdateConsumerOffset)]


@asynccontextmanager
async def running(scene, listener, expression="*", **options):
    scene.consumer.subscribe("orders", expression, listener, **options)
    await scene.consumer.start()
    await scene.pass_time()
    yield
