"""The stand-in for a broker."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import pytest
from faststream.exceptions import SubscriberNotFound
from mqframe_faststream import (
    MqframeBroker,
    MqframeMessage,
    MqframeResponse,
    OptionError,
    ReplyTimeout,
    TestMqframeBroker,
)
from pydantic import ValidationError

from mqframe import MessageError


def in_memory(broker, story, **options):
    async def whole():
        async with TestMqframeBroker(broker, **options):
            return await story()

    return asyncio.run(asyncio.wait_for(whole(), 60))


def test_tags_and_expressions_choose_as_the_server_does() -> None:
    broker = MqframeBroker()
    got: list[tuple[str, int]] = []

    @broker.subscriber("orders", group="a", tags=["paid", "refunded"])
    async def by_tag(value: int) -> None:
        got.append(("tag", value))

    @broker.subscriber("orders", group="b", sql="amount > 100")
    async def by_sql(value: int) -> None:
        got.append(("sql", value))

    async def story():
        await broker.publish(1, "orders", tag="paid", headers={"amount": 50})
        await broker.publish(2, "orders", tag="open", headers={"amount": 500}, delay=timedelta(days=1))
        await broker.publish(3, "elsewhere", tag="paid")
        await broker.publish(4, "orders", tag="refunded", oneway=True)

    in_memory(broker, story)
    assert got == [("tag", 1), ("sql", 2), ("tag", 4)]


def test_handlers_get_what_they_would_get() -> None:
    broker = MqframeBroker()

    @broker.subscriber("orders")
    async def handle(value: str, message: MqframeMessage) -> None:
        assert (message.tag, message.keys, message.topic) == ("t", ["k"], "orders")
        assert (message.correlation_id, message.reconsume_times) == ("c", 0)
        assert message.headers["h"] == "1"

    async def story():
        sent = await broker.publish("x", "orders", tag="t", keys="k", correlation_id="c", headers={"h": 1})
        return sent.queue.topic, sent.queue_offset, (await broker.publish("y", "nobody")).queue_offset

    assert in_memory(broker, story) == ("orders", 0, 1)


def test_what_handlers_raise_who_publishes_raises() -> None:
    broker = MqframeBroker()

    @broker.subscriber("orders")
    async def handle(value: int) -> None:
        raise KeyError("no")

    async def story():
        with pytest.raises(KeyError, match="no"):
            await broker.publish(1, "orders")
        with pytest.raises(ValidationError):
            await broker.publish("many", "orders")

    in_memory(broker, story)


def test_what_a_broker_would_refuse_is_refused() -> None:
    broker = MqframeBroker()

    async def story():
        with pytest.raises(MessageError, match="may hold only"):
            await broker.publish(1, "a.b")
        with pytest.raises(MessageError, match="when packed, 4194304 are allowed"):
            await broker.publish(random.Random(3).randbytes(5_000_000), "orders")
        await broker.publish(b"z" * 5_000_000, "orders")
        with pytest.raises(MessageError, match="belongs to the system"):
            await broker.publish(1, "orders", headers={"KEYS": "x"})
        with pytest.raises(OptionError, match="a request cannot be delayed"):
            await broker.request(1, "orders", delay=1)

    in_memory(broker, story)


def test_batches_come_in_portions() -> None:
    broker = MqframeBroker()
    got: list[object] = []

    @broker.subscriber("orders", group="a", batch=True, max_records=2)
    async def several(values: list[int]) -> None:
        got.append(values)

    @broker.subscriber("orders", group="b", tags="t")
    async def single(value: int) -> None:
        got.append(value)

    async def story():
        await broker.publish_batch(1, MqframeResponse(2, tag="t"), 3, topic="orders")
        await broker.publish(4, "orders")

    in_memory(broker, story)
    assert sorted(got, key=str) == [2, [1, 2], [3], [4]]


def test_requests_are_answered() -> None:
    broker = MqframeBroker()

    @broker.subscriber("double")
    async def double(value: int) -> MqframeResponse:
        return MqframeResponse(value * 2, tag="answer", headers={"h": "1"})

    @broker.subscriber("silent", no_reply=True)
    async def silent(value: int) -> int:
        return value

    @broker.subscriber("slow")
    async def slow(value: int) -> int:
        await asyncio.Event().wait()
        return value

    async def story():
        reply = await broker.request(21, "double", correlation_id="c")
        for topic in ("silent", "slow"):
            with pytest.raises(ReplyTimeout, match=topic):
                await broker.request(1, topic, timeout=0.01)
        with pytest.raises(SubscriberNotFound):
            await broker.request(1, "nobody")
        return await reply.decode(), reply.tag, reply.headers["h"], reply.correlation_id

    assert in_memory(broker, story) == (42, "answer", "1", "c")


def test_publishers_record_what_they_publish() -> None:
    broker = MqframeBroker()

    @broker.subscriber("orders")
    @broker.publisher("bills", tag="new")
    async def bill(value: int) -> str:
        return f"bill {value}"

    @broker.subscriber("bills", tags="old")
    async def never(value: str) -> None:
        raise AssertionError("the tag is another one")

    publisher = next(each for each in broker.publishers if each.topic == "bills")

    async def story():
        await broker.publish(1, "orders")
        publisher.mock.assert_called_once_with("bill 1")
        assert never.mock.call_count == 0

    in_memory(broker, story)


def test_a_real_broker_records_calls_too(make, topic, until) -> None:
    broker = make()

    @broker.subscriber(topic)
    @broker.publisher(f"{topic}-out")
    async def handle(value: int) -> int:
        return value + 1

    publisher = broker.publishers[0]

    async def story():
        await broker.publish(1, topic)
        await handle.wait_call(timeout=20)
        handle.mock.assert_called_once_with(1)
        await until(lambda: publisher.mock.call_count)
        publisher.mock.assert_called_once_with(2)

    in_memory(broker, story, with_real=True)


def test_several_brokers_are_one_world() -> None:
    one, two = MqframeBroker(), MqframeBroker()
    got: list[int] = []

    @two.subscriber("orders")
    async def handle(value: int) -> int:
        got.append(value)
        return value * 2

    async def story():
        async with TestMqframeBroker(one, two):
            await one.publish(1, "orders")
            return await (await one.request(2, "orders")).decode()

    assert asyncio.run(story()) == 4
    assert got == [1, 2]


def test_subscribers_may_start_meanwhile() -> None:
    broker = MqframeBroker()
    got: list[int] = []

    async def story():
        subscriber = broker.subscriber("orders", persistent=False)

        @subscriber
        async def handle(value: int) -> None:
            got.append(value)

        async with subscriber:
            await broker.publish(1, "orders")

    in_memory(broker, story)
    assert got == [1]
