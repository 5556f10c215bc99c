"""Lite pull consumers on a real broker in this process, on a clock that only the tests move."""

from __future__ import annotations

import asyncio

from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.lite_pull.consumer import AsyncLitePullConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.requests.consumers import QueryConsumerOffset
from mqframe.net.client import Client

GROUP = "billing"


def queue(number: int, topic: str = "orders") -> MessageQueue:
    return MessageQueue(topic, "broker-a", number)


class Scene:
    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.consumers: list[AsyncLitePullConsumer] = []
        self.client = Client(clock)
        self.producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)

    def make(self, name: str = "m1", **options) -> AsyncLitePullConsumer:
        return AsyncLitePullConsumer(
            options.pop("group", GROUP),
            clock=self.clock,
            client=ClientSettings(nameserver=self.cluster.nameserver, instance_name=name),
            **{"consume_from": "first", **options},
        )

    async def join(self, name: str = "m1", expression: str = "*", **options) -> AsyncLitePullConsumer:
        consumer = self.make(name, **options)
        consumer.subscribe("orders", expression)
        await self.started(consumer)
        return consumer

    async def assigned(self, *numbers: int, expression="*", **options) -> AsyncLitePullConsumer:
        consumer = self.make(**options)
        consumer.assign([queue(number) for number in numbers], expression)
        await self.started(consumer)
        return consumer

    async def started(self, consumer: AsyncLitePullConsumer) -> None:
        await consumer.start()
        self.consumers.append(consumer)

    async def leave(self, consumer: AsyncLitePullConsumer) -> None:
        self.consumers.remove(consumer)
        await self.finish(consumer.stop())

    async def finish(self, work):
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.aadvance(0.1)
        return await task

    async def send(self, *bodies: bytes, to: int = 0, tag: str | None = None) -> None:
        for body in bodies:
            await self.producer.send(Message("orders", body, tag), queue=queue(to))

    async def poll(self, consumer: AsyncLitePullConsumer, timeout: float = 5.0, **options) -> list[bytes]:
        return [m.body for m in await self.finish(consumer.poll(timeout, **options))]

    async def drain(self, consumer: AsyncLitePullConsumer, count: int) -> list[bytes]:
        got: list[bytes] = []
        while len(got) < count:
            new = await self.poll(consumer)
            assert new, f"{len(got)} of {count} messages came"
            got += new
        return got

    async def until(self, condition) -> None:
        for _ in range(400):
            if condition():
                return
            await self.clock.aadvance(0.1)
        raise AssertionError("not reached")

    async def stored(self, number: int) -> int | None:
        """What the broker holds for the group, once it has heard what is on the way."""
        await self.clock.aadvance(0.1)
        answer = await self.client.invoke(self.broker, QueryConsumerOffset(GROUP, "orders", number, False))
        return int(answer.ext["offset"]) if answer.code == 0 else None

    @property
    def broker(self) -> str:
        return self.cluster.broker.address


def play(story, **options):
    async def whole():
        clock = ManualClock()
        async with AsyncCluster(clock=clock, **options) as cluster:
            await cluster.create_topic("orders", 4)
            scene = Scene(cluster, clock)
            await scene.producer.start()
            try:
                await story(scene)
            finally:
                for consumer in list(scene.consumers):
                    await scene.leave(consumer)
                await scene.finish(scene.producer.stop())
                await scene.client.close()

    asyncio.run(whole())


def numbered(prefix: bytes, count: int) -> list[bytes]:
    return [prefix + b"%d" % n for n in range(count)]
