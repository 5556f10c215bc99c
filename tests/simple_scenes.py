"""Simple consumers on a real broker in this process, on a clock that only the tests move."""

from __future__ import annotations

from mqframe_pop.client.consumer import AsyncSimpleConsumer
from mqframe_pop.rules.popped import PoppedMessage
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.messages.message import Message

GROUP = "billing"


class SimpleScene(ClusterScene):
    """A cluster with topic `orders` of four queues, a producer, and simple consumers of one group."""

    def __init__(self, **options) -> None:
        super().__init__(topics={"orders": 4}, **options)

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

    async def join(self, *topics: str, expression: str = "*", **options) -> AsyncSimpleConsumer:
        consumer = AsyncSimpleConsumer(
            options.pop("group", GROUP),
            clock=self.clock,
            client=ClientSettings(nameserver=self.cluster.nameserver),
            **{"consume_from": "first", "await_duration": 5.0, **options},
        )
        for topic in topics or ("orders",):
            consumer.subscribe(topic, expression)
        return await self.open(consumer)

    async def send(self, *bodies: bytes, topic: str = "orders", tag: str | None = None, **to) -> None:
        for body in bodies:
            await self.producer.send(Message(topic, body, tag), **to)

    async def receive(self, consumer: AsyncSimpleConsumer, count: int, seconds: float = 30.0):
        """Exactly `count` messages, in as many calls as it takes."""
        got: list[PoppedMessage] = []
        while len(got) < count:
            new = await self.finish(consumer.receive(min(32, count - len(got)), seconds))
            assert new, f"{len(got)} of {count} messages came"
            got += new
        return got

    async def nothing(self, consumer: AsyncSimpleConsumer) -> None:
        """There is nothing to receive for the whole time of a wait."""
        assert await self.finish(consumer.receive(32, 30.0)) == []


def numbered(prefix: bytes, count: int) -> list[bytes]:
    return [prefix + b"%d" % n for n in range(count)]


def bodies(messages) -> list[bytes]:
    return [message.body for message in messages]
