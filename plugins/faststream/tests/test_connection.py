"""Topics that are made where they are missing; servers that are gone."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_faststream import MqframeBroker
from mqframe_testing.cluster import AsyncCluster

from mqframe import Admin


@pytest.mark.parametrize(("queues", "made"), [(3, 3), (0, None)])
async def test_missing_topics_are_made_with_so_many_queues(server, topic, queues, made) -> None:
    broker = MqframeBroker(server.nameserver, topic_queues=queues)

    @broker.subscriber(topic)
    async def handle(value: int) -> None: ...

    async def story():
        async with broker:
            await broker.start()

    await asyncio.wait_for(story(), 60)
    with Admin(nameserver=server.nameserver) as admin:
        found = [each.read_queue_nums for each in routes(admin, topic)]
    assert found == ([] if made is None else [made])


async def test_a_topic_that_is_there_stays_as_it_is(server, topic) -> None:
    server.create_topic(topic, queues=2)
    broker = MqframeBroker(server.nameserver, topic_queues=7)

    @broker.subscriber(topic)
    async def handle(value: int) -> None: ...

    async def story():
        async with broker:
            await broker.start()

    await asyncio.wait_for(story(), 60)
    with Admin(nameserver=server.nameserver) as admin:
        assert [each.read_queue_nums for each in routes(admin, topic)] == [2]


async def test_ping_notices_that_a_broker_is_gone_and_back() -> None:
    async def story():
        async with AsyncCluster() as cluster, MqframeBroker(cluster.nameserver) as broker:
            answers = [await broker.ping()]
            await cluster.stop_broker()
            answers.append(await broker.ping())
            await cluster.start_broker()
            answers.append(await broker.ping())
            return answers

    assert await asyncio.wait_for(story(), 60) == [True, False, True]


def routes(admin, topic):
    from mqframe import MqframeError

    try:
        return admin.topics.route(topic).queue_datas
    except MqframeError:
        return []
