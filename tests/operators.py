"""An operator, a producer and members of one group in a cluster, on a clock that only the tests move."""

from __future__ import annotations

import asyncio

from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import (
    AsyncAdmin,
    AsyncProducer,
    AsyncPushConsumer,
    ClientSettings,
    ConsumeResult,
    Message,
    MessageQueue,
)

GROUP = "billing"
QUEUES = [MessageQueue("orders", "broker-a", number) for number in (0, 1)]


class Scene:
    """A cluster with topic `orders` of two queues, an administrator, a producer, and members of one group."""

    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.admin = AsyncAdmin(nameserver=cluster.nameserver, clock=clock)
        self.producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)
        self.members: list[AsyncPushConsumer] = []
        self.got: list[bytes] = []

    async def take(self, messages, context):
        self.got += [message.body for message in messages]
        return ConsumeResult.SUCCESS

    async def join(self, listener=None, name="m1", **options) -> AsyncPushConsumer:
        consumer = AsyncPushConsumer(
            GROUP,
            clock=self.clock,
            client=ClientSettings(nameserver=self.cluster.nameserver, instance_name=name),
            **{"consume_from": "first", **options},
        )
        consumer.subscribe("orders", "*", listener or self.take)
        await consumer.start()
        self.members.append(consumer)
        await self.until(lambda: consumer.queues)
        return consumer

    async def send(self, *bodies: bytes):
        return [await self.producer.send(Message("orders", body, "paid"), queue=QUEUES[0]) for body in bodies]

    async def until(self, condition, seconds: float = 40.0) -> None:
        for _ in range(int(seconds * 10)):
            if condition():
                return
            await self.clock.aadvance(0.1)
        raise AssertionError(f"not reached: {self.got}")

    async def finish(self, work):
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.aadvance(0.1)
        return await task


def play(story, **options):
    async def whole():
        clock = ManualClock()
        async with AsyncCluster(clock=clock, **options) as cluster:
            await cluster.create_topic("orders", 2)
            scene = Scene(cluster, clock)
            await scene.producer.start()
            try:
                await story(scene)
            finally:
                for member in scene.members:
                    await scene.finish(member.stop())
                await scene.finish(scene.producer.stop())
                await scene.admin.stop()

    asyncio.run(whole())
