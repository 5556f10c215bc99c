"""One consumer for each group of an application."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_faststream import OptionError

from mqframe import Admin


def started(broker):
    async def story():
        async with broker:
            await broker.start()

    asyncio.run(asyncio.wait_for(story(), 60))


async def test_topics_of_a_group_are_one_member(make, running, topic, seen, server) -> None:
    broker = make(group=f"g-{topic}")

    @broker.subscriber(topic, tags="a")
    async def one(value: int) -> None:
        seen(("one", value))

    @broker.subscriber(f"{topic}-2", max_workers=3)
    async def two(value: int) -> None:
        seen(("two", value))

    async with running(broker):
        await broker.publish(1, topic, tag="a")
        await broker.publish(2, topic, tag="b")
        await broker.publish(3, f"{topic}-2")
        await seen.take(2)
        with Admin(nameserver=server.nameserver) as admin:
            members = await asyncio.to_thread(admin.members.consumers, f"g-{topic}")
    assert sorted(seen.all) == [("one", 1), ("two", 3)]
    assert len(members.connection_set) == 1


def test_two_subscribers_of_a_topic_and_group_are_an_error(make, topic) -> None:
    broker = make(group="g")
    for _ in range(2):

        @broker.subscriber(topic)
        async def handle(value: int) -> None: ...

    with pytest.raises(OptionError, match="two subscribers of topic"):
        started(broker)


def test_subscribers_of_a_group_have_to_agree(make, topic) -> None:
    broker = make(group="g")

    @broker.subscriber(topic, ordered=True)
    async def one(value: int) -> None: ...

    @broker.subscriber(f"{topic}-2")
    async def two(value: int) -> None: ...

    with pytest.raises(OptionError, match="differ in ordered; say the same"):
        started(broker)


async def test_two_applications_of_a_group_share_what_comes(make, topic, seen) -> None:
    async def story():
        brokers = [make(group=f"g-{topic}") for _ in range(2)]
        for broker in brokers:

            @broker.subscriber(topic)
            async def handle(value: int) -> None:
                seen(value)

        async with brokers[0], brokers[1]:
            for broker in brokers:
                await broker.start()
            for value in range(40):
                await brokers[0].publish(value, topic)
            await seen.take(40)

    await asyncio.wait_for(story(), 60)
    assert sorted(seen.all) == list(range(40))


async def test_each_group_gets_everything(make, running, topic, seen) -> None:
    broker = make()
    for group in ("a", "b"):

        @broker.subscriber(topic, group=f"{group}-{topic}")
        async def handle(value: int) -> None:
            seen(value)

    async with running(broker):
        await broker.publish(1, topic)
        assert (await seen.take(2)) == [1, 1]


async def test_a_busy_subscriber_leaves_room_for_the_others_of_its_group(make, running, topic, seen) -> None:
    broker = make(group=f"g-{topic}")
    go = asyncio.Event()

    @broker.subscriber(topic)
    async def busy(value: int) -> None:
        seen("busy")
        await go.wait()

    @broker.subscriber(f"{topic}-2")
    async def idle(value: int) -> None:
        seen("idle")

    async with running(broker):
        for _ in range(3):
            await broker.publish(1, topic)
        await seen.take()
        await broker.publish(1, f"{topic}-2")
        await seen.take()
        before = list(seen.all)
        go.set()
        await seen.take(2)
        assert before == ["busy", "idle"]
