"""Push consumers that pop, on real brokers in this process, on a clock that only the tests move."""

from __future__ import annotations

from mqframe_admin.rules.retry_waits import listed_waits
from mqframe_testing.cluster_scene import ClusterScene

from mqframe import AsyncAdmin
from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.messages.message import Message, ReceivedMessage

GROUP = "billing"
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


class PopMember:
    """A consumer, and what its handler got: body and count of returns, with the second at which it came."""

    def __init__(self, scene: PopPushScene, options) -> None:
        self.scene = scene
        self.got: list[tuple[bytes, int]] = []
        self.times: list[float] = []
        self.instance: ClientInstance | None = None
        self.alive = True
        self.consumer = scene.make(**options)

    async def handle(self, message: ReceivedMessage, context):
        if not self.alive:  # a process that died begins nothing that it still had
            return LATER
        self.got.append((message.body, message.reconsume_times))
        self.times.append(self.scene.clock.monotonic())
        self.scene.handled.append((self, message.body, message.reconsume_times))
        return await self.scene.handles(message, context)

    @property
    def bodies(self) -> list[bytes]:
        return [body for body, _ in self.got]


class PopPushScene(ClusterScene):
    """A cluster with topic `orders` of so many `queues`, and members of one group that pop."""

    def __init__(self, *, queues: int = 4, **options) -> None:
        super().__init__(topics={"orders": queues}, **options)
        self.members: list[PopMember] = []
        self.handled: list[tuple[PopMember, bytes, int]] = []

    async def handles(self, message: ReceivedMessage, context):
        """What every handler does; tests replace it."""
        return OK

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

    def make(self, **options) -> AsyncPushConsumer:
        settings = ConsumerSettings(**options.pop("settings", {}))
        return AsyncPushConsumer(
            options.pop("group", GROUP),
            clock=self.clock,
            client=ClientSettings(nameserver=self.nameserver, instance_name=options.pop("name", "")),
            settings=settings,
            **{"mode": "pop", "consume_from": "first", **options},
        )

    async def join(self, expression: str = "*", **options) -> PopMember:
        options.setdefault("name", f"member-{len(self.members)}")
        member = PopMember(self, options)
        member.consumer.subscribe("orders", expression, member.handle)
        self.members.append(member)
        await self.open(member.consumer)
        return member

    async def join_mortal(self, **options) -> PopMember:
        """A member that `kill` can end."""
        settings = ClientSettings(nameserver=self.nameserver, instance_name=f"mortal-{len(self.members)}")
        instance = ClientInstance.connect(settings, self.clock)
        await instance.start()
        member = await self.join(instance=instance, **options)
        member.instance = instance
        return member

    async def kill(self, member: PopMember) -> None:
        """As if its process died: nothing more comes of it, and nobody is told."""
        member.alive = False
        assert member.instance is not None
        await member.instance.stop()

    async def stop(self) -> None:
        try:
            await super().stop()
        finally:
            for member in self.members:
                if member.instance is not None:
                    await member.instance.stop()

    async def put(self, *bodies: bytes, topic: str = "orders", **more) -> None:
        for body in bodies:
            await self.finish(self.producer.send(Message(topic, body), **more))

    async def set_group(self, *, waits=(), retries_max: int = 16, group: str = GROUP) -> None:
        """Make the group, with waits (ms) before each retry."""
        config = SubscriptionGroupConfig(
            group, retry_max_times=retries_max, group_retry_policy=listed_waits(waits)
        )
        async with AsyncAdmin(nameserver=self.nameserver, clock=self.clock) as admin:
            await self.finish(admin.groups.create(config))

    def lag(self, group: str = GROUP, topic: str = "orders", broker: int = 0) -> int:
        """Messages that the group is not done with."""
        port = self.cluster.brokers[broker].service_port
        store = self.cluster.brokers[broker].store
        return sum(
            store.queues.max_offset(topic, queue) - max(0, port.offsets.query(group, topic, queue) or 0)
            for queue in range(self._queues(topic, broker))
        )

    @property
    def got(self) -> list[tuple[bytes, int]]:
        return [each for member in self.members for each in member.got]

    @property
    def dead(self) -> list[bytes]:
        return self.bodies(f"%DLQ%{GROUP}")


def numbered(prefix: bytes, count: int) -> list[bytes]:
    return [prefix + b"%d" % n for n in range(count)]
