"""Spans and contexts of every way to send, over a real broker."""

from __future__ import annotations

import asyncio
import random

import pytest
from mqframe_opentelemetry import SendTelemetry
from mqframe_opentelemetry.propagation import creation_context
from mqframe_testing.conformance import SendHookConformance
from opentelemetry import baggage, trace
from opentelemetry import context as contexts
from opentelemetry.trace import SpanKind, StatusCode
from telemetry import Told, linked, place, producing

from mqframe import (
    Admin,
    AsyncProducer,
    BatchTransactionProducer,
    Message,
    RouteError,
    TransactionProducer,
)
from mqframe.core.errors import CallTimeout
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.message import MessageQueue, SendResult, SendStatus
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.hooks.interfaces import SendContext, SendOperation
from mqframe.hooks.isolate import prepare_each

QUEUE = MessageQueue("orders", "broker-a", 0)


class TestSendTelemetry(SendHookConformance):
    def make(self) -> SendTelemetry:
        return Told().send


class TestWithoutMetricsAndCreateSpans(SendHookConformance):
    def make(self) -> SendTelemetry:
        return Told(metrics=False, create_spans=False).send


def brought(cluster, result: SendResult) -> tuple[int, int] | None:
    """Trace and span that the stored message brings."""
    with Admin(nameserver=cluster.nameserver) as admin:
        context = creation_context(admin.messages.by_id(result.offset_message_id))
    return None if context is None else (context.trace_id, context.span_id)


def test_a_send_is_a_span_of_the_current_trace_whose_context_goes_along(cluster) -> None:
    told = Told()
    message = Message("orders", b"body", tag="paid", keys=["o-1", "o-2"], properties={"colour": "green"})
    with producing(cluster, told) as producer:
        with told.tracer.start_as_current_span("checkout") as outer:
            result = producer.send(message)
        client_id = producer.client_id
    assert message.properties == {"colour": "green"}
    span = told.span("send orders")
    assert span.kind is SpanKind.PRODUCER
    assert span.status.status_code is StatusCode.UNSET
    assert span.parent is not None
    assert span.parent.span_id == outer.get_span_context().span_id
    host, _, port = cluster.broker.address.rpartition(":")
    assert dict(span.attributes) == {
        "messaging.system": "rocketmq",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": f"{result.queue.broker_name}:{result.queue.queue_id}",
        "messaging.client.id": client_id,
        "messaging.message.id": result.message_id,
        "messaging.rocketmq.message.tag": "paid",
        "messaging.rocketmq.message.keys": ("o-1", "o-2"),
        "messaging.rocketmq.message.type": "normal",
        "server.address": host,
        "server.port": int(port),
    }
    assert brought(cluster, result) == place(span)
    with Admin(nameserver=cluster.nameserver) as admin:
        assert admin.messages.by_id(result.offset_message_id).properties["colour"] == "green"


def test_options_say_what_is_told(cluster) -> None:
    told = Told(tag=False, keys=False, body_size=True, namespace="shop-eu", metrics=False)
    with producing(cluster, told) as producer:
        producer.send(Message("orders", b"body", tag="paid", keys=["o-1"]))
    attributes = told.span("send orders").attributes
    assert "messaging.rocketmq.message.tag" not in attributes
    assert "messaging.rocketmq.message.keys" not in attributes
    assert attributes["messaging.message.body.size"] == 4
    assert attributes["messaging.rocketmq.namespace"] == "shop-eu"
    assert told.points("messaging.client.sent.messages") == []


def test_baggage_goes_along(cluster) -> None:
    told = Told()
    token = contexts.attach(baggage.set_baggage("tenant", "acme"))
    try:
        with producing(cluster, told) as producer:
            result = producer.send(Message("orders", b"body"))
    finally:
        contexts.detach(token)
    with Admin(nameserver=cluster.nameserver) as admin:
        assert admin.messages.by_id(result.offset_message_id).properties["baggage"] == "tenant=acme"


def test_a_context_that_a_message_brings_already_is_kept_and_linked(cluster) -> None:
    told = Told()
    theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with producing(cluster, told) as producer:
        result = producer.send(Message("orders", b"body", properties={"traceparent": theirs}))
    span = told.span("send orders")
    assert span.kind is SpanKind.CLIENT
    assert linked(span) == [(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)]
    assert brought(cluster, result) == linked(span)[0]


