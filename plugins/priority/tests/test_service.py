"""Which queue takes a message, and in which order pops read queues."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_priority.service import PriorityService
from mqframe_priority.settings import PrioritySettings
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.conformance import BrokerServiceConformance

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.storage.record import decode_records
from mqframe.hooks.interfaces import BrokerPort

KEY = "UNIQ_KEY\x01FD00AA\x02"
SERVICES = {"services": ("priority",)}


class TestPriorityConforms(BrokerServiceConformance):
    """The service as any of its kind."""

    def make(self, port: BrokerPort) -> PriorityService:
        return PriorityService(port)


def scene(**settings: Any) -> ClusterScene:
    return ClusterScene(topics={"jobs": 4}, broker=SERVICES, sections=[PrioritySettings(**settings)])


async def stored(world: ClusterScene, queue_id: int, topic: str = "jobs") -> list[tuple[bytes, str | None]]:
    """Body and priority of each message in a queue."""
    answer = await world.client.pull(topic, queue_id=queue_id)
    messages = decode_records(answer.body) if answer.code == 0 else []
    return [(each.body, each.properties.get("_SYS_MSG_PRIORITY_")) for each in messages]


@pytest.mark.parametrize(("priority", "queue"), [(0, 0), (2, 2), (3, 3), (4, 3), (2**31 - 1, 3)])
async def test_a_message_goes_to_the_queue_of_its_priority_or_the_last(priority: int, queue: int) -> None:
    async with scene() as world:
        said = f"_SYS_MSG_PRIORITY_\x01{priority}\x02{KEY}"
        answer = await world.client.ok_send("jobs", said, body=b"urgent", queue_id=1)
        assert (answer.ext["queueId"], answer.ext["queueOffset"]) == (str(queue), "0")
        assert await stored(world, queue) == [(b"urgent", str(priority))]
        assert [await stored(world, other) for other in range(4) if other != queue] == [[], [], []]


@pytest.mark.parametrize("text", ["-1", "high", str(2**31)])
async def test_what_is_no_priority_stays_where_its_sender_put_it(text: str) -> None:
    async with scene() as world:
        answer = await world.client.ok_send("jobs", f"_SYS_MSG_PRIORITY_\x01{text}\x02{KEY}", queue_id=1)
        assert answer.ext["queueId"] == "1"
        assert await stored(world, 1) == [(b"body", text)]


async def test_an_ordered_message_has_no_priority() -> None:
    async with scene() as world:
        said = f"__SHARDINGKEY\x01k\x02_SYS_MSG_PRIORITY_\x013\x02{KEY}"
        assert (await world.client.ok_send("jobs", said, queue_id=1)).ext["queueId"] == "1"
        assert await stored(world, 1) == [(b"body", None)]


async def test_messages_with_a_priority_are_counted_as_such() -> None:
    async with scene() as world:
        await world.client.ok_send("jobs", f"_SYS_MSG_PRIORITY_\x012\x02{KEY}")
        await world.client.ok_send("jobs", f"__SHARDINGKEY\x01k\x02_SYS_MSG_PRIORITY_\x013\x02{KEY}")
        await world.client.ok_send("jobs", KEY)
        count = world.cluster.broker.service_port.counts.puts["jobs"]
        assert (count.total, {kind: each.total for kind, each in count.types.items()}) == (
            3,
            {"priority": 1, "fifo": 1},
        )


def ranked() -> TopicConfig:
    """Topic `ranked`, of the type, with four queues."""
    attributes = {"+message.type": "PRIORITY"}
    return TopicConfig(attributes, topic_name="ranked", read_queue_nums=4, write_queue_nums=4)


def by_rank(world: ClusterScene, topic: str, group: str = "g") -> Any:
    """The order in which a pop reads four queues, and of 100 how many read retries first."""
    port = world.cluster.broker.service_port
    found = port.offered("pop.by_rank")(port.topics.need(topic), group)
    return found and ([*found[0](4)], found[1])


async def test_topics_of_the_type_are_read_from_the_last_queue_on() -> None:
    async with scene(retry_percent=30) as world:
        topics = world.cluster.broker.service_port.topics
        topics.put(ranked())
        assert by_rank(world, "ranked") == ([3, 2, 1, 0], 30)
        assert by_rank(world, "jobs") is None


async def test_zero_may_be_the_most_urgent() -> None:
    async with scene(zero_is_lowest=False) as world:
        topics = world.cluster.broker.service_port.topics
        topics.put(ranked())
        assert by_rank(world, "ranked") == ([0, 1, 2, 3], 0)


@pytest.mark.parametrize(
    ("factor", "is_ranked"), [("0", False), ("100", True), ("high", True), ("-1", True), ("1000", True)]
)
async def test_a_group_may_do_without(factor: str, is_ranked: bool) -> None:
    async with scene() as world:
        port = world.cluster.broker.service_port
        port.topics.put(ranked())
        port.groups.put(SubscriptionGroupConfig("g", attributes={"+priority.factor": factor}))
        assert (by_rank(world, "ranked") is not None) is is_ranked
        assert by_rank(world, "ranked", "another") is not None
