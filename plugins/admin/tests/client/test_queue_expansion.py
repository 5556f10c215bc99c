"""The steps of a queue expansion, and what it refuses, on a manual clock."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import AsyncAdmin, AsyncProducer, Message, MessageQueue
from mqframe.core.errors import FixError


@asynccontextmanager
async def staged(brokers=1):
    clock = ManualClock()
    async with AsyncCluster(brokers, clock=clock) as cluster:
        admin = AsyncAdmin(nameserver=cluster.nameserver, clock=clock)
        await admin.start()
        try:
            yield (cluster, admin)
        finally:
            await admin.stop()


async def counts(admin):
    """Read and write queues of the topic by broker."""
    configs = await admin.topics.config("paid")
    return {name: (config.read_queue_nums, config.write_queue_nums) for name, config in configs.items()}


async def test_producers_see_the_new_queues_first_and_consumers_at_the_end():
    async with staged(brokers=2) as (cluster, admin):
        await cluster.create_topic("paid", 2)
        old = [MessageQueue("paid", f"broker-{letter}", number) for letter in "ab" for number in (0, 1)]
        async with AsyncProducer("shop", nameserver=cluster.nameserver, clock=cluster.clock) as producer:
            for _ in range(3):
                await producer.send(Message("paid", b"x"), queue=old[2])
        begun = await admin.queue_expansion.begin("paid", 3)
        assert (begun.topic, begun.queues, begun.before) == ("paid", 3, {"broker-a": 2, "broker-b": 2})
        assert await counts(admin) == {"broker-a": (2, 3), "broker-b": (2, 3)}
        marked = await admin.queue_expansion.mark(begun)
        assert marked.ends == dict.fromkeys(old, 0) | {old[2]: 3}
        assert await admin.queue_expansion.left(marked, ["audit"]) == {"audit": 3}
        assert await admin.queue_expansion.left(marked) == {}
        with pytest.raises(FixError, match=r"not drained, messages left: \{'audit': 3\}"):
            await admin.queue_expansion.finish(marked, ["audit"])
        assert await counts(admin) == {"broker-a": (2, 3), "broker-b": (2, 3)}
        await admin.queue_expansion.finish(marked)
        assert await counts(admin) == {"broker-a": (3, 3), "broker-b": (3, 3)}


async def test_ends_that_are_not_marked_and_groups_that_lag_do_not_count_by_force():
    async with staged() as (cluster, admin):
        await cluster.create_topic("paid", 2)
        begun = await admin.queue_expansion.begin("paid", 4)
        with pytest.raises(FixError, match="mark the ends"):
            await admin.queue_expansion.finish(begun)
        assert await admin.queue_expansion.begin("paid", 4) == begun
        await admin.queue_expansion.finish(begun, force=True)
        assert await counts(admin) == {"broker-a": (4, 4)}


async def test_what_cannot_grow_is_refused():
    async with staged(brokers=2) as (cluster, admin):
        await cluster.create_topic("paid", 2, attributes="+message.type=FIFO")
        with pytest.raises(FixError, match="only grow, not shrink to 1"):
            await admin.queue_expansion.begin("paid", 1)
        expansion = await admin.queue_expansion.begin("paid", 2)
        assert not expansion.growing
        await cluster.stop_broker(1)
        with pytest.raises(FixError, match="brokers broker-b of the ordered topic paid are away"):
            await admin.queue_expansion.begin("paid", 4)


async def test_the_list_of_an_operator_grows_along():
    async with staged() as (_cluster, admin):
        await admin.topics.create("paid", queues=2, order=True)
        assert await admin.topics.order_config("paid") == {"broker-a": 2}
        await admin.queue_expansion.begin("paid", 3)
        assert await admin.topics.order_config("paid") == {"broker-a": 3}
        config = (await admin.topics.config("paid"))["broker-a"]
        assert (config.read_queue_nums, config.write_queue_nums, config.order) == (2, 3, True)
