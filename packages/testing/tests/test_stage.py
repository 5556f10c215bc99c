"""A broker whose time the test moves, under consumers that live in real time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.stage import AsyncStage, NotSettled, Stage

from mqframe import (
    Admin,
    AsyncProducer,
    AsyncPushConsumer,
    ConsumeResult,
    ConsumerSettings,
    FixError,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    SimpleConsumer,
    SubscriptionGroupConfig,
)

Consumers = Callable[..., PushConsumer]


class Noting:
    """A handler that fails so many times, and notes when it was called."""

    def __init__(self, clock: ManualClock, failures: int = 0) -> None:
        self.clock = clock
        self.failures = failures
        self.calls: list[tuple[bytes, float]] = []

    def __call__(self, message: ReceivedMessage) -> None:
        self.calls.append((message.body, round(self.clock.monotonic(), 3)))
        if len(self.calls) <= self.failures:
            raise ValueError("not yet")

    @property
    def gaps(self) -> list[float]:
        times = [at for _, at in self.calls]
        return [round(after - before, 2) for before, after in pairwise(times)]


def test_what_fails_comes_again_after_exact_gaps(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    mqframe_stage.create_topic("orders", 1)
    handle = Noting(mqframe_stage.clock, failures=4)
    consumer = mqframe_consumer("billing")
    consumer.subscribe("orders", "*", handle)
    consumer.start()
    mqframe_producer.send(Message("orders", b"one"))
    mqframe_stage.settle()
    assert len(handle.calls) == 1
    mqframe_stage.advance(9.9)
    assert len(handle.calls) == 1
    mqframe_stage.advance(10 + 30 + 60 + 120)
    assert handle.gaps == [10, 30, 60, 120]


@pytest.mark.parametrize(("named", "gaps"), [(-1, [10]), (3, [10, 30, 60])])
def test_a_group_says_how_often_what_fails_comes_again_unless_its_consumer_does(
    mqframe_stage: Stage,
    mqframe_producer: Producer,
    mqframe_consumer: Consumers,
    named: int,
    gaps: list[float],
) -> None:
    mqframe_stage.create_topic("orders", 1)
    with Admin(nameserver=mqframe_stage.nameserver) as admin:
        admin.groups.create(SubscriptionGroupConfig("billing", retry_max_times=1))
    handle = Noting(mqframe_stage.clock, failures=99)
    consumer = mqframe_consumer("billing", settings=ConsumerSettings(max_reconsume_times=named))
    consumer.subscribe("orders", "*", handle)
    consumer.start()
    mqframe_producer.send(Message("orders", b"one"))
    mqframe_stage.settle()
    mqframe_stage.advance(1000)
    assert handle.gaps == gaps
    assert [each.body for each in mqframe_stage.stored("%DLQ%billing")] == [b"one"]


def test_a_slow_listener_is_waited_for(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    mqframe_stage.create_topic("orders", 2)
    done: list[bytes] = []
    consumer = mqframe_consumer("billing")

    @consumer.on("orders")
    def slow(message: ReceivedMessage) -> None:
        time.sleep(0.05)
        done.append(message.body)

    consumer.start()
    for number in range(6):
        mqframe_producer.send(Message("orders", b"%d" % number))
    mqframe_stage.settle()
    assert sorted(done) == [b"%d" % number for number in range(6)]


def test_what_one_handler_sends_is_consumed_by_the_next(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    for topic in ("orders", "invoices"):
        mqframe_stage.create_topic(topic, 2)
    billing, archive = mqframe_consumer("billing"), mqframe_consumer("archive")
    kept: list[bytes] = []

    @billing.on("orders")
    def bill(message: ReceivedMessage) -> None:
        mqframe_producer.send(Message("invoices", message.body))

    @archive.on("invoices")
    def keep(message: ReceivedMessage) -> None:
        kept.append(message.body)

    billing.start()
    archive.start()
    for number in range(5):
        mqframe_producer.send(Message("orders", b"%d" % number))
    mqframe_stage.settle()
    assert sorted(kept) == [b"%d" % number for number in range(5)]
    assert [each.body for each in mqframe_stage.stored("orders")] == [b"%d" % number for number in range(5)]


def test_delays_wait_for_the_clock(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    mqframe_stage.create_topic("reminders", 1)
    handle = Noting(mqframe_stage.clock)
    consumer = mqframe_consumer("mailer")
    consumer.subscribe("reminders", "*", handle)
    consumer.start()
    mqframe_producer.send(Message("reminders", b"level"), delay_level=2)
    mqframe_producer.send(Message("reminders", b"span"), delay=timedelta(minutes=5))
    at = datetime.fromtimestamp(mqframe_stage.clock.now_ms() / 1000, UTC) + timedelta(minutes=10)
    mqframe_producer.send(Message("reminders", b"moment"), deliver_at=at)
    mqframe_stage.advance(4)
    assert handle.calls == []
    mqframe_stage.advance(600)
    assert [body for body, _ in handle.calls] == [b"level", b"span", b"moment"]
    level, span, moment = (seconds for _, seconds in handle.calls)
    assert (level, 300 <= span <= 301.5, 600 <= moment <= 601.5) == (5, True, True)


def test_new_members_and_filters_count(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    mqframe_stage.create_topic("orders", 2)
    paid: list[str] = []
    for tag in ("paid", "open", "paid", "open"):
        mqframe_producer.send(Message("orders", tag.encode(), tag=tag))
    for _ in range(2):
        member = mqframe_consumer("billing")
        member.subscribe("orders", "paid", lambda message: paid.append(message.message_id))
        member.start()
    mqframe_stage.wait_consumed("billing")
    # What the first member had not committed when the second one came may come twice.
    assert set(paid) == {each.message_id for each in mqframe_stage.stored("orders") if each.tag == "paid"}


def test_consumers_that_begin_with_the_newest_settle(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    mqframe_stage.create_topic("orders", 2)
    mqframe_producer.send(Message("orders", b"before"))
    seen: list[bytes] = []
    consumer = mqframe_consumer("late", consume_from="last")
    consumer.subscribe("orders", "*", lambda message: seen.append(message.body))
    consumer.start()
    mqframe_stage.settle()
    for number in range(4):
        mqframe_producer.send(Message("orders", b"%d" % number))
    mqframe_stage.settle()
    # A queue that the broker still holds whole is read from its beginning all the same.
    assert sorted({*seen, b"before"}) == [b"0", b"1", b"2", b"3", b"before"]


def test_broadcasting_members_all_count(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers, tmp_path
) -> None:
    from mqframe import ClientSettings, ConsumerSettings

    mqframe_stage.create_topic("prices", 2)
    seen: list[bytes] = []
    for name in ("one", "two"):
        member = mqframe_consumer(
            "shops",
            broadcasting=True,
            client=ClientSettings(instance_name=name),
            settings=ConsumerSettings(offset_directory=tmp_path),
        )
        member.subscribe("prices", "*", lambda message: seen.append(message.body))
        member.start()
    mqframe_producer.send(Message("prices", b"tea 3"))
    mqframe_stage.settle()
    assert seen == [b"tea 3", b"tea 3"]


def test_a_member_stays_over_hours_and_simple_consumers_get_their_messages_again(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    mqframe_stage.create_topic("orders", 1)
    seen: list[bytes] = []
    push = mqframe_consumer("billing")
    push.subscribe("orders", "*", lambda message: seen.append(message.body))
    push.start()
    with SimpleConsumer(
        "jobs", nameserver=mqframe_stage.nameserver, consume_from="first", await_duration=0
    ) as jobs:
        jobs.subscribe("orders")
        mqframe_producer.send(Message("orders", b"one"))
        first = [each.body for each in jobs.receive(invisible_duration=60)]
        mqframe_stage.advance(59)
        assert jobs.receive() == []
        mqframe_stage.advance(11)
        again = [each.body for each in jobs.receive()]
    assert (first, again, seen) == ([b"one"], [b"one"], [b"one"])
    mqframe_stage.advance(600)
    mqframe_producer.send(Message("orders", b"two"))
    mqframe_stage.settle()
    assert seen == [b"one", b"two"]


def test_what_does_not_end_is_named(
    mqframe_stage: Stage, mqframe_producer: Producer, mqframe_consumer: Consumers
) -> None:
    mqframe_stage.create_topic("orders", 1)
    gate = threading.Event()
    consumer = mqframe_consumer("billing")

    @consumer.on("orders")
    def hangs(message: ReceivedMessage) -> None:
        gate.wait(60)

    consumer.start()
    mqframe_producer.send(Message("orders", b"one"))
    try:
        with pytest.raises(NotSettled, match="group billing has 1 messages at work of queue 0 of orders"):
            mqframe_stage.settle(timeout=0.5)
        with pytest.raises(NotSettled, match="nobody of group shipping is online"):
            mqframe_stage.wait_consumed("shipping", timeout=0.1)
    finally:
        gate.set()
    mqframe_stage.settle()


async def test_asyncio_applications_have_one_in_their_loop() -> None:
    async with AsyncStage() as stage:
        await stage.create_topic("orders", 1)
        handle = Noting(stage.clock, failures=2)
        consumer = AsyncPushConsumer("billing", nameserver=stage.nameserver, consume_from="first")

        @consumer.on("orders", batch_max=4)
        async def listen(messages, context) -> ConsumeResult:
            for message in messages:
                handle(message)
            return ConsumeResult.SUCCESS

        async with consumer, AsyncProducer("shop", nameserver=stage.nameserver) as producer:
            await producer.send(Message("orders", b"one"))
            await stage.settle()
            await stage.advance(40)
        assert handle.gaps == [10, 30]


def test_it_is_used_in_a_with_block() -> None:
    with pytest.raises(Exception, match="the stage was not started") as caught:
        Stage().settle()
    assert not isinstance(caught.value, FixError)
