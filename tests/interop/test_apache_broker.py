"""Our producers, pullers and admins on Apache's name server and broker; ours must do alike."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable

import pytest
from real_time import until

from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import (
    Admin,
    AnswerError,
    AsyncAdmin,
    AsyncProducer,
    Message,
    MessageQueue,
    Producer,
    ProducerSettings,
    Puller,
    ReceivedMessage,
    RetryError,
    RouteError,
    SendResult,
    SendStatus,
)

TEXT = "größer € 订单 𝄞"
BIG = b"0123456789" * 2000
LONG = 'z:<"0>`{\\' * 7000
"""As long as the notes of allocation strategies get."""


def read_queue(puller: Puller, queue: MessageQueue, end: int) -> list[ReceivedMessage]:
    """The messages of `queue` up to offset `end`, once they are readable; their offsets have no gap."""
    found: list[ReceivedMessage] = []
    offset = puller.min_offset(queue)
    while offset < end:
        result = puller.pull(queue, offset, wait=5.0)
        assert result.status.name == "FOUND"
        found += result.messages
        offset = result.next_offset
    assert [message.queue_offset for message in found] == list(range(end))
    assert puller.max_offset(queue) == end
    return found


def read_all(servers: Servers, topic: str, count: int) -> dict[MessageQueue, list[ReceivedMessage]]:
    """All `count` messages of `topic` by queue."""
    with Puller(nameserver=servers.nameserver) as puller:
        queues = puller.queues(topic)
        assert queues == [MessageQueue(topic, servers.broker_name, n) for n in range(4)]
        # What was sent one-way is stored a little later.
        until(lambda: sum(puller.max_offset(queue) for queue in queues) == count)
        return {queue: read_queue(puller, queue, puller.max_offset(queue)) for queue in queues}


def place(message: ReceivedMessage) -> tuple[str, str, MessageQueue, int]:
    return message.message_id, message.offset_message_id, message.queue, message.queue_offset


def promised(result: SendResult) -> tuple[str, str, MessageQueue, int]:
    assert result.status is SendStatus.SEND_OK
    return result.message_id, result.offset_message_id, result.queue, result.queue_offset


def order(topic: str, number: int, way: str) -> Message:
    return Message(
        topic,
        f"{way}-{number}".encode(),
        tag=f"tag{number % 3}",
        keys=[f"{way}{number}", "every"],
        properties={"number": str(number), "text": TEXT},
        flag=number,
    )


@pytest.mark.proves("sending")
def test_every_way_of_sending(
    servers: Servers, topic: str, newest_java: Callable[..., ForeignClient]
) -> None:
    results: dict[bytes, SendResult] = {}
    with Producer("ways", nameserver=servers.nameserver) as producer:
        for n in range(12):
            sent = order(topic, n, "sync")
            results[sent.body] = producer.send(sent)
        for n in range(12):
            sent = order(topic, n, "keyed")
            results[sent.body] = producer.send(sent, sharding_key=f"customer-{n % 3}")
        batch = producer.send_batch([order(topic, n, "batch") for n in range(10)])
        for n in range(5):
            producer.send_oneway(order(topic, n, "oneway"))
        target = MessageQueue(topic, servers.broker_name, 2)
        sent = Message(topic, b"placed")
        results[sent.body] = producer.send(sent, queue=target)
        assert results[sent.body].queue == target

    async def send_async() -> None:
        async with AsyncProducer("ways", nameserver=servers.nameserver) as producer:
            messages = [order(topic, n, "async") for n in range(30)]
            sent = await asyncio.gather(*[producer.send(message) for message in messages])
            results.update({m.body: result for m, result in zip(messages, sent, strict=True)})

    asyncio.run(send_async())
    for kind in ("zlib", "lz4", "zstd"):
        settings = ProducerSettings(compression=kind)
        with Producer("ways", nameserver=servers.nameserver, settings=settings) as producer:
            big = Message(topic, kind.encode() + BIG, properties={"text": TEXT})
            results[big.body] = producer.send(big)

    queues = read_all(servers, topic, len(results) + 15)
    stored = {message.body: message for messages in queues.values() for message in messages}
    assert {body: place(stored[body]) for body in results} == {b: promised(r) for b, r in results.items()}
    for way, count in (("sync", 12), ("keyed", 12), ("batch", 10), ("oneway", 5), ("async", 30)):
        for n in range(count):
            message = stored[f"{way}-{n}".encode()]
            assert (message.tag, message.keys, message.flag) == (f"tag{n % 3}", [f"{way}{n}", "every"], n)
            assert (message.properties["number"], message.properties["text"]) == (str(n), TEXT)
            assert message.store_host == servers.broker
    in_batch = [stored[f"batch-{n}".encode()] for n in range(10)]
    assert [m.message_id for m in in_batch] == batch.message_id.split(",")
    assert [m.offset_message_id for m in in_batch] == batch.offset_message_id.split(",")
    first = batch.queue_offset
    assert [(m.queue, m.queue_offset) for m in in_batch] == [(batch.queue, first + n) for n in range(10)]
    for customer in range(3):
        assert len({stored[f"keyed-{n}".encode()].queue for n in range(customer, 12, 3)}) == 1
    for kind in ("zlib", "lz4", "zstd"):
        message = stored[kind.encode() + BIG]
        assert message.properties["text"] == TEXT
        assert message.store_size < len(BIG)

    lines = newest_java("queues", servers.nameserver, topic).finish()
    by_java = {(int(row[1]), int(row[2])): (row[3], row[4]) for row in lines if row[0] == "read"}
    assert by_java == {(m.queue_id, m.queue_offset): (m.message_id, m.body.decode()) for m in stored.values()}
    texts = {row[5] for row in lines if row[0] == "read" and "-" in row[4]}
    assert texts == {TEXT}


def check_submitted(servers: Servers, topic: str, submitted: list[tuple[Message, SendResult]]) -> None:
    """Each message lies where its own result says, and the order of each sharding key was kept."""
    queues = read_all(servers, topic, len(submitted))
    stored = {message.body: message for messages in queues.values() for message in messages}
    assert len({message.message_id for message in stored.values()}) == len(submitted)
    expected = {message.body: promised(result) for message, result in submitted}
    assert {body: place(message) for body, message in stored.items()} == expected
    lanes: dict[str, list[bytes]] = defaultdict(list)
    for messages in queues.values():
        for message in messages:
            if "lane" in message.properties:
                lanes[message.properties["lane"]].append(message.body)
    wanted: dict[str, list[bytes]] = defaultdict(list)
    for message, _ in submitted:
        if "lane" in message.properties:
            wanted[message.properties["lane"]].append(message.body)
    assert lanes == wanted


def to_submit(topic: str) -> list[tuple[Message, str | None]]:
    """Messages and their sharding keys; every fourth has none, and some are compressed."""
    messages = []
    for n in range(1200):
        lane = None if n % 4 == 0 else f"lane-{n % 7}"
        body = f"{n}".encode() + (BIG if n % 100 == 50 else b"")
        messages.append(
            (Message(topic, body, keys=[f"k{n}"], properties={"lane": lane} if lane else {}), lane)
        )
    return messages


@pytest.mark.proves("sending")
def test_submit_from_a_thread(servers: Servers, topic: str) -> None:
    with Producer("submit", nameserver=servers.nameserver) as producer:
        futures = [(m, producer.submit(m, sharding_key=lane)) for m, lane in to_submit(topic)]
        producer.flush()
        submitted = [(message, future.result(120)) for message, future in futures]
    check_submitted(servers, topic, submitted)


@pytest.mark.proves("sending")
def test_submit_from_a_loop(servers: Servers, topic: str) -> None:
    async def submit() -> list[tuple[Message, SendResult]]:
        async with AsyncProducer("submit", nameserver=servers.nameserver) as producer:
            futures = [(m, await producer.submit(m, sharding_key=lane)) for m, lane in to_submit(topic)]
            await producer.flush()
            return [(message, await future) for message, future in futures]

    check_submitted(servers, topic, asyncio.run(submit()))


@pytest.mark.proves("sending")
def test_topics_are_made_on_first_use(servers: Servers) -> None:
    with Producer("first_use", nameserver=servers.nameserver) as producer:
        results = [producer.send(Message("made_by_python", f"{n}".encode())) for n in range(8)]
    assert {result.status for result in results} == {SendStatus.SEND_OK}
    assert {result.queue.queue_id for result in results} == {0, 1, 2, 3}
    until(lambda: routed(servers, "made_by_python"))
    queues = read_all(servers, "made_by_python", 8)
    assert sorted(message.body for messages in queues.values() for message in messages) == [
        f"{n}".encode() for n in range(8)
    ]


def routed(servers: Servers, topic: str) -> bool:
    with Puller(nameserver=servers.nameserver) as puller:
        try:
            return len(puller.queues(topic)) == 4
        except RouteError:
            return False


def test_refusals(servers: Servers, topic: str) -> None:
    settings = ProducerSettings(body_bytes_max=16 << 20, compress_over_bytes=64 << 20, retries_sync=0)
    with Producer("refused", nameserver=servers.nameserver, settings=settings) as producer:
        with pytest.raises(AnswerError) as refusal:
            producer.send(Message(topic, bytes(5 << 20)), timeout=20)
        assert refusal.value.code == 13
        assert producer.send(Message(topic, b"still fine")).status is SendStatus.SEND_OK
    with Puller(nameserver=servers.nameserver) as puller, pytest.raises(RouteError):
        puller.queues("nobody_made_this")


@pytest.mark.proves("pulling")
def test_puller(servers: Servers, topic: str) -> None:
    queue = MessageQueue(topic, servers.broker_name, 1)
    with (
        Producer("pulled", nameserver=servers.nameserver) as producer,
        Puller(nameserver=servers.nameserver) as puller,
    ):
        assert (puller.min_offset(queue), puller.max_offset(queue)) == (0, 0)
        results = [producer.send(order(topic, n, "pull"), queue=queue) for n in range(9)]
        assert [result.queue_offset for result in results] == list(range(9))
        until(lambda: puller.max_offset(queue) == 9)

        some = puller.pull(queue, 3, 4)
        assert [(m.queue_offset, m.body) for m in some.messages] == [
            (n, f"pull-{n}".encode()) for n in range(3, 7)
        ]
        assert (some.status.name, some.next_offset, some.min_offset, some.max_offset) == ("FOUND", 7, 0, 9)
        tagged = puller.pull(queue, 0, expression="tag0 || tag2")
        assert [m.queue_offset for m in tagged.messages] == [0, 2, 3, 5, 6, 8]
        none = puller.pull(queue, 0, expression="nothing")
        assert (none.status.name, list(none.messages), none.next_offset) == ("NO_MATCHED_MSG", [], 9)
        end = puller.pull(queue, 9)
        assert (end.status.name, end.next_offset) == ("NO_NEW_MSG", 9)
        beyond = puller.pull(queue, 50)
        assert (beyond.status.name, beyond.next_offset) == ("OFFSET_ILLEGAL", 9)
        third = some.messages[0].store_timestamp
        found = puller.offset_at(queue, third)
        assert found <= 3
        assert some.messages[0].store_timestamp == puller.pull(queue, found, 1).messages[0].store_timestamp
        assert puller.offset_at(queue, 0) == 0

        # A pull that waits is answered when a message comes.
        began = time.monotonic()
        late = producer.submit(order(topic, 9, "pull"), queue=queue)
        waited = puller.pull(queue, 9, wait=100.0)
        assert [m.body for m in waited.messages] == [b"pull-9"]
        assert time.monotonic() - began < 90
        assert waited.messages[0].message_id == late.result(120).message_id


@pytest.mark.proves("operation")
def test_admin_looks_up_and_counts(servers: Servers, topic: str) -> None:
    with (
        Producer("admin", nameserver=servers.nameserver) as producer,
        Admin(nameserver=servers.nameserver) as admin,
    ):
        results = [producer.send(order(topic, n, "look")) for n in range(8)]
        until(lambda: len(admin.messages.query(topic, "every")) == 8)
        [found] = admin.messages.query(topic, "look5")
        assert (found.body, place(found)[:2]) == (b"look-5", promised(results[5])[:2])
        by_unique = admin.messages.by_unique_key(topic, results[5].message_id)
        assert by_unique is not None
        assert (by_unique.body, by_unique.offset_message_id) == (b"look-5", results[5].offset_message_id)
        by_offset = admin.messages.by_id(results[5].offset_message_id, topic)
        assert (by_offset.body, by_offset.message_id) == (b"look-5", results[5].message_id)
        assert (by_offset.queue_id, by_offset.queue_offset) == (
            results[5].queue.queue_id,
            results[5].queue_offset,
        )
        assert admin.messages.by_unique_key(topic, "0" * 32) is None
        assert admin.messages.query(topic, "no_such_key") == []
        stats = admin.topics.stats(topic)
        assert sorted(stats) == [MessageQueue(topic, servers.broker_name, n) for n in range(4)]
        assert sum(each.max_offset - each.min_offset for each in stats.values()) == 8
        config = admin.topics.config(topic)[servers.broker_name]
        assert (config.topic_name, config.read_queue_nums, config.write_queue_nums) == (topic, 4, 4)
        assert admin.cluster.info().cluster_addr_table == {servers.cluster: [servers.broker_name]}
        assert admin.brokers.config(servers.broker)["autoCreateTopicEnable"] == "true"
        assert admin.brokers.runtime(servers.broker)["brokerVersionDesc"].startswith("V5_3_3")
        until(lambda: admin.members.producers("admin").connection_set)  # Apache reads heartbeats later
        assert admin.members.producers("admin").connection_set[0].language == "PYTHON"


@pytest.mark.proves("operation")
def test_our_broker_counts_all_that_apaches_does(apache: Servers, ours: Servers) -> None:
    def counters(servers: Servers) -> dict[str, str]:
        with Admin(nameserver=servers.nameserver) as admin:
            return admin.brokers.runtime(servers.broker)

    def counts() -> bool:
        try:
            return bool(counters(apache))
        except RetryError:
            return False  # Apache's cannot in its first second

    until(counts)
    here, there = counters(ours), counters(apache)
    assert sorted(disk.partition("_")[0] for disk in there.keys() - here.keys()) == ["commitLogDiskRatio"]
    assert here["remainTransientStoreBufferNumbs"] == there["remainTransientStoreBufferNumbs"]


@pytest.mark.proves("operation")
def test_async_admin_changes_things(servers: Servers) -> None:
    async def change() -> None:
        async with AsyncAdmin(nameserver=servers.nameserver) as admin:
            await admin.topics.create("changed", read_queues=6, write_queues=2, attributes={})
            config = (await admin.topics.config("changed"))[servers.broker_name]
            assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (6, 2, 6)
            await admin.topics.create("changed", queues=3, perm=4)
            config = (await admin.topics.config("changed"))[servers.broker_name]
            assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (3, 3, 4)
            await admin.groups.create("made_group")
            assert "made_group" in await admin.groups.list()
            await admin.groups.delete("made_group", clean_offsets=True)
            assert "made_group" not in await admin.groups.list()
            await admin.brokers.update_config(servers.broker, {"autoCreateTopicEnable": "true"})
            await admin.kv.put("space", "key", TEXT)
            assert await admin.kv.get("space", "key") == TEXT
            assert await admin.kv.list("space") == {"key": TEXT}
            await admin.kv.put("space", "long", LONG)
            assert await admin.kv.get("space", "long") == LONG
            await admin.kv.delete("space", "long")
            await admin.kv.delete("space", "key")
            assert await admin.kv.get("space", "key") is None
            await admin.topics.delete("changed")
            assert "changed" not in await admin.topics.list()

    asyncio.run(change())
