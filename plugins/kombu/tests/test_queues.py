from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mqframe_kombu.directory import LEASE_MS, Binding, Directory, Exchange, QueueRecord
from mqframe_kombu.options import TransportOptions
from mqframe_kombu.queues import Queues

from mqframe import AsyncAdmin, AsyncSimpleConsumer, Message, Producer


class Scene:
    def __init__(self, nameserver: str, name: str) -> None:
        self.nameserver = nameserver
        self.admin = AsyncAdmin(nameserver=nameserver)
        self.directory = Directory(self.admin, name)
        self.now = 1_000_000
        self.queues = self.other()
        self.name = name

    def other(self) -> Queues:
        """What another process has."""
        options = TransportOptions(priority_steps=(0, 5), max_redeliveries=7)
        return Queues(self.admin, self.directory, options, self.directory_host, lambda: self.now)

    @property
    def directory_host(self) -> str:
        return self.directory._host

    async def mine(self) -> list[str]:
        """All topics of this test."""
        return [topic for topic in await self.admin.topics.list() if f"{self.name}%_" in topic]

    async def send(self, topic: str, *bodies: bytes) -> None:
        def run() -> None:
            with Producer(group="test", nameserver=self.nameserver) as producer:
                for body in bodies:
                    producer.send(Message(topic, body))

        await asyncio.to_thread(run)


@pytest.fixture
def queue_scene(server, name: str) -> Callable[[Callable[[Scene], Awaitable[Any]]], None]:
    @asynccontextmanager
    async def run() -> AsyncIterator[Any]:
        scene = Scene(server.nameserver, name.replace(".", ""))
        async with scene.admin:
            yield scene

    return run


async def test_a_queue_is_a_topic_and_a_group(queue_scene) -> None:
    async with queue_scene() as scene:
        queues, topic = scene.queues, f"{scene.name}%_orders"
        assert not await queues.exists("orders")
        assert await queues.declare("orders", QueueRecord(durable=True))
        assert not await queues.declare("orders", QueueRecord(durable=True))
        assert await scene.other().exists("orders")
        assert await scene.mine() == [topic]
        assert (await scene.admin.groups.configs())[topic].retry_max_times == 7
        route = await scene.admin.topics.route(topic)
        assert [data.write_queue_nums for data in route.queue_datas] == [1]


async def test_messages_are_counted_emptied_and_deleted(queue_scene) -> None:
    async with queue_scene() as scene:
        queues, topic = scene.queues, f"{scene.name}%_orders"
        await queues.declare("orders", QueueRecord(durable=True, max_priority=9))
        assert await queues.size("orders") == 0
        await scene.send(topic, b"1", b"2", b"3")
        await scene.send(f"{topic}%-5", b"urgent")
        assert await queues.size("orders") == await scene.other().size("orders") == 4
        consumer = AsyncSimpleConsumer(topic, nameserver=scene.nameserver, consume_from="first")
        consumer.subscribe(topic)
        async with consumer:
            [one], [two] = await consumer.receive(1, 30.0), await consumer.receive(1, 30.0)
            assert (one.body, two.body) == (b"1", b"2")
            await consumer.ack(one)
            await until_size(queues, 3)
            await consumer.change_invisible_duration(two, 0.001)
            [again] = [each for each in await received(consumer, 2) if each.body == b"2"]
            assert again.delivery_attempt == 2
            await until_size(queues, 3)
        assert await queues.purge("orders") == 3
        assert await queues.size("orders") == 0
        assert await queues.purge("orders") == 0
        await scene.send(topic, b"4")
        assert await queues.size("orders") == 1
        await scene.directory.declare_exchange("e", Exchange())
        await scene.directory.bind("e", Binding("orders", "k"))
        await queues.delete("orders")
        await queues.delete("orders")
        assert await scene.mine() == []
        assert not [group for group in await scene.admin.groups.list() if scene.name in group]
        assert await scene.directory.bindings("e") == []
        assert await scene.directory.queues() == {}
        assert await queues.size("orders") == 0


async def until_size(queues: Queues, size: int) -> None:
    """Brokers move the offsets of groups a moment later."""
    async with asyncio.timeout(20):
        while await queues.size("orders") != size:
            await asyncio.sleep(0.01)


async def received(consumer: AsyncSimpleConsumer, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        found += await consumer.receive(count, 30.0)
    return found


async def test_queues_whose_users_are_gone_are_deleted(queue_scene) -> None:
    async with queue_scene() as scene:
        queues = scene.queues
        await queues.declare("kept", QueueRecord(durable=True))
        await queues.declare("reply", QueueRecord(auto_delete=True, expires=10_000))
        await queues.declare("buffer", QueueRecord(auto_delete=True))
        scene.now += LEASE_MS
        await queues.mark_used("buffer")
        await queues.mark_used("kept")
        assert await scene.other().delete_over() == []
        scene.now += 1
        assert await scene.other().delete_over() == ["reply"]
        scene.now += LEASE_MS
        assert await scene.other().delete_over() == ["buffer"]
        assert await scene.mine() == [f"{scene.name}%_kept"]


async def test_what_was_left_in_a_dead_users_queue_is_not_given_to_the_next(queue_scene) -> None:
    async with queue_scene() as scene:
        for record, later in (
            (QueueRecord(auto_delete=True, consumed=True), 0),
            (QueueRecord(expires=1000), LEASE_MS + 1),
        ):
            await scene.queues.declare("box", record)
            await scene.queues.mark_used("box")
            await scene.send(f"{scene.name}%_box", b"stop!")
            assert await scene.queues.size("box") == 1
            scene.now += later
            assert await scene.other().declare("box", record)
            assert await scene.queues.size("box") == 0
            await scene.queues.delete("box")


async def test_nobody_or_somebody_consumes(queue_scene) -> None:
    async with queue_scene() as scene:
        await scene.queues.declare("box", QueueRecord())
        topic = scene.queues.topic("box")
        assert await scene.queues.is_unused("box")
        consumer = AsyncSimpleConsumer(topic, nameserver=scene.nameserver)
        consumer.subscribe(topic)
        async with consumer:
            assert not await scene.queues.is_unused("box")
        assert await scene.queues.is_unused("box")
