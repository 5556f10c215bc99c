"""Where a new group begins on a real broker, while the first messages of its topic are still there."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing import ClusterScene

from mqframe import (
    AsyncAdmin,
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPushConsumer,
    AsyncSimpleConsumer,
    ClientSettings,
    ConsumeResult,
    Message,
    MessageQueue,
)

OLD = [b"old %d" % number for number in range(8)]
ASSIGNED = [MessageQueue("orders", "broker-a", number) for number in range(2)]


class Member:
    """A consumer of one kind; `got`: the bodies of what it got, in any order."""

    def __init__(self, scene: GroupScene, kind: str, name: str, options) -> None:
        self.got: list[bytes] = []
        self._kind, self._taking = kind, None
        options = {
            "clock": scene.clock,
            "client": ClientSettings(nameserver=scene.cluster.nameserver, instance_name=name),
            **options,
        }
        if kind in ("push", "ordered"):
            self.consumer = AsyncPushConsumer("billing", ordered=kind == "ordered", **options)
            self.consumer.subscribe("orders", "*", self.take)
        elif kind == "simple":
            self.consumer = AsyncSimpleConsumer("billing", await_duration=20.0, **options)
            self.consumer.subscribe("orders")
        else:
            self.consumer = AsyncLitePullConsumer("billing", auto_commit=kind != "manual", **options)
            if kind == "assigned":
                self.consumer.assign(ASSIGNED)
            else:
                self.consumer.subscribe("orders")

    async def take(self, messages, context):
        self.got += [message.body for message in messages]
        return ConsumeResult.SUCCESS

    async def start(self) -> None:
        await self.consumer.start()
        if self._kind not in ("push", "ordered"):
            self._taking = asyncio.ensure_future(self._poll())

    async def _poll(self) -> None:
        while True:
            if self._kind != "simple":
                self.got += [message.body for message in await self.consumer.poll(1.0)]
                continue
            for message in await self.consumer.receive(32):
                self.got.append(message.body)
                await self.consumer.ack(message)

    async def stop(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
        await self.consumer.stop()


class GroupScene(ClusterScene):
    """A cluster with topic `orders`, and members of one group whose time is that of the test."""

    def __init__(self, *, queues: int | None = 2) -> None:
        super().__init__(topics={} if queues is None else {"orders": queues})
        self.members: list[Member] = []

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(self.make_producer())
        self.admin = await self.open(AsyncAdmin(nameserver=self.nameserver, clock=self.clock))

    def make_producer(self) -> AsyncProducer:
        return AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock)

    async def renew_producer(self) -> None:
        """The next one knows the queues that there are by now."""
        await self.close(self.producer)
        self.producer = await self.open(self.make_producer())

    async def join(self, kind: str = "push", name: str = "m1", **options) -> Member:
        member = Member(self, kind, name, options)
        await self.finish(self.enter(member))
        return member

    async def enter(self, member: Member) -> None:
        self.members.append(member)
        await self.open(member)

    async def leave(self, member: Member) -> None:
        self.members.remove(member)
        await self.close(member)

    async def send(self, *bodies: bytes, to: int | None = None) -> None:
        """One message after the other to the queues in turn, or all `to` one."""
        for number, body in enumerate(bodies):
            queue = MessageQueue("orders", "broker-a", number % 2 if to is None else to)
            await self.producer.send(Message("orders", body), queue=queue)

    async def got(self, *bodies: bytes) -> None:
        """Members got exactly `bodies`, and get nothing more."""
        await self.until(lambda: sum(len(member.got) for member in self.members) >= len(bodies), 30.0)
        await self.clock.aadvance(2.0)
        assert sorted(body for member in self.members for body in member.got) == sorted(bodies)


KINDS = ["push", "ordered", "lite", "manual", "assigned", "simple"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_new_group_begins_with_what_comes_once_it_was_started(kind: str) -> None:
    async with GroupScene() as scene:
        await scene.send(*OLD)
        await scene.join(kind)
        await scene.send(b"new", b"newer")
        await scene.got(b"new", b"newer")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_new_group_begins_with_the_first_message_where_it_says_so(kind: str) -> None:
    async with GroupScene() as scene:
        await scene.send(*OLD)
        await scene.join(kind, consume_from="first")
        await scene.got(*OLD)


@pytest.mark.parametrize("kind", ["push", "ordered", "lite", "manual", "assigned"])
async def test_a_new_group_begins_at_a_moment(kind: str) -> None:
    async with GroupScene() as scene:
        await scene.send(*OLD[:4])
        await scene.clock.aadvance(60.0)
        moment = scene.clock.now_ms()
        await scene.clock.aadvance(60.0)
        await scene.send(*OLD[4:])
        await scene.join(kind, consume_from=moment)
        await scene.got(*OLD[4:])


@pytest.mark.parametrize("kind", ["push", "ordered", "lite", "simple"])
async def test_members_that_start_together_begin_at_the_same_place(kind: str) -> None:
    async with GroupScene() as scene:
        await scene.send(*OLD)
        await asyncio.gather(*(scene.join(kind, name) for name in ("m1", "m2")))
        await scene.send(b"new", b"newer")
        await scene.got(b"new", b"newer")


@pytest.mark.parametrize("kind", ["push", "ordered", "lite", "simple"])
async def test_what_comes_after_a_group_was_there_is_read_by_whoever_comes_next(kind: str) -> None:
    async with GroupScene() as scene:
        await scene.send(*OLD)
        await scene.leave(await scene.join(kind))
        await scene.send(b"new", b"newer")
        await scene.join(kind, "m2")
        await scene.got(b"new", b"newer")


@pytest.mark.parametrize("kind", ["push", "ordered", "lite", "manual", "simple"])
async def test_a_queue_that_is_added_is_read_from_its_beginning(kind: str) -> None:
    async with GroupScene() as scene:
        await scene.send(*OLD)
        await scene.join(kind)
        await scene.admin.topics.create("orders", queues=3)
        await scene.renew_producer()
        await scene.send(b"new", b"newer", to=2)
        await scene.got(b"new", b"newer")


@pytest.mark.parametrize("kind", ["push", "ordered", "lite", "simple"])
async def test_a_queue_that_was_added_while_nobody_ran_is_read_from_its_beginning(kind: str) -> None:
    async with GroupScene() as scene:
        await scene.leave(await scene.join(kind))
        await scene.admin.topics.create("orders", queues=3)
        await scene.renew_producer()
        await scene.send(b"new", b"newer", to=2)
        await scene.join(kind, "m2")
        await scene.got(b"new", b"newer")


@pytest.mark.parametrize("kind", ["push", "ordered", "lite", "manual", "simple"])
async def test_a_topic_that_is_made_later_is_read_from_its_beginning(kind: str) -> None:
    async with GroupScene(queues=None) as scene:
        starting = asyncio.ensure_future(scene.enter(Member(scene, kind, "m1", {})))
        await scene.clock.aadvance(1.0)
        await starting
        await scene.cluster.create_topic("orders", 2)
        await scene.send(b"new", b"newer")
        await scene.got(b"new", b"newer")


async def test_a_subscription_that_is_added_begins_with_what_comes_then() -> None:
    async with GroupScene() as scene:
        await scene.cluster.create_topic("other", 1)
        await scene.send(*OLD)
        for kind in ("push", "lite"):
            member = Member(scene, kind, "m1", {})
            member.consumer.unsubscribe("orders")
            if kind == "push":
                member.consumer.subscribe("other", "*", lambda messages, context: ConsumeResult.SUCCESS)
            else:
                member.consumer.subscribe("other")
            await scene.finish(scene.enter(member))
            await scene.clock.aadvance(1.0)
            if kind == "push":
                member.consumer.subscribe("orders", "*", member.take)
            else:
                member.consumer.subscribe("orders")
            await scene.clock.aadvance(30.0)
            await scene.send(b"new", b"newer")
            await scene.got(b"new", b"newer")
            await scene.leave(member)


@pytest.mark.parametrize("kind", ["push", "ordered", "lite"])
@pytest.mark.parametrize("seconds", [0.0, 31.0, 130.0])
async def test_a_topic_that_was_deleted_keeps_nobody_from_beginning_in_another(
    kind: str, seconds: float
) -> None:
    """Its queues are still the member's, whose pulls fail by then and whose routes are asked for in vain."""
    async with GroupScene() as scene:
        await scene.cluster.create_topic("deleted", 2)  # it is looked at first
        await scene.send(*OLD)
        member = Member(scene, kind, "m1", {})
        consumer = member.consumer
        consumer.unsubscribe("orders")
        listener = (member.take,) if kind in ("push", "ordered") else ()
        consumer.subscribe("deleted", "*", *listener)
        await scene.finish(scene.enter(member))
        await scene.clock.aadvance(5.0)
        await scene.finish(scene.admin.topics.delete("deleted"))
        await scene.clock.aadvance(seconds)
        consumer.subscribe("orders", "*", *listener)
        await scene.clock.aadvance(0.5)
        await scene.send(b"new", b"newer")
        await scene.got(b"new", b"newer")
