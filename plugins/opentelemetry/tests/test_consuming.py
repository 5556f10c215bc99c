"""Spans of processing, over a real broker: what they hang on, and what is current in the listener."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_opentelemetry import ConsumeTelemetry
from mqframe_testing.conformance import ConsumeHookConformance
from opentelemetry import baggage, trace
from opentelemetry import context as contexts
from opentelemetry.trace import SpanKind, StatusCode
from telemetry import WAIT, Listener, Told, consuming, linked, place, producing

from mqframe import (
    AsyncProducer,
    AsyncPushConsumer,
    ConsumeResult,
    ConsumerSettings,
    Message,
    ReceivedMessage,
    SimpleConsumer,
    TransactionProducer,
)


class TestConsumeTelemetry(ConsumeHookConformance):
    def make(self) -> ConsumeTelemetry:
        return Told().consume


def current_span_id() -> int:
    return trace.get_current_span().get_span_context().span_id


def test_producer_broker_and_consumer_are_one_trace(cluster) -> None:
    told = Told()
    inside: list[int] = []
    listener = Listener(inside=lambda messages: inside.append(current_span_id()))
    with (
        consuming(cluster, told, listener) as consumer,
        producing(cluster, told) as producer,
        told.tracer.start_as_current_span("checkout") as outer,
    ):
        sent = producer.send(Message("orders", b"body", tag="paid", keys=["o-1"]))
        listener.wait(1)
        client_id = consumer.client_id
    sending, processing = told.span("send orders"), told.span("process orders")
    assert processing.kind is SpanKind.CONSUMER
    assert processing.status.status_code is StatusCode.UNSET
    assert {place(sending)[0], place(processing)[0]} == {outer.get_span_context().trace_id}
    assert processing.parent.span_id == place(sending)[1]
    assert linked(processing) == [place(sending)]
    assert inside == [place(processing)[1]]
    host, _, port = cluster.broker.address.rpartition(":")
    assert dict(processing.attributes) == {
        "messaging.system": "rocketmq",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": f"{sent.queue.broker_name}:0",
        "messaging.consumer.group.name": "billing",
        "messaging.client.id": client_id,
        "messaging.message.id": sent.message_id,
        "messaging.rocketmq.consumption_model": "clustering",
        "messaging.rocketmq.message.tag": "paid",
        "messaging.rocketmq.message.keys": ("o-1",),
        "messaging.rocketmq.message.type": "normal",
        "messaging.rocketmq.attempt": 1,
        "server.address": host,
        "server.port": int(port),
    }
    assert not trace.get_current_span().get_span_context().is_valid


def test_links_alone_where_children_are_not_wanted(cluster) -> None:
    told = Told(children=False)
    listener = Listener()
    with consuming(cluster, told, listener), producing(cluster, told) as producer:
        producer.send(Message("orders", b"body"))
        listener.wait(1)
    sending, processing = told.span("send orders"), told.span("process orders")
    assert processing.parent is None
    assert place(processing)[0] != place(sending)[0]
    assert linked(processing) == [place(sending)]


def test_a_batch_links_to_what_sent_each_of_its_messages(cluster) -> None:
    told = Told()
    listener = Listener()
    with producing(cluster, told) as producer:
        producer.send_batch([Message("orders", b"%d" % n, keys=[str(n)]) for n in range(3)])
    with consuming(cluster, told, listener, batch_max=10):
        listener.wait(3)
    assert [len(call) for call in listener.calls] == [3]
    processing = told.span("process orders")
    assert processing.parent is None
    assert processing.attributes["messaging.batch.message_count"] == 3
    assert processing.attributes["messaging.rocketmq.attempt"] == 1
    assert "messaging.message.id" not in processing.attributes
    assert linked(processing) == [place(span) for span in told.spans("create orders")]
    assert [dict(link.attributes) for link in processing.links] == [
        {"messaging.message.id": message.message_id, "messaging.rocketmq.message.keys": tuple(message.keys)}
        for message in listener.calls[0]
    ]


def test_submitted_messages_are_processed_in_their_own_traces(cluster) -> None:
    told = Told()
    listener = Listener()
    with producing(cluster, told) as producer, consuming(cluster, told, listener):
        for number in range(4):
            with told.tracer.start_as_current_span("checkout"):
                producer.submit(Message("orders", b"%d" % number))
        producer.flush()
        listener.wait(4)
    traces = {place(span)[0]: place(span)[1] for span in told.spans("send orders")}
    assert len(traces) == 4
    assert {place(span)[0]: span.parent.span_id for span in told.spans("process orders")} == traces


@pytest.mark.parametrize(
    ("answer", "error_type", "events"),
    [
        (ValueError("no such customer"), "ValueError", ["exception"]),
        (ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT, "failed", []),
        (None, "null", []),
    ],
)
def test_failures_say_why_and_the_next_attempt_is_counted(cluster, answer, error_type, events) -> None:
    told = Told()
    listener = Listener(answer)
    settings = ConsumerSettings(suspend_current_queue_time_millis=10)
    with (
        producing(cluster, told) as producer,
        consuming(cluster, told, listener, ordered=True, settings=settings),
    ):
        producer.send(Message("orders", b"body"), sharding_key="customer-7")
        listener.wait(2)
    first, second = told.spans("process orders")
    assert first.status.status_code is StatusCode.ERROR
    assert first.attributes["error.type"] == error_type
    assert [event.name for event in first.events] == events
    assert second.status.status_code is StatusCode.UNSET
    assert "error.type" not in second.attributes
    assert [span.attributes["messaging.rocketmq.attempt"] for span in (first, second)] == [1, 2]
    sending = told.span("send orders")
    assert [span.parent.span_id for span in (first, second)] == [place(sending)[1]] * 2


def test_a_message_that_came_back_from_the_broker_is_of_the_same_trace(cluster) -> None:
    told = Told()
    listener = Listener(ConsumeResult.RECONSUME_LATER)

    def work(messages, context):
        context.delay_level_when_next_consume = 1
        return listener(messages, context)

    with producing(cluster, told) as producer, consuming(cluster, told, work):
        producer.send(Message("orders", b"body"))
        listener.wait(2)
    spans, sending = told.spans("process orders"), told.span("send orders")
    assert [span.attributes["messaging.rocketmq.attempt"] for span in spans] == [1, 2]
    assert [span.attributes["messaging.destination.name"] for span in spans] == ["orders"] * 2
    assert [span.parent.span_id for span in spans] == [place(sending)[1]] * 2


def test_delayed_and_transactional_messages(cluster) -> None:
    told = Told()
    listener = Listener()
    with producing(cluster, told, TransactionProducer) as producer, consuming(cluster, told, listener):
        producer.send(Message("orders", b"level"), delay_level=1)
        producer.send(Message("orders", b"timer"), delay=0.5)
        with producer.transaction(Message("orders", b"half")):
            pass
        listener.wait(3)
    kinds = {
        span.attributes["messaging.message.id"]: span.attributes["messaging.rocketmq.message.type"]
        for span in told.spans("process orders")
    }
    bodies = {call[0].message_id: call[0].body for call in listener.calls}
    assert {bodies[message_id]: kind for message_id, kind in kinds.items()} == {
        b"level": "delay",
        b"timer": "delay",
        b"half": "transaction",
    }
    parents = {span.parent.span_id for span in told.spans("process orders")}
    assert parents == {place(span)[1] for span in told.spans("send orders")}


@pytest.mark.parametrize("ordered", [False, True])
async def test_async_listeners_beside_each_other_have_each_their_own_span(cluster, ordered) -> None:
    told = Told()
    count = 4
    inside: dict[bytes, list[int]] = {}
    spans: dict[bytes, int] = {}

    all_in, done = asyncio.Event(), asyncio.Event()

    async def take(messages, context):
        inside[messages[0].body] = [current_span_id()]
        if len(inside) == count:
            all_in.set()
        if not ordered:  # all of them wait here at once
            await asyncio.wait_for(all_in.wait(), WAIT)
        await asyncio.sleep(0)
        inside[messages[0].body].append(current_span_id())
        with told.tracer.start_as_current_span("charge") as span:
            spans[messages[0].body] = span.parent.span_id
        if len(spans) == count:
            done.set()
        return ConsumeResult.SUCCESS

    async with producing(cluster, told, AsyncProducer) as producer:
        for number in range(count):
            await producer.send(Message("orders", b"%d" % number))
    consumer = AsyncPushConsumer(
        "billing",
        nameserver=cluster.nameserver,
        consume_from="first",
        ordered=ordered,
        consume_hooks=[told.consume],
    )
    consumer.subscribe("orders", "*", take)
    async with consumer:
        await asyncio.wait_for(done.wait(), WAIT)
        assert current_span_id() == 0
    processing = {place(span)[1] for span in told.spans("process orders")}
    assert len(processing) == count
    assert {each for pair in inside.values() for each in pair} == processing
    assert all(before == after for before, after in inside.values())
    assert {body: pair[0] for body, pair in inside.items()} == spans


def test_baggage_of_a_message_is_there_in_its_listener(cluster) -> None:
    told = Told()
    seen: list[object] = []
    listener = Listener(inside=lambda messages: seen.append(baggage.get_baggage("tenant")))
    with consuming(cluster, told, listener), producing(cluster, told) as producer:
        token = contexts.attach(baggage.set_baggage("tenant", "acme"))
        try:
            producer.send(Message("orders", b"body"))
        finally:
            contexts.detach(token)
        listener.wait(1)
        producer.send(Message("orders", b"body"))
        listener.wait(2)
    assert seen == ["acme", None]


def test_a_loop_of_the_application_goes_on_with_the_trace(cluster) -> None:
    told = Told()
    seen: list[ReceivedMessage] = []
    with producing(cluster, told) as producer:
        producer.send(Message("orders", b"one"))
        producer.send(Message("orders", b"two"))
    simple = SimpleConsumer("billing", nameserver=cluster.nameserver, consume_from="first")
    simple.subscribe("orders")
    with simple:
        while len(seen) < 2:
            for message in simple.receive(10):
                with told.consume.process(message, group="billing") as span:
                    assert trace.get_current_span() is span
                    seen.append(message)
                simple.ack(message)
    sending, processing = told.spans("send orders"), told.spans("process orders")
    assert [span.parent.span_id for span in processing] == [place(span)[1] for span in sending]
    assert [linked(span) for span in processing] == [[place(span)] for span in sending]
    assert {span.attributes["messaging.consumer.group.name"] for span in processing} == {"billing"}
    with pytest.raises(KeyError, match="customer"), told.consume.process(seen):
        raise KeyError("customer")
    both = told.spans("process orders")[-1]
    assert linked(both) == [place(span) for span in sending]
    assert both.attributes["error.type"] == "KeyError"
    with pytest.raises(ValueError, match="at least one message"), told.consume.process([]):
        pass


def test_in_the_scope_of_another_span_it_is_a_child_of_that_one(cluster) -> None:
    told = Told()
    listener = Listener()
    with producing(cluster, told) as producer, consuming(cluster, told, listener):
        producer.send(Message("orders", b"body"))
        listener.wait(1)
    [message] = listener.calls[0]
    with told.tracer.start_as_current_span("poll") as ambient, told.consume.process(message) as span:
        pass
    assert span.parent.span_id == ambient.get_span_context().span_id
    assert linked(span) == [place(told.span("send orders"))]


def test_metrics_of_processing(cluster) -> None:
    told = Told()
    listener = Listener(ValueError("no"))
    settings = ConsumerSettings(suspend_current_queue_time_millis=10)
    with (
        producing(cluster, told) as producer,
        consuming(cluster, told, listener, ordered=True, settings=settings),
    ):
        producer.send(Message("orders", b"body"))
        listener.wait(2)
    [consumed] = told.points("messaging.client.consumed.messages")
    assert consumed.value == 2
    assert consumed.attributes["messaging.consumer.group.name"] == "billing"
    durations = told.points("messaging.process.duration")
    found = {point.attributes.get("error.type"): point.count for point in durations}
    assert found == {"ValueError": 1, None: 1}
    assert "messaging.rocketmq.attempt" not in durations[0].attributes
