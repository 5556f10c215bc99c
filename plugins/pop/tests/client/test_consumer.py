"""Simple consumers on real brokers in this process, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from mqframe_pop.client.consumer import AsyncSimpleConsumer
from simple_scenes import GROUP, SimpleScene, bodies, numbered

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ClosedError, FixError, RouteError
from mqframe.core.filtering.filter_expression import Sql
from mqframe.core.messages.message import Message, MessageQueue


async def test_two_members_get_different_messages_and_one_sees_to_what_the_other_left() -> None:
    async with SimpleScene() as scene:
        one, two = await scene.join(), await scene.join()
        await scene.send(*numbered(b"m", 20))
        left = await scene.receive(one, 10, 10.0)
        right = await scene.receive(two, 10, 10.0)
        assert Counter(bodies(left + right)) == Counter(numbered(b"m", 20))
        await one.ack_batch(left[:5])
        await two.ack_batch(right)
        await scene.finish(one.stop())
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


async def test_a_waiting_receive_returns_when_a_message_arrives() -> None:
    async with SimpleScene() as scene:
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


async def test_one_receive_may_wait_for_another_time_than_the_others() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.nothing(consumer)
        at_once = asyncio.ensure_future(consumer.receive(8, 30.0, 0.0))
        await scene.clock.aadvance(0.2)
        assert at_once.done()
        assert await at_once == []
        longer = asyncio.ensure_future(consumer.receive(8, 30.0, 60.0))
        await scene.clock.aadvance(50.0)
        assert not longer.done()
        await scene.send(b"late")
        await scene.clock.aadvance(0.2)
        assert bodies(await longer) == [b"late"]
        with pytest.raises(FixError, match="await_duration is 301"):
            await consumer.receive(8, 30.0, 301)


async def test_what_came_for_a_receive_that_was_cancelled_goes_to_the_next() -> None:
    async with SimpleScene() as scene:
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


async def test_after_the_maximum_of_attempts_a_message_is_a_dead_letter() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        await scene.send(b"poison")
        attempts = []
        for _ in range(40):
            messages = await scene.finish(consumer.receive(1, 1.0))
            attempts += [m.delivery_attempt for m in messages]
            await scene.clock.aadvance(10.0)
        assert attempts == list(range(1, len(attempts) + 1))
        assert len(attempts) == 17
        store = scene.cluster.broker.store
        assert [store.queues.max_offset(f"%DLQ%{GROUP}", 0)] == [1]
        await scene.nothing(consumer)


async def test_expressions_over_properties() -> None:
    async with SimpleScene() as scene:
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


async def test_topics_and_brokers_take_turns() -> None:
    async with SimpleScene(brokers=2) as scene:
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
            await consumer.ack_batch(await scene.finish(waiting))
            assert waiting.result()
        consumer.unsubscribe("orders")
        assert consumer.topics == ["bills"]
        await scene.send(b"unheard", topic="orders")
        await scene.nothing(consumer)


async def test_a_broker_that_is_away_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mqframe.client")

    async with SimpleScene(brokers=2) as scene:

        def told() -> list[str]:
            records = [each for each in caplog.records if each.getMessage().startswith("pop failed")]
            return [each.levelname for each in records]

        consumer = await scene.join()
        await scene.send(b"a", queue=MessageQueue("orders", "broker-a", 0))
        await scene.cluster.stop_broker(1)
        got = await scene.receive(consumer, 1)
        assert bodies(got) == [b"a"]
        await consumer.ack_batch(got)
        began = scene.clock.monotonic()
        while scene.clock.monotonic() - began < 130:
            await scene.nothing(consumer)
        # A restart is no news, and an outage is told once a minute.
        assert set(told()) == {"INFO", "WARNING"}
        assert 1 <= told().count("WARNING") <= 3


async def test_ordered_queues_are_blocked_until_what_came_before_is_done() -> None:
    async with SimpleScene() as scene:
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


@pytest.mark.parametrize("hot_bytes", [1, 1 << 20])
@pytest.mark.parametrize(
    ("begin", "expected"), [("first", [b"m0", b"m1", b"m2", b"new"]), ("last", [b"new"])]
)
async def test_where_a_new_group_begins(begin, expected, hot_bytes) -> None:
    # Left alone, brokers would give all of a queue in memory, else the newest message.
    async with SimpleScene(store={"hot_bytes": hot_bytes}) as scene:
        queue = MessageQueue("orders", "broker-a", 0)
        await scene.send(*numbered(b"m", 3), queue=queue)
        consumer = await scene.join(consume_from=begin)
        got = await scene.receive(consumer, len(expected) - 1)
        await scene.send(b"new", queue=queue)
        assert bodies(got + await scene.receive(consumer, 1)) == expected


async def test_a_topic_that_is_subscribed_while_it_runs_begins_before_it_is_popped() -> None:
    async with SimpleScene() as scene:
        await scene.cluster.create_topic("other", 1)
        await scene.send(*numbered(b"m", 8))
        consumer = await scene.join("other", consume_from="last")
        consumer.subscribe("orders")
        await scene.nothing(consumer)
        await scene.send(b"new")
        assert bodies(await scene.receive(consumer, 1)) == [b"new"]


async def test_bad_input_is_named() -> None:
    with pytest.raises(FixError, match="consume_from 'middle'"):
        AsyncSimpleConsumer("g", nameserver="127.0.0.1:9", consume_from="middle")
    with pytest.raises(FixError, match="await_duration is -1"):
        AsyncSimpleConsumer("g", nameserver="127.0.0.1:9", await_duration=-1)
    with pytest.raises(FixError):
        AsyncSimpleConsumer("not a group!", nameserver="127.0.0.1:9")

    async with SimpleScene() as scene:
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
        await consumer.start()
        consumer.unsubscribe("orders")
        with pytest.raises(FixError, match="has no subscription"):
            await consumer.receive()
        consumer.subscribe("nowhere")
        with pytest.raises(RouteError, match="nowhere"):
            await scene.finish(consumer.receive())
        await consumer.ack(message)
        await consumer.stop()
        await consumer.stop()
        for work in (consumer.receive(), consumer.ack(message), consumer.start()):
            with pytest.raises(ClosedError):
                await work


async def test_a_receive_that_waits_ends_when_the_consumer_stops(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mqframe.client")

    async with SimpleScene() as scene:
        consumer = await scene.join()
        waiting = asyncio.ensure_future(consumer.receive())
        await scene.clock.aadvance(1.0)
        await scene.finish(consumer.stop())
        with pytest.raises(ClosedError, match="was stopped"):
            await scene.finish(waiting)
        # No server is away.
        assert not [each for each in caplog.records if each.getMessage().startswith("pop failed")]


async def test_a_topic_that_is_made_while_one_waits_is_received_from() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join("later")
        waiting = asyncio.ensure_future(consumer.receive())
        await scene.clock.aadvance(1.0)
        assert not waiting.done()
        await scene.cluster.create_topic("later", 1)
        await scene.send(b"a", topic="later")
        await scene.clock.aadvance(1.5)
        assert bodies(await waiting) == [b"a"]


async def test_a_topic_that_is_made_beside_another_is_received_from_without_waiting_for_that() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join("orders", "later", await_duration=20.0)
        waiting = asyncio.ensure_future(consumer.receive())
        await scene.clock.aadvance(2.0)
        await scene.cluster.create_topic("later", 1)
        await scene.send(b"a", topic="later")
        await scene.clock.aadvance(2.5)
        assert bodies(await waiting) == [b"a"]


async def test_a_topic_that_nobody_makes_is_waited_for_no_longer_than_for_messages() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join("never", await_duration=5.0)
        waiting = asyncio.ensure_future(consumer.receive())
        await scene.clock.aadvance(4.9)
        assert not waiting.done()
        await scene.clock.aadvance(0.2)
        with pytest.raises(RouteError, match="never"):
            await waiting
