"""A topic leaves a broker for others, step by step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from mqframe_admin.rules.topic_move import MoveState
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import AsyncAdmin, AsyncProducer, Message, MessageQueue
from mqframe.core.errors import FixError

QUEUES = [MessageQueue("paid", "broker-a", number) for number in (0, 1)]


@asynccontextmanager
async def staged() -> AsyncIterator[tuple[AsyncCluster, AsyncAdmin]]:
    """Three brokers; the topic is at the first one, with two queues."""
    clock = ManualClock()
    async with AsyncCluster(3, clock=clock) as cluster:
        admin = AsyncAdmin(nameserver=cluster.nameserver, clock=clock)
        await admin.start()
        try:
            attributes = {"message.type": "FIFO"}
            await admin.topics.create("paid", queues=2, attributes=attributes, broker="broker-a")
            yield cluster, admin
        finally:
            await admin.stop()


async def send(cluster: AsyncCluster, *bodies: bytes, queue: MessageQueue | None = None) -> set[str]:
    """The brokers where these go by a producer that knows the topic as it is now."""
    async with AsyncProducer("shop", nameserver=cluster.nameserver, clock=cluster.clock) as producer:
        sent = [await producer.send(Message("paid", body), queue=queue) for body in bodies]
    return {each.queue.broker_name for each in sent}


async def permissions(admin: AsyncAdmin) -> dict[str, int]:
    return {name: config.perm for name, config in (await admin.topics.config("paid")).items()}


async def test_producers_leave_first_and_consumers_when_all_is_consumed() -> None:
    async with staged() as (cluster, admin):
        moves = admin.topic_moves
        await admin.groups.create("audit")
        assert await send(cluster, b"1", b"2", b"3", queue=QUEUES[1]) == {"broker-a"}
        await admin.offsets.reset("audit", "paid", 0)
        begun = await moves.begin("paid", "broker-a", ["broker-b", "broker-c"])
        assert (begun.targets, begun.perm) == ({"broker-b": 2, "broker-c": 2}, 4)
        assert (begun.state, begun.left) == (MoveState.LEAVING, {"audit": 3})
        configs = await admin.topics.config("paid")
        assert {name: each.perm for name, each in configs.items()} == {
            "broker-a": 4, "broker-b": 6, "broker-c": 6,
        }  # fmt: skip
        assert configs["broker-b"].attributes == configs["broker-a"].attributes != {}
        assert await send(cluster, *[b"x"] * 8) == {"broker-b", "broker-c"}
        # Again, and nothing changes.
        assert await moves.begin("paid", "broker-a", ["broker-b", "broker-c"]) == begun
        with pytest.raises(FixError, match="cannot leave broker-a yet: 3 messages for group audit"):
            await moves.finish("paid", "broker-a")
        assert await permissions(admin) == {"broker-a": 4, "broker-b": 6, "broker-c": 6}
        await admin.offsets.reset_queue("audit", QUEUES[1], 3)
        assert (await moves.look("paid", "broker-a")).state is MoveState.EMPTY
        done = await moves.finish("paid", "broker-a")
        assert (done.state, done.targets) == (MoveState.GONE, {"broker-b": 2, "broker-c": 2})
        assert await permissions(admin) == {"broker-a": 0, "broker-b": 6, "broker-c": 6}
        assert await moves.finish("paid", "broker-a") == done
        assert sum(each.max_offset for each in (await admin.topics.stats("paid")).values()) == 3 + 8
        back = await moves.begin("paid", "broker-b", ["broker-a"])
        assert back.targets == {"broker-a": 2, "broker-c": 2}
        assert await permissions(admin) == {"broker-a": 6, "broker-b": 4, "broker-c": 6}


async def test_a_fixed_queue_list_follows_and_a_target_keeps_what_it_has() -> None:
    async with staged() as (_, admin):
        await admin.topics.create("paid", queues=5, broker="broker-b")
        await admin.topics.set_order_config("paid", {"broker-a": 2})
        begun = await admin.topic_moves.begin("paid", "broker-a", ["broker-b"])
        assert begun.targets == {"broker-b": 5}
        assert await admin.topics.order_config("paid") == {"broker-b": 5}


async def test_what_would_be_lost_is_taken_away_by_force_only() -> None:
    async with staged() as (cluster, admin):
        await send(cluster, b"nobody consumes it")
        with pytest.raises(FixError, match="producers still write to broker-a; begin the move first"):
            await admin.topic_moves.finish("paid", "broker-a", force=True)
        await admin.topic_moves.begin("paid", "broker-a", ["broker-b"])
        with pytest.raises(FixError, match="1 messages, which no group consumes"):
            await admin.topic_moves.finish("paid", "broker-a")
        done = await admin.topic_moves.finish("paid", "broker-a", force=True)
        assert done.state is MoveState.GONE


async def test_brokers_and_topics_that_there_are_not_are_named() -> None:
    async with staged() as (_, admin):
        with pytest.raises(FixError, match="no master of broker-x is registered; known: broker-a, "):
            await admin.topic_moves.begin("paid", "broker-a", ["broker-x"])
        with pytest.raises(FixError, match="topic paid is not at broker broker-b; it is at: broker-a"):
            await admin.topic_moves.begin("paid", "broker-b", ["broker-c"])
        with pytest.raises(FixError, match="topic nothing is at no broker"):
            await admin.topic_moves.look("nothing", "broker-b")
        assert await permissions(admin) == {"broker-a": 6}
