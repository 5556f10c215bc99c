"""Clients of both protocols at one topic."""

from __future__ import annotations

import sys
import zlib
from typing import Any

import pytest
from doors import DoorScene, consumer_settings, message
from mqframe_grpc.proto import messages as m

from mqframe import AsyncAdmin, AsyncProducer, AsyncPushConsumer, Message, ProducerSettings, ReceivedMessage
from mqframe.core.codes import SysFlag
from mqframe.core.messages.compression import Compression, compress

TOPICS = {"orders": 1, "lines": 1}
BODY = b"a body that becomes small " * 400
PACKAGES = {Compression.LZ4: "lz4.frame", Compression.ZSTD: "zstandard"}


def put(scene: DoorScene, topic: str, body: bytes, sys_flag: int = 0) -> None:
    """Store a message as a client of remoting has packed it."""
    writer, key = scene.cluster.broker.service_port.writer, f"{len(scene.stored(topic)):032X}"
    now_ms = scene.clock.now_ms()
    writer.put(topic, 0, body, {"UNIQ_KEY": key}, born_timestamp=now_ms, sys_flag=sys_flag)


async def test_what_either_kind_sends_the_other_gets_whole() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        producer = await scene.open(AsyncProducer("shop", nameserver=scene.nameserver, clock=scene.clock))
        sent = await scene.finish(producer.send(Message("orders", b"r" * 9_000, "paid", ["k-1"], {"n": "1"})))
        ours = message("orders", b"from gRPC", tag="paid", keys=["k-2"], user={"n": "2"})
        await scene.send_one(ours)

        theirs, mine = await scene.receive("orders", "billing")
        said = theirs.system_properties
        assert (theirs.body, said.tag, list(said.keys)) == (b"r" * 9_000, "paid", ["k-1"])
        assert (said.message_id, dict(theirs.user_properties)) == (sent.message_id, {"n": "1"})
        assert said.body_encoding == m.Encoding.IDENTITY
        assert mine.system_properties.message_id == ours.system_properties.message_id

        got: list[ReceivedMessage] = []
        consumer = AsyncPushConsumer(
            "shipping", nameserver=scene.nameserver, clock=scene.clock, consume_from="first"
        )

        @consumer.on("orders")
        async def take(found: ReceivedMessage) -> None:
            got.append(found)

        await scene.open(consumer)
        await scene.until(lambda: len(got) == 2)
        by_id = {each.message_id: each for each in got}
        found = by_id[ours.system_properties.message_id]
        assert (found.body, found.tag, found.keys, found.properties["n"]) == (
            b"from gRPC",
            "paid",
            ["k-2"],
            "2",
        )


async def test_lag_and_members_are_true_whichever_door_members_use() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        admin = await scene.open(AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock))
        await scene.join("a@1", consumer_settings("billing", "orders"))
        for body in (b"1", b"2", b"3"):
            await scene.send_one(message("orders", body), "p@1")
        found = await scene.receive("orders", "billing", "a@1", count=3)
        await scene.acknowledge("billing", *found, client="a@1")
        await scene.pass_time(10.0)
        assert await scene.finish(admin.groups.lag("billing", "orders")) == 0
        await scene.send_one(message("orders", b"4"), "p@1")
        assert await scene.finish(admin.groups.lag("billing", "orders")) == 1
        found = await scene.finish(admin.members.consumers("billing"))
        assert [each.client_id for each in found.connection_set] == ["a@1"]


async def test_dead_letters_are_shared() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        sent = message("orders", b"poison")
        await scene.send_one(sent)
        [found] = await scene.receive("orders", "billing")
        asked = m.ForwardMessageToDeadLetterQueueRequest(
            group=m.Resource(name="billing"),
            topic=found.topic,
            receipt_handle=found.system_properties.receipt_handle,
            message_id=found.system_properties.message_id,
        )
        [answer] = await scene.call("ForwardMessageToDeadLetterQueue", asked)
        assert answer.status.code == m.Code.OK
        admin = await scene.open(AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock))
        [letter] = await scene.finish(admin.dead_letters.list("billing"))
        assert letter.message.message_id == sent.system_properties.message_id
        assert letter.message.body == b"poison"


# Bodies that clients of remoting have packed


def plain(found: list[Any]) -> list[bytes]:
    """The bodies of messages that are said to be plain."""
    assert {each.system_properties.body_encoding for each in found} <= {m.Encoding.IDENTITY}
    return [each.body for each in found]