def test_each_message_of_a_batch_has_a_span_that_the_send_links_to(cluster) -> None:
    told = Told()
    with producing(cluster, told) as producer, told.tracer.start_as_current_span("checkout") as outer:
        result = producer.send_batch(
            [
                Message("orders", b"one", tag="paid", keys=["1"]),
                Message("orders", b"two", tag="paid", keys=["2"]),
            ]
        )
    created, sent = told.spans("create orders"), told.span("send orders")
    assert [span.kind for span in created] == [SpanKind.PRODUCER] * 2
    assert [dict(span.attributes)["messaging.rocketmq.message.keys"] for span in created] == [("1",), ("2",)]
    assert {span.parent.span_id for span in [*created, sent]} == {outer.get_span_context().span_id}
    assert sent.kind is SpanKind.CLIENT
    assert linked(sent) == [place(span) for span in created]
    assert sent.attributes["messaging.batch.message_count"] == 2
    # What both have is told of the send, the rest of each link.
    assert sent.attributes["messaging.rocketmq.message.tag"] == "paid"
    assert "messaging.rocketmq.message.keys" not in sent.attributes
    assert [dict(link.attributes) for link in sent.links] == [
        {"messaging.rocketmq.message.keys": ("1",)},
        {"messaging.rocketmq.message.keys": ("2",)},
    ]
    with Admin(nameserver=cluster.nameserver) as admin:
        ids = result.message_id.split(",")
        found = [admin.messages.by_unique_key("orders", each) for each in ids]
    assert [place(span)[1] for span in created] == [creation_context(each).span_id for each in found]


def test_a_batch_without_create_spans_brings_the_context_of_the_send(cluster) -> None:
    told = Told(create_spans=False)
    with producing(cluster, told) as producer:
        result = producer.send_batch([Message("orders", b"one"), Message("orders", b"two")])
    assert told.spans("create orders") == []
    sent = told.span("send orders")
    assert sent.kind is SpanKind.PRODUCER
    assert linked(sent) == []
    with Admin(nameserver=cluster.nameserver) as admin:
        ids = result.message_id.split(",")
        found = [creation_context(admin.messages.by_unique_key("orders", each)) for each in ids]
    assert [each.span_id for each in found] == [place(sent)[1]] * 2


def check_submitted(told: Told, cluster, results: list[SendResult]) -> None:
    spans = told.spans("send orders")
    assert [span.attributes["messaging.message.id"] for span in spans] == [r.message_id for r in results]
    assert all(span.kind is SpanKind.PRODUCER for span in spans)
    assert all("messaging.batch.message_count" not in span.attributes for span in spans)
    assert [span.parent.span_id for span in spans] == [place(span)[1] for span in told.spans("checkout")]
    with Admin(nameserver=cluster.nameserver) as admin:
        found = [admin.messages.by_unique_key("orders", r.message_id) for r in results]
    assert [creation_context(each).span_id for each in found] == [place(span)[1] for span in spans]


def test_submitted_messages_have_a_span_each_in_the_trace_that_submitted_them(cluster) -> None:
    told = Told()
    futures = []
    with producing(cluster, told) as producer:
        for number in range(5):
            with told.tracer.start_as_current_span("checkout"):
                futures.append(producer.submit(Message("orders", b"%d" % number)))
        results = [future.result(30) for future in futures]
    check_submitted(told, cluster, results)


async def test_messages_that_tasks_submit_likewise(cluster) -> None:
    told = Told()
    futures = []
    async with producing(cluster, told, AsyncProducer) as producer:
        for number in range(5):
            with told.tracer.start_as_current_span("checkout"):
                futures.append(await producer.submit(Message("orders", b"%d" % number)))
        check_submitted(told, cluster, (await asyncio.gather(*futures)))


async def test_an_asyncio_send_takes_the_trace_of_its_task(cluster) -> None:
    told = Told()

    async def checkout(producer, number: int) -> tuple[int, SendResult]:
        with told.tracer.start_as_current_span("checkout") as span:
            return span.get_span_context().span_id, await producer.send(Message("orders", b"%d" % number))

    async with producing(cluster, told, AsyncProducer) as producer:
        outcome = {
            result.message_id: outer
            for outer, result in (await asyncio.gather(*[checkout(producer, number) for number in range(5)]))
        }
    spans = told.spans("send orders")
    assert {span.attributes["messaging.message.id"]: span.parent.span_id for span in spans} == outcome


def test_kinds_of_messages(cluster) -> None:
    told = Told()
    with producing(cluster, told) as producer:
        producer.send(Message("orders", b"level"), delay_level=3)
        producer.send(Message("orders", b"later"), delay=3600)
        producer.send(Message("orders", b"in order"), sharding_key="customer-7")
        producer.send_oneway(Message("orders", b"oneway"))
    level, later, fifo, oneway = (dict(span.attributes) for span in told.spans("send orders"))
    assert level["messaging.rocketmq.message.type"] == later["messaging.rocketmq.message.type"] == "delay"
    assert level["messaging.rocketmq.message.delay_time_level"] == 3
    due = later["messaging.rocketmq.message.delivery_timestamp"]
    began = told.spans("send orders")[1].start_time / 1e6
    assert due == pytest.approx(began + 3_600_000, abs=60_000)
    assert fifo["messaging.rocketmq.message.type"] == "fifo"
    assert fifo["messaging.rocketmq.message.group"] == "customer-7"
    assert oneway["messaging.rocketmq.message.type"] == "normal"
    assert "messaging.message.id" in oneway


