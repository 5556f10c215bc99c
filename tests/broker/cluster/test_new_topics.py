"""Topics that a message made come to be on all brokers of the cluster, where that is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mqframe_testing.cluster import AsyncCluster

from mqframe import AsyncAdmin, AsyncProducer, Message
from mqframe.broker.cluster.new_topics import TopicSharing
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.cluster.route_bodies import BrokerData, ClusterInfo
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import ConnectionLost, MqframeError
from mqframe.core.requests.admin import GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.01)


async def where(admin: AsyncAdmin, topic: str) -> dict[str, TopicConfig]:
    return await admin.topics.config(topic)


@asynccontextmanager
async def staged(**broker: Any) -> AsyncIterator[tuple[AsyncCluster, AsyncProducer, AsyncAdmin]]:
    async with (
        AsyncCluster(3, broker=broker) as cluster,
        AsyncProducer("p", nameserver=cluster.nameserver) as producer,
        AsyncAdmin(nameserver=cluster.nameserver) as admin,
    ):
        yield (cluster, producer, admin)


async def test_the_others_make_it_as_it_was_made(caplog: pytest.LogCaptureFixture) -> None:
    async with staged(share_new_topics=True) as (_cluster, producer, admin):
        queue = (await producer.send(Message("new", b"one"))).queue

        async def everywhere() -> bool:
            return len(await where(admin, "new")) == 3

        await until(everywhere)
        made = await where(admin, "new")
        assert sorted(made) == ["broker-a", "broker-b", "broker-c"]
        assert made["broker-a"] == made["broker-b"] == made["broker-c"]
        stats = await admin.topics.stats("new")
        assert {each: stats[each].max_offset for each in stats if stats[each].max_offset} == {queue: 1}
    assert caplog.records == []


async def test_it_stays_where_it_was_made_by_default() -> None:
    async with staged() as (_cluster, producer, admin):
        queue = (await producer.send(Message("alone", b"one"))).queue
        assert list(await where(admin, "alone")) == [queue.broker_name]


class Others:
    """Brokers and a name server that a test answers for: `answers` by address, `seen` with the address."""

    def __init__(self, answers: dict[str, Frame | MqframeError]) -> None:
        self.answers = answers
        self.seen: list[tuple[str, type]] = []
        self.on_made: Callable[[TopicConfig], object] = print

    async def invoke(self, address: str, request: Any, *, timeout: float) -> Frame:
        self.seen.append((address, type(request)))
        if isinstance(request, UpdateAndCreateTopic):
            return Frame(0)
        answer = self.answers[address]
        if isinstance(answer, MqframeError):
            raise answer
        return answer

    async def ask(self, request: Any) -> Frame:
        addresses = {name: f"{name}:1" for name in ("broker-a", "old", "new", "gone", "foreign")}
        info = ClusterInfo(
            broker_addr_table={
                name: BrokerData(broker_addrs={0: address}, broker_name=name, cluster="any")
                for name, address in addresses.items()
            },
            cluster_addr_table={"DefaultCluster": ["broker-a", "old", "new", "gone"], "Other": ["foreign"]},
        )
        return Frame(0, body=dumps(info))


async def test_only_others_of_the_cluster_that_lack_it_make_it_and_failures_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    missing = Frame(ResponseCode.TOPIC_NOT_EXIST)
    others = Others({"old:1": Frame(0), "new:1": missing, "gone:1": ConnectionLost("gone:1 is away")})

    settings = BrokerSettings(share_new_topics=True)
    conditions = (Identity(settings), LiveSettings(settings), None, None)
    shared: Any = (None, (None,) * 4, conditions)
    TopicSharing(shared, others, others, others.ask)  # type: ignore[arg-type]
    others.on_made(TopicConfig(topic_name="t"))

    async def told() -> bool:
        return caplog.records

    await until(told)
    assert sorted(others.seen, key=str) == [
        ("gone:1", GetTopicConfig),
        ("new:1", GetTopicConfig),
        ("new:1", UpdateAndCreateTopic),
        ("old:1", GetTopicConfig),
    ]
    assert [record.getMessage() for record in caplog.records] == [
        "new topic was not made topic='t' broker='gone:1' problem='gone:1 is away'"
    ]
