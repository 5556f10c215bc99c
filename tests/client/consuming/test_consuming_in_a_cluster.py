"""Consumers of one group on a real broker in this process, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from mqframe_pull.puller.puller import AsyncPuller
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.simulation.pools import work_at_once

from mqframe import AsyncAdmin
from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.messages.message import Message, MessageQueue

GROUP = "billing"


class Member:
    """A consumer, and what it got."""

    def __init__(self, scene: Scene, name: str, topic: str, expression: str, options) -> None:
        self.got: list[tuple[int, int, bytes]] = []
        self.consumer = AsyncPushConsumer(
            GROUP,
            clock=scene.clock,
            client=ClientSettings(nameserver=scene.nameserver, instance_name=name),
            **{"consume_from": "first", **options},
        )
        self.consumer.subscribe(topic, expression, self.take, batch_max=8)

    async def take(self, messages, context):
        self.got += [(m.queue_id, m.queue_offset, m.body) for m in messages]
        return ConsumeResult.SUCCESS

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, _, body in self.got]

    @property
    def queues(self) -> list[int]:
        return [queue.queue_id for queue in self.consumer.queues]


class Scene(ClusterScene):
    """A cluster with topic `orders` of four queues, a producer, and members of one group."""

    def __init__(self) -> None:
        super().__init__(topics={"orders": 4})
        self.members: list[Member] = []
        self.sent: list[bytes] = []

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

    async def join(self, name: str, topic: str = "orders", expression: str = "*", **options) -> Member:
        member = Member(self, name, topic, expression, options)
        await self.open(member.consumer)
        self.members.append(member)
        return member

    async def leave(self, member: Member) -> None:
        self.members.remove(member)
        await self.close(member.consumer)

    async def send(self, *bodies: bytes, topic: str = "orders", tag: str | None = None) -> None:
        for body in bodies:
            await self.producer.send(Message(topic, body, tag))
        self.sent += bodies

    async def until(self, condition, seconds: float = 40.0, step: float = 0.1) -> None:
        try:
            await super().until(condition, seconds, step)
        except AssertionError as problem:
            problem.add_note(f"members: {[(m.queues, len(m.got)) for m in self.members]}")
            raise


def numbered(prefix: bytes, count: int) -> list[bytes]:
    return [prefix + b"%d" % n for n in range(count)]


async def test_two_members_share_queues_and_each_message_comes_once() -> None:
    async with Scene() as scene:
        one, two = await scene.join("m1"), await scene.join("m2")
        await scene.until(lambda: (one.queues, two.queues) == ([0, 1], [2, 3]))
        await scene.send(*numbered(b"m", 100))
        await scene.until(lambda: len(one.got) + len(two.got) >= 100)
        await scene.pass_time(10.0)
        assert Counter(one.bodies + two.bodies) == Counter(scene.sent)
        assert {queue_id for queue_id, _, _ in one.got} == {0, 1}
        assert {queue_id for queue_id, _, _ in two.got} == {2, 3}
        for member in (one, two):
            for queue_id in member.queues:
                offsets = [offset for number, offset, _ in member.got if number == queue_id]
                assert sorted(offsets) == list(range(len(offsets)))


async def test_members_join_and_leave_and_nothing_is_lost() -> None:
    async with Scene() as scene:
        one = await scene.join("m1")
        await scene.until(lambda: one.queues == [0, 1, 2, 3])
        await scene.send(*numbered(b"a", 40))
        two = await scene.join("m2")
        await scene.send(*numbered(b"b", 40))
        await scene.until(lambda: (one.queues, two.queues) == ([0, 1], [2, 3]))
        await scene.send(*numbered(b"c", 40))
        await scene.leave(one)
        await scene.send(*numbered(b"d", 40))
        await scene.until(lambda: two.queues == [0, 1, 2, 3])
        await scene.until(lambda: set(one.bodies + two.bodies) >= set(scene.sent))


async def test_offsets_go_on_after_a_restart_of_consumer_and_broker() -> None:
    async with Scene() as scene:
        one = await scene.join("m1")
        await scene.send(*numbered(b"a", 20))
        await scene.until(lambda: len(one.got) == 20)
        await scene.leave(one)
        await scene.cluster.restart_broker()
        await scene.send(*numbered(b"b", 20))
        again = await scene.join("m1")
        await scene.until(lambda: len(again.got) >= 20)
        await scene.pass_time(10.0)
        assert Counter(again.bodies) == Counter(numbered(b"b", 20))


async def test_broker_that_was_away_is_consumed_again() -> None:
    async with Scene() as scene:
        one = await scene.join("m1")
        await scene.send(*numbered(b"a", 8))
        await scene.until(lambda: len(one.got) == 8)
        await scene.cluster.stop_broker()
        await scene.pass_time(10.0)
        await scene.cluster.start_broker()
        await scene.pass_time(40.0)
        await scene.send(*numbered(b"b", 8))
        await scene.until(lambda: set(one.bodies) >= set(scene.sent))


async def test_broadcasting_gives_every_member_everything(tmp_path) -> None:
    async with Scene() as scene:
        options = {"broadcasting": True, "settings": ConsumerSettings(offset_directory=tmp_path)}
        one, two = await scene.join("m1", **options), await scene.join("m2", **options)
        await scene.send(*numbered(b"m", 30))
        await scene.until(lambda: len(one.got) >= 30 and len(two.got) >= 30)
        assert one.queues == two.queues == [0, 1, 2, 3]
        assert Counter(one.bodies) == Counter(two.bodies) == Counter(scene.sent)
        await scene.leave(one)
        await scene.send(b"later")
        again = await scene.join("m1", **options)
        await scene.until(lambda: again.got)
        await scene.pass_time(10.0)
        assert again.bodies == [b"later"]


@pytest.mark.parametrize("count", [3, 40])
@pytest.mark.parametrize(
    ("options", "held"),
    [({}, False), ({}, True), ({"ordered": True}, False), ({"broadcasting": True}, False)],
    ids=["waits", "suspended", "ordered", "broadcasting"],
)
async def test_a_topic_that_is_deleted_and_made_anew_is_read_from_its_beginning(
    tmp_path, options, held, count
) -> None:
    with work_at_once():  # local offsets are read and written in threads
        async with Scene() as scene:
            settings = ConsumerSettings(offset_directory=tmp_path)
            one = await scene.join("m1", settings=settings, consume_from="last", **options)
            await scene.pass_time(5.0)
            await scene.send(*numbered(b"old", 40))
            await scene.until(lambda: len(one.got) == 40)
            await scene.pass_time(10.0)
            if held:
                one.consumer.suspend()
                await scene.pass_time(40.0)
            async with AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock) as admin:
                await admin.topics.delete("orders")
                await scene.cluster.create_topic("orders", 4)
            new = numbered(b"new", count)
            await scene.send(*new)
            if held:
                one.consumer.resume()
            await scene.until(lambda: set(new) <= set(one.bodies))
            await scene.pass_time(30.0)
            assert Counter(one.bodies[40:]) == Counter(new)
            if "broadcasting" not in options:
                await scene.leave(one)
                again = await scene.join("m1")
                await scene.pass_time(30.0)
                assert again.got == []


async def test_tags() -> None:
    async with Scene() as scene:
        one = await scene.join("m1", expression="Aa || paid")
        await scene.send(*numbered(b"paid", 5), tag="paid")
        await scene.send(*numbered(b"hash", 5), tag="BB")
        await scene.send(*numbered(b"none", 5))
        await scene.send(*numbered(b"Aa", 5), tag="Aa")
        await scene.until(lambda: len(one.got) >= 10)
        await scene.pass_time(6.0)
        assert Counter(one.bodies) == Counter(numbered(b"paid", 5) + numbered(b"Aa", 5))
        one.consumer.subscribe("orders", "BB", one.take)
        await scene.pass_time(6.0)
        await scene.send(*numbered(b"paid again", 5), tag="paid")
        await scene.send(*numbered(b"BB", 5), tag="BB")
        await scene.until(lambda: len(one.got) >= 15)
        await scene.pass_time(6.0)
        assert Counter(one.bodies[10:]) == Counter(numbered(b"BB", 5))


async def test_plain_pulls() -> None:
    async with Scene() as scene:
        await scene.send(*numbered(b"m", 8), tag="a")
        await scene.send(*numbered(b"n", 8), tag="b")
        settings = ClientSettings(nameserver=scene.nameserver)
        instance = await scene.open(ClientInstance.connect(settings, scene.clock))
        puller = AsyncPuller(instance=instance)
        queues = await puller.queues("orders")
        assert queues == [MessageQueue("orders", "broker-a", n) for n in range(4)]
        found = []
        for queue in queues:
            assert (await puller.min_offset(queue), await puller.max_offset(queue)) == (0, 4)
            assert await puller.offset_at(queue, scene.clock.now_ms() + 1000) == 4
            result = await puller.pull(queue, 1, 2)
            assert result.status is PullStatus.FOUND
            assert [m.queue_offset for m in result.messages] == [1, 2]
            assert result[2:5] == (3, 0, 4)
            only = await puller.pull(queue, 0, 32, "b")
            found += [m.body for m in only.messages]
            none = await puller.pull(queue, 0, 32, "c")
            assert (none.status, none.next_offset) == (PullStatus.NO_MATCHED_MSG, 4)
            end = await puller.pull(queue, 4)
            assert (end.status, end.next_offset) == (PullStatus.NO_NEW_MSG, 4)
            beyond = await puller.pull(queue, 99)
            assert (beyond.status, beyond.next_offset) == (PullStatus.OFFSET_ILLEGAL, 4)
        assert Counter(found) == Counter(numbered(b"n", 8))
        waiting = asyncio.ensure_future(puller.pull(queues[0], 4, wait=15.0))
        await scene.pass_time(1.0)
        assert not waiting.done()
        await scene.producer.send(Message("orders", b"at last"), queue=queues[0])
        await scene.pass_time(0.0)
        assert [m.body for m in (await waiting).messages] == [b"at last"]


@pytest.mark.parametrize("strategy", ["averagely", "averagely_by_circle", "consistent_hash"])
async def test_every_strategy_gives_each_queue_to_one_member(strategy) -> None:
    async with Scene() as scene:
        members = [await scene.join(f"m{n}", allocate=strategy) for n in range(3)]
        await scene.until(lambda: sorted(q for m in members for q in m.queues) == [0, 1, 2, 3])
        await scene.send(*numbered(b"m", 30))
        await scene.until(lambda: sum(len(m.got) for m in members) >= 30)
        assert Counter(body for m in members for body in m.bodies) == Counter(scene.sent)
