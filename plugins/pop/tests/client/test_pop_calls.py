"""Popped messages: acknowledged, hidden for another time, chosen by their tags."""

from __future__ import annotations

from collections import Counter

import pytest
from mqframe_pop.rules.receipt_handle import HandleError, ReceiptHandle
from simple_scenes import SimpleScene, bodies, numbered

from mqframe import AsyncAdmin
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, BodyUnreadable, FixError, GiveUpError, ReceiptError, RouteError


async def test_every_message_comes_once_and_is_done_with_when_acknowledged() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(*numbered(b"m", 40))
        got = await scene.receive(consumer, 40)
        assert Counter(bodies(got)) == Counter(numbered(b"m", 40))
        for message in got:
            handle = ReceiptHandle.parse(message.receipt_handle)
            assert (handle.broker_name, handle.queue_id) == ("broker-a", message.queue_id)
            assert (handle.offset, handle.invisible_time) == (message.queue_offset, 30_000)
            assert message.properties["POP_CK"] == message.receipt_handle
            assert message.properties["1ST_POP_TIME"] == str(handle.pop_time)
            assert (message.topic, message.delivery_attempt) == ("orders", 1)
        for message in got[:20]:
            await consumer.ack(message)
        await consumer.ack_batch(got[20:])
        await scene.clock.aadvance(60.0)
        await scene.nothing(consumer)


async def test_a_body_with_a_wrong_crc_is_not_read() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(b"good", b"bad")
        messages = {m.stored_body: m for m in await scene.receive(consumer, 2)}
        messages[b"bad"].body_crc ^= 1
        assert messages[b"good"].body == b"good"
        with pytest.raises(BodyUnreadable, match="changed since it was stored"):
            messages[b"bad"].body  # noqa: B018


async def test_a_topic_that_is_deleted_and_made_anew_is_read_from_its_beginning() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(*numbered(b"old", 12))
        await consumer.ack_batch(await scene.receive(consumer, 12))
        await scene.clock.aadvance(60.0)
        async with AsyncAdmin(nameserver=scene.cluster.nameserver, clock=scene.clock) as admin:
            await admin.topics.delete("orders")
            await scene.cluster.create_topic("orders", 4)
        await scene.send(*numbered(b"new", 3))
        assert sorted(bodies(await scene.receive(consumer, 3))) == numbered(b"new", 3)


async def test_a_message_that_is_not_acknowledged_comes_again() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(*numbered(b"m", 4))
        first = await scene.receive(consumer, 4, 30.0)
        await consumer.ack_batch([m for m in first if m.body != b"m2"])
        await scene.nothing(consumer)
        await scene.clock.aadvance(30.0)
        [again] = await scene.receive(consumer, 1)
        assert (again.body, again.topic, again.delivery_attempt) == (b"m2", "orders", 2)
        assert again.properties["1ST_POP_TIME"] == first[0].properties["1ST_POP_TIME"]
        await consumer.ack(again)
        await scene.clock.aadvance(60.0)
        await scene.nothing(consumer)


async def test_the_time_can_be_made_longer_and_shorter() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(b"slow", b"given back")
        messages = {m.body: m for m in await scene.receive(consumer, 2, 10.0)}
        slow, back = messages[b"slow"], messages[b"given back"]
        before = slow.receipt_handle
        await scene.clock.aadvance(8.0)
        assert await consumer.change_invisible_duration(slow, 60.0) == slow.receipt_handle != before
        assert slow.properties["POP_CK"] == slow.receipt_handle
        await consumer.change_invisible_duration(back, 1.0)
        await scene.clock.aadvance(3.0)
        assert bodies(await scene.receive(consumer, 1, 100.0)) == [b"given back"]
        await scene.clock.aadvance(40.0)
        await scene.nothing(consumer)
        await consumer.change_invisible_duration(slow, 60.0)
        await scene.clock.aadvance(20.0)
        await consumer.ack(slow)
        await scene.clock.aadvance(100.0)
        assert bodies(await scene.receive(consumer, 1)) == [b"given back"]
        await scene.nothing(consumer)


async def test_what_is_not_ours_any_more_is_refused() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(b"a", b"b", b"c")
        one, two, three = await scene.receive(consumer, 3, 10.0)
        await consumer.ack(one)
        for again in (consumer.ack(one), consumer.change_invisible_duration(one, 5.0)):
            with pytest.raises(ReceiptError, match="was acknowledged before") as caught:
                await again
            assert caught.value.code == ResponseCode.NO_MESSAGE
            assert isinstance(caught.value, GiveUpError)
        await consumer.ack_batch([two])
        await scene.clock.aadvance(10.5)
        with pytest.raises(ReceiptError, match="delivered again"):
            await consumer.ack(three)
        with pytest.raises(ReceiptError, match="delivered again"):
            await consumer.change_invisible_duration(three, 5.0)
        await scene.clock.aadvance(5.0)
        await scene.send(b"d")
        late = three
        [*fresh] = await scene.receive(consumer, 2, 10.0)
        with pytest.raises(ReceiptError, match="the others were acknowledged"):
            await consumer.ack_batch([late, *fresh])
        await scene.clock.aadvance(30.0)
        await scene.nothing(consumer)


async def test_foreign_handles_are_refused() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(b"a")
        [message] = await scene.receive(consumer, 1, 10.0)
        handle = ReceiptHandle.parse(message.receipt_handle)
        with pytest.raises(FixError, match="was not received by a simple consumer"):
            await consumer.ack("no message")
        message.receipt_handle = "no handle"
        with pytest.raises(HandleError, match="receipt handle 'no handle' is not one"):
            await consumer.ack(message)
        message.receipt_handle = handle._replace(broker_name="broker-z").text
        with pytest.raises(RouteError, match="broker-z"):
            await scene.finish(consumer.ack(message))
        message.receipt_handle = handle._replace(queue_id=17).text
        with pytest.raises(AnswerError) as caught:
            await consumer.ack(message)
        assert caught.value.code == ResponseCode.MESSAGE_ILLEGAL
        message.receipt_handle = handle._replace(offset=1000).text
        with pytest.raises(ReceiptError):
            await consumer.ack(message)
        message.receipt_handle = handle.text
        await consumer.ack(message)


async def test_tags_and_messages_that_only_share_a_hash() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join(expression="Aa || paid")
        await scene.send(*numbered(b"paid", 3), tag="paid")
        await scene.send(*numbered(b"hash", 3), tag="BB")
        await scene.send(*numbered(b"Aa", 3), tag="Aa")
        got = await scene.receive(consumer, 6)
        assert Counter(bodies(got)) == Counter(numbered(b"paid", 3) + numbered(b"Aa", 3))
        await consumer.ack_batch(got)
        await scene.clock.aadvance(60.0)
        await scene.nothing(consumer)
