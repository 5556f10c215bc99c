"""Real members, a name server and brokers in this process, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager

from mqframe_lagaware import LagAware
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.conformance import AllocationConformance
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
OPTIONS = {"interval_seconds": 60, "lead_seconds": 30, "queue_cost": 10}


class TestLagAwareConformance(AllocationConformance):
    def make(self) -> LagAware:
        return LagAware()


class Scene:
    """Topic orders with 4 queues on each of two brokers; listeners of queues in `stuck` never end."""

    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.admin = AsyncAdmin(nameserver=cluster.nameserver, clock=clock)
        self.producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)
        self.members: dict[str, AsyncPushConsumer] = {}
        self.stuck: set[MessageQueue] = set()
        self.got: Counter[bytes] = Counter()
        self.opened = asyncio.Event()

    async def take(self, messages, context) -> ConsumeResult:
        if context.queue in self.stuck:
            await self.opened.wait()
        self.got.update(message.body for message in messages)
        return ConsumeResult.SUCCESS

    async def join(self, name: str, **options: object) -> AsyncPushConsumer:
        consumer = self.members[name] = AsyncPushConsumer(
            GROUP,
            clock=self.clock,
            client=ClientSettings(
                nameserver=self.cluster.nameserver, client_ip="10.0.0.1", instance_name=name
            ),
            allocate="lag_aware",
            allocate_options={**OPTIONS, **options},
            consume_from="first",
        )
        consumer.subscribe("orders", "*", self.take)
        await consumer.start()
        return consumer

    async def leave(self, name: str) -> None:
        self.opened.set()
        await self.finish(self.members.pop(name).stop())

    async def finish(self, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.aadvance(0.5)
        await task

    async def send(self, queue: MessageQueue, count: int) -> None:
        for number in range(count):
            body = f"{queue.broker_name}/{queue.queue_id}/{number}".encode()
            await self.producer.send(Message("orders", body), queue=queue)

    async def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            await self.clock.aadvance(1.0)

    @property
    def counts(self) -> list[int]:
        return [len(member.queues) for member in self.members.values()]

    def owners(self) -> dict[MessageQueue, str]:
        owned = [queue for member in self.members.values() for queue in member.queues]
        assert sorted(owned) == QUEUES
        return {queue: name for name, member in self.members.items() for queue in member.queues}


QUEUES = [MessageQueue("orders", broker, i) for broker in ("broker-a", "broker-b") for i in range(4)]
LATE = QUEUES[0]


@asynccontextmanager
async def staged(stuck: Iterable[MessageQueue] = ()) -> AsyncIterator[Scene]:
    clock = ManualClock()
    async with AsyncCluster(2, clock=clock) as cluster:
        await cluster.create_topic("orders", 4)
        scene = Scene(cluster, clock)
        scene.stuck |= set(stuck)
        await scene.producer.start()
        try:
            yield scene
        finally:
            for name in list(scene.members):
                await scene.leave(name)
            await scene.finish(scene.producer.stop())
            await scene.admin.stop()


async def test_members_that_run_leave_the_one_with_the_long_queue_alone() -> None:
    async with staged(stuck=[LATE]) as scene:
        for name in ("m1", "m2", "m3"):
            await scene.join(name)
        await scene.pass_time(5)
        assert scene.counts == [3, 3, 2]
        await scene.send(LATE, 200)
        await scene.pass_time(90)
        assert scene.members["m1"].queues == [LATE]
        settled = scene.owners()
        assert len(settled) == len(QUEUES)
        # Who comes later decides by the same snapshot; who goes leaves the others what they have.
        await scene.join("m4")
        await scene.pass_time(25)
        assert scene.members["m1"].queues == [LATE]
        assert {q for q, name in scene.owners().items() if settled[q] != name} == set(
            scene.members["m4"].queues
        )
        await scene.leave("m4")
        await scene.pass_time(25)
        assert set(scene.owners().values()) == {"m1", "m2", "m3"}
        for queue in QUEUES[1:]:
            await scene.send(queue, 3)
        await scene.pass_time(30)
        assert set(scene.got.values()) == {1}
        assert len(scene.got) == 200 + 7 * 3


async def test_the_publisher_goes_while_the_name_server_is_away() -> None:
    async with staged(stuck=[LATE]) as scene:
        for name in ("m1", "m2", "m3"):
            await scene.join(name)
        await scene.send(LATE, 200)
        await scene.pass_time(95)
        settled = scene.owners()
        # Without the name server all stays as it is, and messages are consumed.
        await scene.cluster.name_server.stop()
        await scene.pass_time(60)
        assert scene.owners() == settled
        # The next member is the first now: the snapshot is still that of the one that is gone.
        await scene.leave("m1")
        await scene.pass_time(25)
        assert set(scene.owners().values()) == {"m2", "m3"}
        assert sorted(scene.counts) == [1, 7]
        assert [q for q in QUEUES if scene.owners()[q] == scene.owners()[LATE]] == [LATE]


async def test_a_plan_shows_what_the_first_snapshot_would_do() -> None:
    async with staged(stuck=[LATE]) as scene:
        for name in ("m1", "m2", "m3"):
            await scene.join(name)
        await scene.send(LATE, 200)
        await scene.pass_time(5)
        plan = await scene.admin.allocation.plan(GROUP, "lag_aware", OPTIONS)
        orders = {each.queue: each.then for each in plan.queues if each.queue.topic == "orders"}
        assert [queue for queue, then in orders.items() if then == ("10.0.0.1@m1",)] == [LATE]
        assert (plan.unknown, plan.problems) == (0, ())
        assert "a first snapshot is still to come" in plan.topics[-1].basis
        assert await scene.admin.kv.list("MQFRAME_ALLOCATION") == {}
        await scene.pass_time(90)
        assert {f"10.0.0.1@{name}" for name in scene.owners().values()} == set(plan.then)
        assert {q: (f"10.0.0.1@{name}",) for q, name in scene.owners().items()} == orders
        assert set(await scene.admin.kv.list("MQFRAME_ALLOCATION")) == {
            "billing/lag_aware/orders",
            "billing/lag_aware/%RETRY%billing",
        }
        plan = await scene.admin.allocation.plan(GROUP, "lag_aware", OPTIONS)
        assert plan.moved == 0
        assert plan.topics[-1].basis.startswith("snapshot 1 of lags, by 10.0.0.1@m1 at ")
