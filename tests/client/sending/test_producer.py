"""The asyncio producer against an in-process broker: contents, order, offsets, refusals."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
from mqframe_testing.cluster import AsyncCluster

from mqframe import (
    AsyncAdmin,
    AsyncProducer,
    ClientSettings,
    Message,
    MessageQueue,
    ProducerSettings,
    SendStatus,
)
from mqframe.core.errors import ClosedError, FixError, MessageError, PluginError, RouteError, SettingError
from mqframe.core.sending.encoding import encode_elements
from mqframe.hooks.interfaces import QueueSelector, SendHook


class ByNumber(QueueSelector):
    def select(self, queues, message, key):
        return queues[key % len(queues)]


@asynccontextmanager
async def staged(*, brokers=1, **options):
    async with AsyncCluster(brokers) as cluster, AsyncAdmin(nameserver=cluster.nameserver) as admin:
        await admin.topics.create("orders", queues=4)
        async with AsyncProducer("shop", nameserver=cluster.nameserver, **options) as producer:
            yield (producer, admin, cluster)


async def test_what_was_sent_is_stored_unchanged():
    async with staged() as (producer, admin, _cluster):
        message = Message("orders", b"body", tag="paid", keys=["o-1", "o-2"], properties={"p": "ü"}, flag=7)
        result = await producer.send(message)
        assert result.status is SendStatus.SEND_OK
        assert result.queue_offset == 0
        found = await admin.messages.by_id(result.offset_message_id)
        assert (found.body, found.tag, found.keys, found.flag) == (b"body", "paid", ["o-1", "o-2"], 7)
        assert found.properties["p"] == "ü"
        assert (found.message_id, found.queue_id, found.queue_offset) == (
            result.message_id,
            result.queue.queue_id,
            0,
        )
        large = await producer.send(Message("orders", b"z" * 100_000))
        found = await admin.messages.by_id(large.offset_message_id)
        assert found.store_size < 1000
        assert found.body == b"z" * 100_000


async def test_a_body_above_the_limit_is_sent_packed_by_every_way_of_one_message():
    async with staged() as (producer, admin, _cluster):
        message, queue = Message("orders", b"z" * 5_000_000), MessageQueue("orders", "broker-a", 0)
        await producer.send(message, queue=queue)
        await producer.send_oneway(message, queue=queue)
        await (await producer.submit(message, queue=queue))
        found = [await admin.offsets.max(queue)]
        assert found == [3]
        noise = Message("orders", random.Random(3).randbytes(5_000_000))
        with pytest.raises(MessageError, match=r"5000000 bytes, 500\d+ when packed, 4194304 are allowed"):
            await producer.send(noise, queue=queue)
        with pytest.raises(MessageError, match="when packed, 4194304 are allowed"):
            await (await producer.submit(noise, queue=queue))
        with pytest.raises(MessageError, match="has 5000000 bytes, 4194304 are allowed"):
            await producer.send_batch([message])
        assert await admin.offsets.max(queue) == 3


async def test_round_robin_over_all_brokers():
    async with staged(brokers=2) as (producer, _admin, _cluster):
        queues = [(await producer.send(Message("orders", b"x"))).queue for _ in range(16)]
        assert queues[:8] == queues[8:]
        assert set(queues) == set(await producer.queues("orders"))
        assert len(set(queues)) == 8


async def test_a_new_topic_is_made_by_its_first_message():
    async with staged() as (producer, admin, cluster):
        result = await producer.send(Message("brand-new", b"x"))
        assert result.queue.topic == "brand-new"
        await cluster.broker.register()  # name servers hear of it a little later
        config = await admin.topics.config("brand-new")
        assert config["broker-a"].write_queue_nums == 4


async def test_a_topic_that_nobody_makes():
    async with (
        AsyncCluster(broker={"auto_create_topics": False}) as cluster,
        AsyncProducer("shop", nameserver=cluster.nameserver) as producer,
    ):
        with pytest.raises(RouteError, match="nothing"):
            await producer.send(Message("nothing", b"x"))


async def test_given_queues_selectors_and_keys():
    async with staged() as (producer, _admin, _cluster):
        queue = MessageQueue("orders", "broker-a", 2)
        results = [await producer.send(Message("orders", b"%d" % n), queue=queue) for n in range(3)]
        assert [result.queue for result in results] == [queue] * 3
        assert [result.queue_offset for result in results] == [0, 1, 2]
        chosen = await producer.send(Message("orders", b"x"), selector=ByNumber(), sharding_key=7)
        assert chosen.queue.queue_id == 3
        keyed = {
            (await producer.send(Message("orders", b"x"), sharding_key="customer-7")).queue for _ in range(5)
        }
        assert len(keyed) == 1
        with pytest.raises(MessageError, match="leave selector"):
            await producer.send(Message("orders", b"x"), queue=queue, sharding_key=1)
        with pytest.raises(FixError):
            await producer.send(Message("orders", b"x"), selector=ByNumber(), sharding_key="no number")


async def test_a_batch_is_stored_in_order_with_own_keys():
    async with staged(settings=ProducerSettings(body_bytes_max=4000)) as (producer, admin, _cluster):
        messages = [Message("orders", b"%d" % n, tag="t", keys=[f"k{n}"]) for n in range(5)]
        result = await producer.send_batch(messages)
        assert result.queue_offset == 0
        ids = result.message_id.split(",")
        for n, (unique, offset_id) in enumerate(zip(ids, result.offset_message_id.split(","), strict=True)):
            found = await admin.messages.by_id(offset_id)
            assert (found.body, found.message_id, found.queue_offset) == (b"%d" % n, unique, n)
            by_key = await admin.messages.by_unique_key("orders", unique)
            assert by_key is not None
            assert by_key.body == b"%d" % n
        with pytest.raises(MessageError, match="send them in several batches"):
            await producer.send_batch([Message("orders", b"x" * 1000)] * 5)


class Watching(SendHook):
    name = "watching"

    def __init__(self):
        self.seen = []

    def before(self, context):
        self.seen.append((context.message_ids, [(m.topic, m.body, m.tag) for m in context.messages]))


@pytest.mark.parametrize("hooked", [False, True])
async def test_encoded_messages_are_stored_as_they_are(hooked):
    hook = Watching()
    elements = encode_elements(
        [Message("orders", b"a", tag="t"), Message("orders", b"b", flag=3)], ["K1", "K2"]
    )

    async with staged(
        settings=ProducerSettings(body_bytes_max=4000), send_hooks=[hook] if hooked else []
    ) as (producer, admin, _cluster):
        queue = MessageQueue("orders", "broker-a", 2)
        result = await producer.send_encoded("orders", elements, queue=queue)
        assert (result.queue, result.queue_offset) == (queue, 0)
        found = [await admin.messages.by_id(each) for each in result.offset_message_id.split(",")]
        assert [(m.body, m.tag, m.flag, m.message_id, m.queue_offset) for m in found] == [
            (b"a", "t", 0, "K1", 0),
            (b"b", None, 3, "K2", 1),
        ]
        anywhere = [(await producer.send_encoded("orders", elements)).queue.queue_id for _ in range(4)]
        assert sorted(anywhere) == [0, 1, 2, 3]
        with pytest.raises(MessageError, match="at least one"):
            await producer.send_encoded("orders", b"")
        with pytest.raises(MessageError, match="in several batches"):
            await producer.send_encoded("orders", elements * 60)
        with pytest.raises(MessageError, match="producers may not"):
            await producer.send_encoded("SCHEDULE_TOPIC_XXXX", elements)
        with pytest.raises(FixError):
            await producer.send_encoded("orders", elements[:-1])
    seen = [(("K1", "K2"), [("orders", b"a", "t"), ("orders", b"b", None)])] * 5
    assert [(tuple(ids), messages) for ids, messages in hook.seen] == (seen if hooked else [])


async def test_submitted_messages_come_in_order_with_own_keys():
    async with staged() as (producer, admin, _cluster):
        futures = [
            await producer.submit(Message("orders", b"%d" % n, keys=[f"k{n}"]), sharding_key="one")
            for n in range(500)
        ]
        results = await asyncio.gather(*futures)
        assert len({result.queue for result in results}) == 1
        assert [result.queue_offset for result in results] == list(range(500))
        assert len({result.message_id for result in results}) == 500
        for n in (0, 1, 250, 499):
            found = await admin.messages.by_unique_key("orders", results[n].message_id)
            assert found is not None
            assert (found.body, found.keys, found.queue_offset) == (b"%d" % n, [f"k{n}"], n)


async def test_oneway_is_stored():
    async with staged() as (producer, admin, _cluster):
        queue = MessageQueue("orders", "broker-a", 1)
        await producer.send_oneway(Message("orders", b"x"), queue=queue)
        await producer.send(Message("orders", b"y"), queue=queue)
        assert await admin.offsets.max(queue) == 2


async def test_a_thousand_at_once():
    async with staged() as (producer, _admin, _cluster):
        results = await asyncio.gather(*[producer.send(Message("orders", b"%d" % n)) for n in range(1024)])
        places = {(result.queue.queue_id, result.queue_offset) for result in results}
        assert places == {(queue, offset) for queue in range(4) for offset in range(256)}


async def test_sends_go_on_at_the_other_broker_when_one_stops():
    async with staged(brokers=2) as (producer, _admin, cluster):
        await producer.send(Message("orders", b"x"))
        await cluster.brokers[0].stop()
        results = [await producer.send(Message("orders", b"x")) for _ in range(8)]
        assert {result.queue.broker_name for result in results} == {"broker-b"}
        cluster.running[0] = False


def test_what_is_wrong_shows_at_construction(monkeypatch):
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(SettingError, match="NAMESRV_ADDR"):
        AsyncProducer("g")
    with pytest.raises(MessageError, match="group"):
        AsyncProducer("a b", nameserver="x:1")
    with pytest.raises(PluginError):
        AsyncProducer("g", nameserver="x:1", selector="no-such-selector")
    monkeypatch.setenv("NAMESRV_ADDR", "x:1;y:2")
    AsyncProducer("g")
    AsyncProducer("g", client=ClientSettings(nameserver="z:3"))


async def test_use_before_start_and_after_stop():
    async with staged() as (producer, _admin, _cluster):
        with pytest.raises(ClosedError, match="not started"):
            await AsyncProducer("g", nameserver="x:1").send(Message("orders", b"x"))
        await producer.stop()
        with pytest.raises(ClosedError, match="stopped"):
            await producer.send(Message("orders", b"x"))
        with pytest.raises(ClosedError):
            await producer.start()
