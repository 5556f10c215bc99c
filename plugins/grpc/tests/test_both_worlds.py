"""Clients of both protocols at one topic."""

from __future__ import annotations

from doors import DoorScene, consumer_settings, message
from mqframe_grpc.proto import messages as m

from mqframe import AsyncAdmin, AsyncProducer, AsyncPushConsumer, Message, ReceivedMessage

TOPICS = {"orders": 1}


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
