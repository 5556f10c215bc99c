"""Traces from the hooks of producers and consumers to the reader, on a clock that only the tests move."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from mqframe_testing.cluster import AsyncCluster, Cluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_trace.records import TraceKind, TraceMessageType

from mqframe import (
    Admin,
    AsyncAdmin,
    AsyncProducer,
    AsyncPushConsumer,
    AsyncTransactionProducer,
    ClientSettings,
    ConsumeResult,
    Message,
    Producer,
    PushConsumer,
    SendHook,
)
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe.core.requests.admin import GetTopicConfig


async def until(clock: ManualClock, condition) -> None:
    for _ in range(400):
        if condition():
            return
        await clock.aadvance(0.1)
    raise AssertionError("not reached")


@asynccontextmanager
async def staged(**options):
    clock = ManualClock()
    async with AsyncCluster(clock=clock, **options) as cluster:
        await cluster.create_topic("orders", 1)
        admin = AsyncAdmin(nameserver=cluster.nameserver, clock=clock)
        try:
            yield (cluster, clock, admin)
        finally:
            await admin.stop()


async def test_a_message_is_followed_from_its_sender_to_its_listener():
    async with staged(broker={"trace_topic": True}) as (cluster, clock, admin):
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock, send_hooks=["trace"])
        consumer = AsyncPushConsumer(
            "billing",
            clock=clock,
            client=ClientSettings(nameserver=cluster.nameserver, instance_name="m1"),
            consume_from="first",
            consume_hooks=["trace"],
        )
        got = []

        @consumer.on("orders")
        async def take(messages, context):
            got.extend(messages)
            return ConsumeResult.SUCCESS

        await producer.start()
        await consumer.start()
        sent = await producer.send(Message("orders", b"one", "paid", ["o-1"]))
        await until(clock, lambda: got)
        assert await admin.messages.trace(sent.message_id) == []
        await clock.aadvance(6)
        found = await admin.messages.trace(sent.message_id)
        assert [(each.kind, each.group) for each in found] == [
            (TraceKind.PUB, "shop"),
            (TraceKind.SUB_BEFORE, "billing"),
            (TraceKind.SUB_AFTER, "billing"),
        ]
        pub, before, after = found
        assert (pub.topic, pub.tags, pub.keys, pub.body_length) == ("orders", "paid", "o-1", 3)
        assert (pub.store_host, pub.region, pub.success) == (cluster.broker.address, "DefaultRegion", True)
        assert pub.offset_message_id == sent.offset_message_id
        assert before.request_id == after.request_id
        assert {each.client_host for each in found} == {"127.0.0.1"}
        assert after.success
        groups = (await admin.members.producers("_INNER_TRACE_PRODUCER-PRODUCE-shop")).connection_set
        assert [each.client_id for each in groups] == [producer.client_id]
        await clock.finish(consumer.stop())
        await clock.finish(producer.stop())


async def test_what_is_left_is_sent_at_the_stop():
    async with staged(broker={"trace_topic": True}) as (cluster, clock, admin):
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock, send_hooks=["trace"])
        await producer.start()
        sent = await producer.send(Message("orders", b"one"))
        await clock.finish(producer.stop())
        assert [each.kind for each in await admin.messages.trace(sent.message_id)] == [TraceKind.PUB]


async def test_delayed_messages_and_halves_are_told_apart():
    async with staged(broker={"trace_topic": True}) as (cluster, clock, admin):
        producer = AsyncTransactionProducer(
            "shop", nameserver=cluster.nameserver, clock=clock, send_hooks=["trace"]
        )
        await producer.start()
        sent = [
            await producer.send(Message("orders", b"plain")),
            await producer.send(Message("orders", b"level"), delay_level=2),
            await producer.send(Message("orders", b"time"), delay=60),
        ]
        async with producer.transaction(Message("orders", b"half")) as transaction:
            transaction.commit()
        await clock.finish(producer.stop())
        kinds = [(await admin.messages.trace(each.message_id))[0].message_type for each in sent]
        assert kinds == [TraceMessageType.NORMAL, TraceMessageType.DELAY, TraceMessageType.DELAY]
        half = await admin.messages.trace(transaction.sent.message_id)
        assert [(each.kind, each.message_type) for each in half] == [
            (TraceKind.PUB, TraceMessageType.TRANSACTION_HALF),
            (TraceKind.END_TRANSACTION, TraceMessageType.TRANSACTION_COMMIT),
        ]


async def test_a_broker_that_wants_no_traces_gets_none():
    async with staged(broker={"trace_topic": True, "trace_on": False}) as (cluster, clock, _admin):
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock, send_hooks=["trace"])
        await producer.start()
        sent = await producer.send(Message("orders", b"one"))
        assert not sent.trace_on
        await clock.finish(producer.stop())
        assert cluster.broker.store.queues.max_offset(TRACE_TOPIC, 0) == 0


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_trace_topic_is_made_where_that_is_wanted(wanted):
    async with staged(broker={"trace_topic": wanted}) as (cluster, clock, admin):
        configs = await admin.cluster.info()
        assert configs.broker_addr_table
        from mqframe.net.client import Client

        client = Client(clock)
        answer = await client.invoke(cluster.broker.address, GetTopicConfig(TRACE_TOPIC))
        assert (answer.code == 0) is wanted
        await client.close()


class Chatty(SendHook):
    """Sends more than may be under way, from wherever it is called."""

    def __init__(self) -> None:
        self.port = None
        self.taken = []
        self.detached = 0

    def attach(self, port) -> None:
        self.port = port

    def after(self, context) -> None:
        self.taken = [self.port.send(Message("notes", b"%d" % n)) for n in range(260)]

    def detach(self) -> None:
        self.detached += 1
        self.port.send(Message("notes", b"last"))


async def test_a_hooks_messages_never_hold_a_send_up_and_are_limited():
    async with staged() as (cluster, clock, _admin):
        await cluster.create_topic("notes", 1)
        hook = Chatty()
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock, send_hooks=[hook])
        await producer.start()
        await producer.send(Message("orders", b"one"))
        assert (sum(hook.taken), hook.taken[256:]) == (256, [False] * 4)
        await until(clock, lambda: cluster.broker.store.queues.max_offset("notes", 0) == 256)
        await clock.finish(producer.stop())
        assert hook.detached == 1
        assert cluster.broker.store.queues.max_offset("notes", 0) == 257
        assert hook.port.send(Message("notes", b"too late")) is False


class Broken(SendHook):
    """Fails whenever it is called."""

    name = "broken"

    def attach(self, port) -> None:
        raise ValueError("attach")

    def detach(self) -> None:
        raise ValueError("detach")


async def test_a_hook_that_fails_stops_nothing(caplog):
    async with staged() as (cluster, clock, _admin):
        producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock, send_hooks=[Broken()])
        await producer.start()
        await producer.send(Message("orders", b"one"))
        await clock.finish(producer.stop())
    assert caplog.text.count("broken") >= 2


def test_the_blocking_faces_trace_too():
    got = []
    with Cluster(broker={"trace_topic": True}) as cluster:
        cluster.create_topic("orders", 1)
        with Producer("shop", nameserver=cluster.nameserver, send_hooks=["trace"]) as producer:
            sent = producer.send(Message("orders", b"one"))
            later = producer.submit(Message("orders", b"two")).result(120)
        consumer = PushConsumer(
            "billing", nameserver=cluster.nameserver, consume_from="first", consume_hooks=["trace"]
        )

        @consumer.on("orders")
        def take(messages, context):
            got.extend(messages)
            if len(got) == 2:
                consumer.end()
            return ConsumeResult.SUCCESS

        consumer.run()
        with Admin(nameserver=cluster.nameserver) as admin:
            for result in (sent, later):
                kinds = [each.kind for each in admin.messages.trace(result.message_id)]
                assert kinds == [TraceKind.PUB, TraceKind.SUB_BEFORE, TraceKind.SUB_AFTER]
