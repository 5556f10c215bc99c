"""An operator, a producer and members of one group in a cluster, on a clock that only the tests move."""

from __future__ import annotations

from mqframe_testing.cluster_scene import ClusterScene

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


class OperatorScene(ClusterScene):
    """A cluster with topic `orders` of two queues, an administrator, a producer, and members of one group."""

    def __init__(self, **options) -> None:
        super().__init__(topics={"orders": 2}, **options)
        self.got: list[bytes] = []

    async def start(self) -> None:
        await super().start()
        self.admin = AsyncAdmin(nameserver=self.nameserver, clock=self.clock)
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

    async def stop(self) -> None:
        await self.admin.stop()
        await super().stop()

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
        await self.open(consumer)
        await self.until(lambda: consumer.queues)
        return consumer

    async def send(self, *bodies: bytes):
        return [await self.producer.send(Message("orders", body, "paid"), queue=QUEUES[0]) for body in bodies]
