"""The stand-in for a broker."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from faststream import Path
from faststream.exceptions import RejectMessage, SubscriberNotFound
from mqframe_faststream import (
    MqframeBroker,
    MqframeMessage,
    MqframeResponse,
    OptionError,
    ReplyTimeout,
    TestMqframeBroker,
)
from pydantic import ValidationError

from mqframe import MessageError, MessageQueue, RequestFailed


@asynccontextmanager
async def in_memory(broker, **options):
    async with TestMqframeBroker(broker, **options):
        yield


async def test_tags_and_expressions_choose_as_the_server_does() -> None:
    broker = MqframeBroker()
    got: list[tuple[str, int]] = []

    @broker.subscriber("orders", group="a", tags=["paid", "refunded"])
    async def by_tag(value: int) -> None:
        got.append(("tag", value))

    @broker.subscriber("orders", group="b", sql="amount > 100")
    async def by_sql(value: int) -> None:
        got.append(("sql", value))

    async with in_memory(broker):
        await broker.publish(1, "orders", tag="paid", headers={"amount": 50})
        await broker.publish(2, "orders", tag="open", headers={"amount": 500}, delay=timedelta(days=1))
        await broker.publish(3, "elsewhere", tag="paid")
        await broker.publish(4, "orders", tag="refunded", oneway=True)
    assert got == [("tag", 1), ("sql", 2), ("tag", 4)]


async def test_handlers_get_what_they_would_get() -> None:
    broker = MqframeBroker()

    @broker.subscriber("orders")
    async def handle(value: str, message: MqframeMessage) -> None:
        assert (message.tag, message.keys, message.topic) == ("t", ["k"], "orders")
        assert (message.correlation_id, message.reconsume_times) == ("c", 0)
        assert message.headers["h"] == "1"

    async with in_memory(broker):
        sent = await broker.publish("x", "orders", tag="t", keys="k", correlation_id="c", headers={"h": 1})
        assert (sent.queue.topic, sent.queue_offset, (await broker.publish("y", "nobody")).queue_offset) == (
            "orders",
            0,
            1,
        )


async def test_what_handlers_raise_who_publishes_raises() -> None:
    broker = MqframeBroker()

    @broker.subscriber("orders")
    async def handle(value: int) -> None:
        raise KeyError("no")

    async with in_memory(broker):
        with pytest.raises(KeyError, match="no"):
            await broker.publish(1, "orders")
        with pytest.raises(ValidationError):
            await broker.publish("many", "orders")


async def test_what_a_broker_would_refuse_is_refused() -> None:
    broker = MqframeBroker()
    async with in_memory(broker):
        with pytest.raises(MessageError, match="may hold only"):
            await broker.publish(1, "a.b")
        with pytest.raises(MessageError, match="when packed, 4194304 are allowed"):
            await broker.publish(random.Random(3).randbytes(5_000_000), "orders")
        await broker.publish(b"z" * 5_000_000, "orders")
        with pytest.raises(MessageError, match="belongs to the system"):
            await broker.publish(1, "orders", headers={"KEYS": "x"})
        with pytest.raises(OptionError, match="a request cannot be delayed"):
            await broker.request(1, "orders", delay=1)


async def test_batches_come_in_portions() -> None:
    broker = MqframeBroker()
    got: list[object] = []

    @broker.subscriber("orders", group="a", batch=True, max_records=2)
    async def several(values: list[int]) -> None:
        got.append(values)

    @broker.subscriber("orders", group="b", tags="t")
    async def single(value: int) -> None:
        got.append(value)

    async with in_memory(broker):
        await broker.publish_batch(1, MqframeResponse(2, tag="t"), 3, topic="orders")
        await broker.publish(4, "orders")
    assert sorted(got, key=str) == [2, [1, 2], [3], [4]]


async def test_requests_are_answered() -> None:
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

    async with in_memory(broker):
        reply = await broker.request(21, "double", correlation_id="c")
        for topic in ("silent", "slow"):
            with pytest.raises(ReplyTimeout, match=topic):
                await broker.request(1, topic, timeout=0.01)
        with pytest.raises(SubscriberNotFound):
            await broker.request(1, "nobody")
        assert (await reply.decode(), reply.tag, reply.headers["h"], reply.correlation_id) == (
            42,
            "answer",
            "1",
            "c",
        )


async def test_rejected_requests_fail_as_they_would() -> None:
    broker = MqframeBroker()

    @broker.subscriber("tea")
    async def handle(value: str, message: MqframeMessage) -> str:
        if value == "tea?":
            raise RejectMessage
        await message.reject()
        return "answered all the same"

    async with in_memory(broker):
        with pytest.raises(RequestFailed, match="its handler rejected it"):
            await broker.request("tea?", "tea", timeout=5)
        reply = await broker.request("coffee?", "tea", timeout=5)
        assert await reply.decode() == "answered all the same"


async def test_patterns_choose_topics_and_who_names_one_has_it() -> None:
    broker = MqframeBroker(group="g")
    got: list[object] = []

    @broker.subscriber(pattern="orders-{region}")
    async def meant(value: int, region: str = Path()) -> str:
        got.append((region, value))
        return region

    @broker.subscriber("orders-us")
    async def named(value: int) -> None:
        got.append(("named", value))

    @broker.subscriber(pattern="{all}s-*")
    async def less(value: int) -> None:
        got.append(("less", value))

    @broker.subscriber(pattern="*-us", group="other")
    async def other(value: int) -> None:
        got.append(("other", value))

    publisher = broker.publisher("orders-asia")
    async with in_memory(broker):
        await broker.publish(1, "orders-eu")
        await broker.publish(2, "orders-us")
        await broker.publish(3, "bills-eu")
        assert await (await broker.request(4, "orders-eu")).decode() == "eu"
        await publisher.publish(5)
        publisher.mock.assert_called_once_with(5)
    assert got == [("eu", 1), ("named", 2), ("other", 2), ("less", 3), ("eu", 4), ("asia", 5)]


async def test_named_queues_get_what_is_sent_to_them() -> None:
    broker = MqframeBroker()
    queues = [MessageQueue("orders", "broker-a", number) for number in range(2)]
    got: list[object] = []

    @broker.subscriber(queues={queues[0]: 17})
    async def first(value: int, message: MqframeMessage) -> int:
        raw = message.messages[0]
        got.append((value, raw.broker_name, raw.queue_id))
        return value

    async with in_memory(broker):
        sent = await broker.publish(1, "orders", queue=queues[0])
        await broker.publish(2, "orders", queue=queues[1])
        await broker.publish(3, "orders")
        await broker.publish_batch(4, topic="orders", queue=queues[1])
        assert await (await broker.request(5, "orders", queue=queues[0])).decode() == 5
    assert sent.queue == queues[0]
    assert got == [(1, "broker-a", 0), (3, "memory", 0), (5, "broker-a", 0)]


async def test_publishers_record_what_they_publish() -> None:
    broker = MqframeBroker()

    @broker.subscriber("orders")
    @broker.publisher("bills", tag="new")
    async def bill(value: int) -> str:
        return f"bill {value}"

    @broker.subscriber("bills", tags="old")
    async def never(value: str) -> None:
        raise AssertionError("the tag is another one")

    publisher = next(each for each in broker.publishers if each.topic == "bills")
    async with in_memory(broker):
        await broker.publish(1, "orders")
        publisher.mock.assert_called_once_with("bill 1")
        assert never.mock.call_count == 0


async def test_a_real_broker_records_calls_too(make, topic, until) -> None:
    broker = make()

    @broker.subscriber(topic)
    @broker.publisher(f"{topic}-out")
    async def handle(value: int) -> int:
        return value + 1

    publisher = broker.publishers[0]
    async with in_memory(broker, with_real=True):
        await broker.publish(1, topic)
        await handle.wait_call(timeout=20)
        handle.mock.assert_called_once_with(1)
        await until(lambda: publisher.mock.call_count)
        publisher.mock.assert_called_once_with(2)


async def test_several_brokers_are_one_world() -> None:
    one, two = MqframeBroker(), MqframeBroker()
    got: list[int] = []

    @two.subscriber("orders")
    async def handle(value: int) -> int:
        got.append(value)
        return value * 2

    async with TestMqframeBroker(one, two):
        await one.publish(1, "orders")
        assert (await (await one.request(2, "orders")).decode()) == 4
    assert got == [1, 2]


async def test_subscribers_may_start_meanwhile() -> None:
    broker = MqframeBroker()
    got: list[int] = []
    async with in_memory(broker):
        subscriber = broker.subscriber("orders", persistent=False)

        @subscriber
        async def handle(value: int) -> None:
            got.append(value)

        async with subscriber:
            await broker.publish(1, "orders")
    assert got == [1]
