"""Handlers of one topic that are told apart by tags."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_testing import Stage
from mqframe_testing.consuming import received

from mqframe import (
    ConsumeResult,
    ConsumerSettings,
    FixError,
    Message,
    Producer,
    PushConsumer,
    Sql,
)
from mqframe.client.consuming.push.listener import ListenedTopic, subscription
from mqframe.client.consuming.push.routes import routed


def paid(message: Any) -> None: ...
def refunded(message: Any) -> None: ...
def listen(messages: Any, context: Any) -> ConsumeResult:
    return ConsumeResult.SUCCESS


def of(expression: str | Sql, function: Any, version: int = 1) -> ListenedTopic:
    return subscription("orders", expression, function, None, version, usual_max=8)


def join(*each: ListenedTopic) -> ListenedTopic:
    first, *others = each
    for other in others:
        first = routed(first, other, asyncio.get_running_loop)
    return first


def test_the_subscription_is_for_the_tags_of_all() -> None:
    one, two, three = of("paid || partly", paid), of("refunded", refunded, 2), of("lost", listen, 3)
    joined = join(one, two, three)
    assert joined.filter.expression == "paid || partly || refunded || lost"
    assert joined.version == 3
    tags = {"paid": one, "partly": one, "refunded": two, "lost": three, "unknown": joined, "": joined}
    for tag, meant in tags.items():
        properties = {"TAGS": tag} if tag else {}
        assert joined.of(received(0, **properties)) is meant
    assert one.of(received(0, TAGS="refunded")) is one


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("paid", "paid || lost", "both want the tag 'paid'"),
        ("*", "paid", r"wants '\*'"),
        ("paid", "*", r"wants '\*'"),
        (Sql("a > 1"), "paid", "wants 'a > 1'"),
        ("paid", Sql("a > 1"), "wants 'a > 1'"),
    ],
)
def test_what_cannot_be_told_apart_is_refused_where_it_is_declared(first: Any, second: Any, why: str) -> None:
    consumer = PushConsumer("billing", nameserver="127.0.0.1:1")
    consumer.on("orders", first)(paid)
    with pytest.raises(FixError, match=why) as caught:
        consumer.on("orders", second)(refunded)
    assert f"{__name__}:paid" in str(caught.value)
    assert f"{__name__}:refunded" in str(caught.value)


@pytest.mark.parametrize("ordered", [False, True], ids=["concurrent", "ordered"])
@pytest.mark.parametrize("mixed", [False, True], ids=["threads", "threads and tasks"])
def test_each_message_goes_to_its_handler_and_comes_again_to_it(
    mqframe_stage: Stage, mqframe_producer: Producer, ordered: bool, mixed: bool
) -> None:
    mqframe_stage.create_topic("orders")
    settings = ConsumerSettings(consume_threads=1, max_reconsume_times=3)
    consumer = PushConsumer(
        "billing",
        nameserver=mqframe_stage.nameserver,
        consume_from="first",
        ordered=ordered,
        settings=settings,
    )
    seen: list[tuple[str, bytes]] = []

    @consumer.on("orders", "paid")
    def bill(message: Any) -> None:
        seen.append(("paid", message.body))
        if message.body == b"2" and not message.reconsume_times:
            raise ConnectionError("the bank is away")

    def noted(message: Any) -> None:
        seen.append(("refunded", message.body))

    async def noted_async(message: Any) -> None:
        noted(message)

    consumer.on("orders", "refunded || partly")(noted_async if mixed else noted)
    for number, tag in enumerate(("paid", "refunded", "paid", "nobody's", "partly")):
        mqframe_producer.send(Message("orders", b"%d" % number, tag=tag), sharding_key="one queue")
    with consumer:
        mqframe_stage.settle()
        mqframe_stage.advance(30)
    assert [body for name, body in seen if name == "refunded"] == [b"1", b"4"]
    assert [body for name, body in seen if name == "paid"] == [b"0", b"2", b"2"]
    if ordered:
        assert [body for _, body in seen] == [b"0", b"1", b"2", b"2", b"4"]


def test_batches_hold_messages_of_one_handler_alone(mqframe_stage: Stage, mqframe_producer: Producer) -> None:
    mqframe_stage.create_topic("orders")
    consumer = PushConsumer("billing", nameserver=mqframe_stage.nameserver, consume_from="first")
    batches: list[tuple[str, list[bytes]]] = []

    @consumer.on("orders", "a", batch_max=8)
    def first(messages: Any, context: Any) -> ConsumeResult:
        batches.append(("a", [each.body for each in messages]))
        return ConsumeResult.SUCCESS

    @consumer.on("orders", "b", batch_max=8)
    def second(messages: Any, context: Any) -> ConsumeResult:
        batches.append(("b", [each.body for each in messages]))
        return ConsumeResult.SUCCESS

    for number in range(12):
        tag = "aab"[number % 3]
        mqframe_producer.send(Message("orders", b"%d" % number, tag=tag), sharding_key="one queue")
    with consumer:
        mqframe_stage.settle()
    for tag, expected in (("a", [0, 1, 3, 4, 6, 7, 9, 10]), ("b", [2, 5, 8, 11])):
        bodies = [body for name, batch in batches for body in batch if name == tag]
        assert sorted(map(int, bodies)) == expected


def test_a_handler_may_be_added_while_the_consumer_runs(
    mqframe_stage: Stage, mqframe_producer: Producer
) -> None:
    mqframe_stage.create_topic("orders")
    seen: list[tuple[str, bytes]] = []

    consumer = PushConsumer("billing", nameserver=mqframe_stage.nameserver, consume_from="first")
    consumer.on("orders", "paid")(lambda message: seen.append(("paid", message.body)))
    with consumer:
        mqframe_producer.send(Message("orders", b"1", tag="paid"))
        mqframe_stage.settle()
        consumer.on("orders", "refunded")(lambda message: seen.append(("refunded", message.body)))
        mqframe_stage.advance(40)  # pulls that wait for what was wanted before are over
        mqframe_producer.send(Message("orders", b"2", tag="refunded"))
        mqframe_producer.send(Message("orders", b"3", tag="paid"))
        mqframe_stage.settle()
    assert sorted(seen) == [("paid", b"1"), ("paid", b"3"), ("refunded", b"2")]


def test_subscribe_replaces_all_handlers_of_a_topic() -> None:
    consumer = PushConsumer("billing", nameserver="127.0.0.1:1")
    consumer.on("orders", "paid")(paid)
    consumer.subscribe("orders", "*", refunded)
    with pytest.raises(FixError, match="cannot be told apart"):
        consumer.on("orders", "paid")(paid)
