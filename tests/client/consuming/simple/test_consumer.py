"""Simple consumers on real brokers in this process, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from mqframe.client.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.client.simple_consumer import AsyncSimpleConsumer
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ClosedError, FixError, GiveUpError, ReceiptError, RouteError
from mqframe.core.message import Message, MessageQueue
from mqframe.core.message_choice import Sql
from mqframe.core.pop_handle import HandleError, ReceiptHandle
from mqframe.core.popped import PoppedMessage
from mqframe.testing.cluster import AsyncCluster
from mqframe.testing.manual_clock import ManualClock

GROUP = "billing"


class Scene:
    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.consumers: list[AsyncSimpleConsumer] = []
        self.producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)

    async def join(self, *topics: str, expression: str = "*", **options) -> AsyncSimpleConsumer:
        consumer = AsyncSimpleConsumer(
            options.pop("group", GROUP),
            clock=self.clock,
            client=ClientSettings(nameserver=self.cluster.nameserver),
            **{"consume_from": "first", "await_duration": 5.0, **options},
        )
        for topic in topics or ("orders",):
            consumer.subscribe(topic, expression)
        await consumer.start()
        self.consumers.append(consumer)
        return consumer

    async def end(self, work):
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.aadvance(0.1)
        return await task

    async def send(self, *bodies: bytes, topic: str = "orders", tag: str | None = None, **to) -> None:
        for body in bodies:
            await self.producer.send(Message(topic, body, tag), **to)

    async def receive(self, consumer: AsyncSimpleConsumer, count: int, seconds: float = 30.0):
        """Exactly `count` messages, in as many calls as it takes."""
        got: list[PoppedMessage] = []
        while len(got) < count:
            new = await self.end(consumer.receive(min(32, count - len(got)), seconds))
            assert new, f"{len(got)} of {count} messages came"
            got += new
        return got

    async def nothing(self, consumer: AsyncSimpleConsumer) -> None:
        """There is nothing to receive for the whole time of a wait."""
        assert await self.end(consumer.receive(32, 30.0)) == []


def play(story, **options):
    async def whole():
        clock = ManualClock()
        async with AsyncCluster(clock=clock, **options) as cluster:
            await cluster.create_topic("orders", 4)
            scene = Scene(cluster, clock)
            await scene.producer.start()
            try:
                await story(scene)
            finally:
                for consumer in scene.consumers:
                    await scene.end(consumer.stop())
                await scene.end(scene.producer.stop())

    asyncio.run(whole())


def numbered(prefix: bytes, count: int) -> list[bytes]:
    return [prefix + b"%d" % n for n in range(count)]


def bodies(messages) -> list[bytes]:
    return [message.body for message in messages]


def test_every_message_comes_once_and_is_done_with_when_acknowledged() -> None:
    async def story(scene):
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

    play(story)


def test_a_message_that_is_not_acknowledged_comes_again() -> None:
    async def story(scene):
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

    play(story)


def test_two_members_get_different_messages_and_one_sees_to_what_the_other_left() -> None:
    async def story(scene):
        one, two = await scene.join(), await scene.join()
        await scene.send(*numbered(b"m", 20))
        left = await scene.receive(one, 10, 10.0)
        right = await scene.receive(two, 10, 10.0)
        assert Counter(bodies(left + right)) == Counter(numbered(b"m", 20))
        await one.ack_batch(left[:5])
        await two.ack_batch(right)
        await scene.end(one.stop())
        await scene.clock.aadvance(15.0)
        again = await scene.receive(two, 5)
        assert Counter(bodies(again)) == Counter(bodies(left[5:]))
        await two.ack_batch(again)
        # Anyone of the group who has the message may acknowledge it.
        await scene.send(b"shared")
        three = await scene.join()
        [message] = await scene.receive(two, 1, 10.0)
        await three.ack(message)
        await scene.clock.aadvance(20.0)
        await scene.nothing(two)

    play(story)


def test_a_waiting_receive_returns_when_a_message_arrives() -> None:
    async def story(scene):
        consumer = await scene.join()
        await scene.nothing(consumer)
        waiting = asyncio.ensure_future(consumer.receive(8, 30.0))
        await scene.clock.aadvance(2.0)
        assert not waiting.done()
        await scene.send(b"now")
        await scene.clock.aadvance(0.2)
        assert bodies(await waiting) == [b"now"]
        began = scene.clock.monotonic()
        await scene.nothing(consumer)
        assert 4.99 <= scene.clock.monotonic() - began < 5.5

    play(story)


def test_what_came_for_a_receive_that_was_cancelled_goes_to_the_next() -> None:
    async def story(scene):
        consumer = await scene.join()
        for deadline_missed in (False, True):
            waiting = asyncio.ensure_future(consumer.receive(8, 30.0))
            await scene.clock.aadvance(1.0)
            waiting.cancel()
            await scene.send(b"late")
            await scene.clock.aadvance(31.0 if deadline_missed else 0.5)
            assert waiting.cancelled()
            [message] = await scene.receive(consumer, 1, 30.0)
            assert message.delivery_attempt == (2 if deadline_missed else 1)
            await consumer.ack(message)
        await scene.clock.aadvance(60.0)
        await scene.nothing(consumer)

    play(story)


def test_the_time_can_be_made_longer_and_shorter() -> None:
    async def story(scene):
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

    play(story)


def test_after_the_maximum_of_attempts_a_message_is_a_dead_letter() -> None:
    async def story(scene):
        consumer = await scene.join()
        await scene.send(b"poison")
        attempts = []
        for _ in range(40):
            messages = await scene.end(consumer.receive(1, 1.0))
            attempts += [m.delivery_attempt for m in messages]
            await scene.clock.aadvance(10.0)
        assert attempts == list(range(1, len(attempts) + 1))
        assert len(attempts) == 17
        store = scene.cluster.broker.store
        assert [store.queue_max(f"%DLQ%{GROUP}", 0)] == [1]
        await scene.nothing(consumer)

    play(story)


def test_what_is_not_ours_any_more_is_refused() -> None:
    async def story(scene):
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

    play(story)


def test_foreign_handles_are_refused() -> None:
    async def story(scene):
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
            await consumer.ack(message)
        message.receipt_handle = handle._replace(queue_id=17).text
        with pytest.raises(AnswerError) as caught:
            await consumer.ack(message)
        assert caught.value.code == ResponseCode.MESSAGE_ILLEGAL
        message.receipt_handle = handle._replace(offset=1000).text
        with pytest.raises(ReceiptError):
            await consumer.ack(message)
        message.receipt_handle = handle.text
        await consumer.ack(message)

    play(story)


def test_tags_and_messages_that_only_share_a_hash() -> None:
    async def story(scene):
        consumer = await scene.join(expression="Aa || paid")
        await scene.send(*numbered(b"paid", 3), tag="paid")
        await scene.send(*numbered(b"hash", 3), tag="BB")
        await scene.send(*numbered(b"Aa", 3), tag="Aa")
        got = await scene.receive(consumer, 6)
        assert Counter(bodies(got)) == Counter(numbered(b"paid", 3) + numbered(b"Aa", 3))
        await consumer.ack_batch(got)
        await scene.clock.aadvance(60.0)
        await scene.nothing(consumer)

    play(story)


def test_expressions_over_properties() -> None:
    async def story(scene):
        for n in range(6):
            await scene.producer.send(Message("orders", b"%d" % n, properties={"n": str(n)}))
        consumer = await scene.join(expression=Sql("n > 3"))
        got = await scene.receive(consumer, 2)
        assert sorted(bodies(got)) == [b"4", b"5"]
        await consumer.ack_batch(got)
        await scene.nothing(consumer)
        with pytest.raises(AnswerError) as caught:
            await scene.join(expression=Sql("n > > 3"), group="other")
        assert caught.value.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED

    play(story)


def test_topics_and_brokers_take_turns() -> None:
    async def story(scene):
        await scene.cluster.create_topic("bills", 2)
        consumer = await scene.join("orders", "bills")
        for topic in ("orders", "bills"):
            for broker in ("broker-a", "broker-b"):
                body = f"{topic} {broker}".encode()
                await scene.send(body, topic=topic, queue=MessageQueue(topic, broker, 0))
        got = await scene.receive(consumer, 4)
        assert sorted(bodies(got)) == [
            b"bills broker-a", b"bills broker-b", b"orders broker-a", b"orders broker-b",
        ]  # fmt: skip
        await consumer.ack_batch(got)
        for topic in ("orders", "bills"):
            waiting = asyncio.ensure_future(consumer.receive(8, 30.0))
            await scene.clock.aadvance(0.5)
            await scene.send(b"late", topic=topic, queue=MessageQueue(topic, "broker-b", 0))
            await consumer.ack_batch(await scene.end(waiting))
            assert waiting.result()
        consumer.unsubscribe("orders")
        assert consumer.topics == ["bills"]
        await scene.send(b"unheard", topic="orders")
        await scene.nothing(consumer)

    play(story, brokers=2)


def test_a_broker_that_is_away_does_not_stop_the_others() -> None:
    async def story(scene):
        consumer = await scene.join()
        await scene.send(b"a", queue=MessageQueue("orders", "broker-a", 0))
        await scene.cluster.stop_broker(1)
        assert bodies(await scene.receive(consumer, 1)) == [b"a"]

    play(story, brokers=2)


def test_ordered_queues_are_blocked_until_what_came_before_is_done() -> None:
    async def story(scene):
        consumer = await scene.join(ordered=True)
        await scene.send(*numbered(b"m", 4), queue=MessageQueue("orders", "broker-a", 0))
        first = await scene.receive(consumer, 2, 10.0)
        assert bodies(first) == [b"m0", b"m1"]
        await scene.nothing(consumer)
        await consumer.ack(first[0])
        await scene.clock.aadvance(6.0)
        again = await scene.receive(consumer, 1, 10.0)
        assert [(m.body, m.delivery_attempt) for m in again] == [(b"m1", 2)]
        await consumer.ack_batch(again)
        rest = await scene.receive(consumer, 2, 10.0)
        assert [(m.body, m.delivery_attempt) for m in rest] == [(b"m2", 1), (b"m3", 1)]
        await consumer.ack_batch(rest)
        await scene.nothing(consumer)

    play(story)


@pytest.mark.parametrize(
    ("begin", "expected"), [("first", [b"m0", b"m1", b"m2", b"new"]), ("last", [b"m2", b"new"])]
)
def test_where_a_new_group_begins(begin, expected) -> None:
    async def story(scene):
        queue = MessageQueue("orders", "broker-a", 0)
        await scene.send(*numbered(b"m", 3), queue=queue)
        consumer = await scene.join(consume_from=begin)
        got = await scene.receive(consumer, len(expected) - 1)
        await scene.send(b"new", queue=queue)
        assert bodies(got + await scene.receive(consumer, 1)) == expected

    # Of a queue that is whole and in memory brokers give all, else from the newest message on.
    play(story, store={"hot_bytes": 1})


def test_bad_input_is_named() -> None:
    with pytest.raises(FixError, match="consume_from 'middle'"):
        AsyncSimpleConsumer("g", nameserver="127.0.0.1:9", consume_from="middle")
    with pytest.raises(FixError, match="await_duration is -1"):
        AsyncSimpleConsumer("g", nameserver="127.0.0.1:9", await_duration=-1)
    with pytest.raises(FixError):
        AsyncSimpleConsumer("not a group!", nameserver="127.0.0.1:9")

    async def story(scene):
        consumer = await scene.join()
        await scene.send(b"a")
        for count in (0, 33):
            with pytest.raises(FixError, match=f"max_messages is {count}; 1 to 32"):
                await consumer.receive(count)
        with pytest.raises(FixError, match="invisible_duration is 0"):
            await consumer.receive(1, 0.0)
        [message] = await scene.receive(consumer, 1)
        with pytest.raises(FixError, match="cannot be hidden for 0"):
            await consumer.change_invisible_duration(message, 0.0)
        with pytest.raises(ClosedError, match="is running"):
            await consumer.start()
        consumer.unsubscribe("orders")
        with pytest.raises(FixError, match="has no subscription"):
            await consumer.receive()
        consumer.subscribe("nowhere")
        with pytest.raises(RouteError, match="nowhere"):
            await scene.end(consumer.receive())
        await consumer.ack(message)
        await consumer.stop()
        await consumer.stop()
        for work in (consumer.receive(), consumer.ack(message), consumer.start()):
            with pytest.raises(ClosedError):
                await work

    play(story)


def test_a_receive_that_waits_ends_when_the_consumer_stops() -> None:
    async def story(scene):
        consumer = await scene.join()
        waiting = asyncio.ensure_future(consumer.receive())
        await scene.clock.aadvance(1.0)
        await scene.end(consumer.stop())
        with pytest.raises(ClosedError, match="was stopped"):
            await scene.end(waiting)

    play(story)