def test_half_messages(cluster) -> None:
    told = Told()
    with (
        producing(cluster, told, TransactionProducer) as producer,
        told.tracer.start_as_current_span("checkout") as outer,
        producer.transaction(Message("orders", b"half")) as transaction,
    ):
        assert creation_context(transaction.message) is not None
    span = told.span("send orders")
    assert span.attributes["messaging.rocketmq.message.type"] == "transaction"
    assert span.parent.span_id == outer.get_span_context().span_id
    assert creation_context(transaction.message).span_id == place(span)[1]


def test_half_batches_and_encoded_messages_have_a_span(cluster) -> None:
    told = Told()
    elements = encode_element(b"one", b"UNIQ_KEY\x01A1\x02") + encode_element(b"two", b"UNIQ_KEY\x01A2\x02")
    options = {"check": lambda half: TransactionOutcome.UNKNOWN}
    with producing(cluster, told, BatchTransactionProducer, **options) as producer:
        halves = producer.prepare("orders", elements, 2)
        producer.end(halves, TransactionOutcome.COMMIT)
        half = told.span("send orders")
        assert half.attributes["messaging.rocketmq.message.type"] == "transaction"
        producer.send_encoded("orders", elements)
    encoded = told.spans("send orders")[1]
    assert encoded.kind is SpanKind.CLIENT
    assert encoded.attributes["messaging.batch.message_count"] == 2
    assert [point.value for point in told.points("messaging.client.sent.messages")] == [3]


def test_what_fails_says_why_and_nothing_that_stayed_here_counts_as_sent(cluster) -> None:
    told = Told()
    nowhere = MessageQueue("orders", "no-such-broker", 0)
    with producing(cluster, told) as producer, pytest.raises(RouteError):
        producer.send(Message("orders", b"body"), queue=nowhere, timeout=5.0)
    span = told.span("send orders")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "mqframe.core.errors.RouteError"
    assert [event.name for event in span.events] == ["exception"]
    [duration] = told.points("messaging.client.operation.duration")
    assert duration.count == 1
    assert duration.attributes["error.type"] == "mqframe.core.errors.RouteError"
    assert told.points("messaging.client.sent.messages") == []


def test_tries_of_a_send_are_events_of_its_span() -> None:
    told = Told()
    operation = SendOperation("shop", [Message("orders", b"body")], "sync")
    prepare_each([told.send], operation)
    for broker, error in (("broker-a", CallTimeout("3 s")), ("broker-b", None)):
        queue = MessageQueue("orders", broker, 0)
        address = f"{broker}:10911"
        attempt = SendContext("shop", operation.messages, ["id"], queue, address, "sync", 0)
        attempt.extras = operation.extras
        told.send.before(attempt)
        attempt.error = error
        told.send.after(attempt)
    operation.result = SendResult(SendStatus.SEND_OK, "id", QUEUE, 7)
    told.send.finish(operation)
    span = told.span("send orders")
    assert span.status.status_code is StatusCode.UNSET
    [event] = span.events
    assert (event.name, dict(event.attributes)) == (
        "retry",
        {"error.type": "mqframe.core.errors.CallTimeout", "messaging.rocketmq.attempt": 2},
    )
    assert span.attributes["server.address"] == "broker-b"
    assert span.attributes["messaging.destination.partition.id"] == "broker-b:0"
    assert creation_context(operation.messages[0]).span_id == place(span)[1]


def test_metrics_of_sends(cluster) -> None:
    told = Told()
    with producing(cluster, told) as producer:
        for _ in range(3):
            producer.send(Message("orders", b"body", tag=random.choice("ab"), keys=["x"]))
    [sent] = told.points("messaging.client.sent.messages")
    host, _, port = cluster.broker.address.rpartition(":")
    assert sent.value == 3
    assert dict(sent.attributes) == {
        "messaging.system": "rocketmq",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": sent.attributes["messaging.destination.partition.id"],
        "server.address": host,
        "server.port": int(port),
    }
    [duration] = told.points("messaging.client.operation.duration")
    assert duration.count == 3
    assert duration.explicit_bounds[0] == 0.005
    spans = told.spans("send orders")
    assert duration.sum == pytest.approx(sum(s.end_time - s.start_time for s in spans) / 1e9, abs=0.05)


def test_nothing_current_is_left_behind(cluster) -> None:
    told = Told()
    with producing(cluster, told) as producer:
        producer.send(Message("orders", b"body"))
    assert not trace.get_current_span().get_span_context().is_valid