@pytest.mark.parametrize(("kind", "level"), [(kind, level) for kind in Compression for level in (1, 5, 9)])
async def test_a_packed_body_comes_plain(kind: Compression, level: int) -> None:
    packed, bits = compress(BODY, kind, level)
    assert len(packed) < len(BODY) // 4
    async with DoorScene(topics=TOPICS) as scene:
        put(scene, "orders", packed, bits)
        put(scene, "orders", b"plain")
        found = await scene.receive("orders", "billing")
        assert plain(found) == [BODY, b"plain"]
        request = m.PullMessageRequest(
            group=m.Resource(name="pulling"),
            message_queue=m.MessageQueue(topic=m.Resource(name="orders"), broker=m.Broker(name="broker-a")),
            batch_size=32,
            filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
        )
        pulled = await scene.call("PullMessage", request)
        assert plain([each.message for each in pulled[1:-1]]) == [BODY, b"plain"]


@pytest.mark.parametrize("kind", list(Compression))
async def test_a_producer_of_remoting_packs_what_the_door_unpacks(kind: Compression) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        settings = ProducerSettings(compression=kind.name.lower(), compress_over_bytes=100)
        producer = AsyncProducer("shop", nameserver=scene.nameserver, settings=settings, clock=scene.clock)
        await scene.open(producer)
        await scene.finish(producer.send(Message("orders", BODY)))
        [stored] = scene.stored("orders")
        assert len(stored.stored_body) < len(BODY)
        assert plain(await scene.receive("orders", "billing")) == [BODY]


async def test_a_body_without_bits_of_its_kind_is_one_of_zlib() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        put(scene, "orders", zlib.compress(BODY), SysFlag.COMPRESSED)
        assert plain(await scene.receive("orders", "billing")) == [BODY]


@pytest.mark.parametrize("kind", [0x400, 0x500, 0x600, 0x700])
async def test_a_body_of_a_kind_that_nobody_knows_is_a_dead_letter(kind: int) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        put(scene, "orders", b"?", SysFlag.COMPRESSED | kind)
        put(scene, "orders", b"plain")
        assert plain(await scene.receive("orders", "billing")) == [b"plain"]
        assert [each.stored_body for each in scene.stored("%DLQ%billing")] == [b"?"]


@pytest.mark.parametrize("kind", list(PACKAGES))
async def test_a_body_whose_package_is_missing_comes_once_it_is_installed(
    kind: Compression, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    packed, bits = compress(BODY, kind)
    async with DoorScene(topics=TOPICS) as scene:
        put(scene, "orders", packed, bits)
        put(scene, "orders", b"plain")
        with monkeypatch.context() as without:
            without.setitem(sys.modules, PACKAGES[kind], None)
            found = await scene.receive("orders", "billing", invisible_seconds=3600)
            # The others come as ever, and soon it is tried again, as after a failure.
            assert plain(found) == [b"plain"]
            await scene.acknowledge("billing", *found)
            await scene.pass_time(60.0)
            assert await scene.receive("orders", "billing", invisible_seconds=3600) == []
        assert f"{PACKAGES[kind]} is not installed" in caplog.text
        await scene.pass_time(60.0)
        [again] = await scene.receive("orders", "billing", seconds=20.0)
        assert (plain([again]), again.system_properties.delivery_attempt) == ([BODY], 3)
        assert scene.stored("%DLQ%billing") == []


@pytest.mark.parametrize("kind", list(PACKAGES))
async def test_a_body_whose_package_stays_missing_is_a_dead_letter_and_its_queue_goes_on(
    kind: Compression, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, bits = compress(BODY, kind)
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("billing", ordered=True, retries=2)
        put(scene, "lines", packed, bits)
        put(scene, "lines", b"plain")
        monkeypatch.setitem(sys.modules, PACKAGES[kind], None)
        got: list[bytes] = []
        for _ in range(20):
            found = await scene.receive("lines", "billing", count=1, invisible_seconds=3600)
            got += plain(found)
            if found:
                await scene.acknowledge("billing", *found)
            await scene.pass_time(10.0)
        assert got == [b"plain"]
        [letter] = scene.stored("%DLQ%billing")
        assert letter.stored_body == packed
        monkeypatch.undo()
        assert letter.body == BODY
