"""Lite pull consumers on a real broker in this process, on a clock that only the tests move."""

from __future__ import annotations

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.client.consuming.lite_pull.consumer import AsyncLitePullConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.requests.consumers import QueryConsumerOffset

GROUP = "billing"


def queue(number: int, topic: str = "orders") -> MessageQueue:
    return MessageQueue(topic, "broker-a", number)


class LiteScene(ClusterScene):
    """A cluster with topic `orders` of four queues, a producer, and lite pull consumers of one group."""

    def __init__(self, **options) -> None:
        super().__init__(topics={"orders": 4}, **options)

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

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
        return await self.open(consumer)

    async def assigned(self, *numbers: int, expression="*", **options) -> AsyncLitePullConsumer:
        consumer = self.make(**options)
        consumer.assign([queue(number) for number in numbers], expression)
        return await self.open(consumer)

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

    async def stored(self, number: int) -> int | None:
        """What the broker holds for the group, once it has heard what is on the way."""
        await self.clock.aadvance(0.1)
        answer = await self.client.invoke(QueryConsumerOffset(GROUP, "orders", number, False))
        return int(answer.ext["offset"]) if answer.code == 0 else None

    @property
    def broker(self) -> str:
        return self.cluster.broker.address


def numbered(prefix: bytes, count: int) -> list[bytes]:
    return [prefix + b"%d" % n for n in range(count)]
