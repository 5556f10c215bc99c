"""A name server, brokers and clients together: what a system promises as a whole, on a manual clock."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.thread_pools import at_rest

from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.messages.message import Message


@asynccontextmanager
async def staged(brokers=1, **options):
    clock = ManualClock()
    async with AsyncCluster(brokers, clock=clock, **options) as cluster:
        yield (cluster, clock)


class Reader:
    """A consumer of group `g` and what it got."""

    def __init__(self, cluster, clock, name, topic="orders"):
        self.got = []
        self.consumer = AsyncPushConsumer(
            "g",
            clock=clock,
            client=ClientSettings(nameserver=cluster.nameserver, instance_name=name),
            consume_from="first",
        )
        self.consumer.subscribe(topic, "*", self.take)

    async def take(self, messages, context):
        self.got += [m.body for m in messages]
        return ConsumeResult.SUCCESS


async def until(clock, done, seconds=120):
    """Move the clock until `done()` holds."""
    for _ in range(seconds):
        if done():
            return
        await clock.aadvance(1)
        await at_rest()
    raise AssertionError(f"not done within {seconds} s")


def bodies(first, last):
    return [b"%d" % number for number in range(first, last)]


@pytest.mark.parametrize("orderly", [True, False])
async def test_nothing_that_was_acknowledged_is_lost_when_a_broker_comes_back(orderly):
    async with staged() as (cluster, clock):
        await cluster.create_topic("orders", 2)
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)
        await producer.start()
        reader = Reader(cluster, clock, "one")
        await reader.consumer.start()
        for body in bodies(0, 10):
            await producer.send(Message("orders", body))
        await until(clock, lambda: len(set(reader.got)) == 10)
        if orderly:
            await cluster.stop_broker()
        else:
            await cluster.kill_broker()
        await cluster.start_broker()
        for body in bodies(10, 20):
            await producer.send(Message("orders", body))
        await until(clock, lambda: set(reader.got) == set(bodies(0, 20)))
        await reader.consumer.stop()
        await producer.stop()


async def test_messages_of_all_brokers_reach_the_group():
    async with staged(brokers=2) as (cluster, clock):
        await cluster.create_topic("orders", 2)
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)
        await producer.start()
        for body in bodies(0, 12):
            await producer.send(Message("orders", body))
        assert [broker.store.queues.max_offset("orders", 0) for broker in cluster.brokers] == [3, 3]
        reader = Reader(cluster, clock, "one")
        await reader.consumer.start()
        await until(clock, lambda: sorted(reader.got) == sorted(bodies(0, 12)))
        await reader.consumer.stop()
        await producer.stop()


async def test_a_topic_that_nobody_made_is_there_after_the_first_message():
    async with staged() as (cluster, clock):
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)
        await producer.start()
        await producer.send(Message("fresh", b"0"))
        reader = Reader(cluster, clock, "one", "fresh")
        await reader.consumer.start()
        await until(clock, lambda: reader.got == [b"0"])
        await reader.consumer.stop()
        await producer.stop()
