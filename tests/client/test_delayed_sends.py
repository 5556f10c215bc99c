"""Delayed sends and recalls by both faces, on a real broker in this process and a clock the test moves."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from mqframe import AsyncProducer, Message, Producer
from mqframe.core.errors import AnswerError, MessageError, RouteError
from mqframe.core.record import decode_records
from mqframe.core.timer_rules import recall_handle
from mqframe.testing.cluster import AsyncCluster, Cluster
from mqframe.testing.manual_clock import ManualClock

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def stored(cluster, topic="orders"):
    found = cluster.broker.store.get(topic, 0, 0, 100)
    return [record.body for part in found.parts for record in decode_records(part)]


def in_async(scenario):
    async def whole():
        clock = ManualClock()
        async with AsyncCluster(clock=clock) as cluster:
            await cluster.create_topic("orders", 1)
            async with AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock) as producer:
                await scenario(cluster, clock, producer)

    asyncio.run(whole())


@pytest.fixture
def world():
    clock = ManualClock()
    with Cluster(clock=clock) as cluster:
        cluster.create_topic("orders", 1)
        with Producer("shop", nameserver=cluster.nameserver) as producer:
            yield cluster, clock, producer


WISHES = [
    ({"delay": 3}, 3.0),
    ({"delay": timedelta(seconds=2, milliseconds=1)}, 3.0),
    ({"deliver_at": START + timedelta(seconds=4)}, 4.0),
    ({"deliver_at": 1_700_000_005_000}, 5.0),
    ({"delay_level": 2}, 5.0),
]


@pytest.mark.parametrize(("wish", "after"), WISHES)
def test_a_message_comes_later(wish, after):
    async def scenario(cluster, clock, producer):
        sent = await producer.send(Message("orders", b"later", tag="a", keys=["k"]), **wish)
        assert bool(sent.recall_handle) == ("delay_level" not in wish)
        await producer.send_oneway(Message("orders", b"oneway"), **wish)
        await clock.aadvance(after - 0.001)
        assert stored(cluster) == []
        await clock.aadvance(0.5)
        assert sorted(stored(cluster)) == [b"later", b"oneway"]

    in_async(scenario)


def test_plain_threads_do_the_same(world):
    cluster, clock, producer = world
    for wish, _ in WISHES:
        producer.send(Message("orders", repr(wish).encode()), **wish)
    producer.send_oneway(Message("orders", b"oneway"), delay=1)
    gone = producer.send(Message("orders", b"gone"), delay=timedelta(seconds=4))
    assert producer.recall("orders", gone.recall_handle) == gone.message_id
    clock.advance_from_outside(cluster.loop, 2.5)
    clock.advance_from_outside(cluster.loop, 2.5)
    assert sorted(stored(cluster)) == sorted([*(repr(wish).encode() for wish, _ in WISHES), b"oneway"])


def test_a_recalled_message_does_not_come():
    async def scenario(cluster, clock, producer):
        gone = await producer.send(Message("orders", b"gone"), delay=60)
        await producer.send(Message("orders", b"stays"), delay=60)
        await clock.aadvance(30)
        assert await producer.recall("orders", gone.recall_handle) == gone.message_id
        await clock.aadvance(31)
        assert stored(cluster) == [b"stays"]
        with pytest.raises(AnswerError) as refused:
            await producer.recall("orders", gone.recall_handle)
        assert refused.value.code == 604
        assert stored(cluster) == [b"stays"]

    in_async(scenario)


def test_a_recall_that_cannot_be():
    async def scenario(cluster, clock, producer):
        for handle in ("", "x", None, "ä"):
            with pytest.raises(MessageError, match="no recall handle"):
                await producer.recall("orders", handle)
        with pytest.raises(RouteError, match="broker-z"):
            await producer.recall("orders", recall_handle("orders", "broker-z", 1_700_000_009_000, "u"))

    in_async(scenario)


def test_wishes_that_cannot_be(world):
    cluster, clock, producer = world
    message = Message("orders", b"x")
    with pytest.raises(MessageError, match="give one of"):
        producer.send(message, delay=1, delay_level=1)
    with pytest.raises(MessageError, match="cannot be negative"):
        producer.send_oneway(message, delay=-1)
    with pytest.raises(MessageError, match="is empty"):
        producer.send(Message("orders", b""), delay=1)
    with pytest.raises(AnswerError, match="timerMaxDelaySec") as refused:
        producer.send(message, delay=timedelta(days=3, seconds=1))
    assert refused.value.code == 13
    clock.advance_from_outside(cluster.loop, 1)
    assert stored(cluster) == []


def test_long_properties_leave_room_for_the_wish():
    async def scenario(cluster, clock, producer):
        message = Message("orders", b"x", properties={"long": "x" * 32_700})
        with pytest.raises(MessageError, match="32767 are allowed"):
            await producer.send(message, delay=1)

    in_async(scenario)
