"""Spans of what is consumed and published."""

from __future__ import annotations

from mqframe_faststream.opentelemetry import MqframeTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


async def test_a_trace_goes_on_from_publisher_to_handler(make, running, topic, seen, until) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    broker = make(middlewares=[MqframeTelemetryMiddleware(tracer_provider=provider)])

    @broker.subscriber(topic)
    async def handle(value: int) -> None:
        seen(value)

    @broker.subscriber(f"{topic}-several", batch=True)
    async def several(values: list[int]) -> None:
        seen(values)

    async with running(broker):
        await broker.publish(1, topic, tag="paid", keys=["k"], sharding_key="s")
        await broker.publish_batch(2, 3, topic=f"{topic}-several", delay=None)
        while sum(each if isinstance(each, int) else sum(each) for each in seen.all) < 6:
            await seen.take()
        await until(lambda: len(exporter.get_finished_spans()) >= 6)
    spans = exporter.get_finished_spans()
    publish = next(s for s in spans if s.name == f"{topic} publish")
    process = next(s for s in spans if s.name == f"{topic} process")
    assert process.context.trace_id == publish.context.trace_id
    assert publish.attributes["messaging.system"] == process.attributes["messaging.system"] == "rocketmq"
    assert process.attributes["messaging.rocketmq.message.tag"] == "paid"
    assert process.attributes["messaging.rocketmq.message.keys"] == ("k",)
    assert publish.attributes["messaging.rocketmq.message.group"] == "s"
    batches = [s for s in spans if s.name == f"{topic}-several process"]
    assert sum(s.attributes["messaging.batch.message_count"] for s in batches) == 2


async def test_levels_of_delays_are_told() -> None:
    from mqframe_faststream import MqframeBroker, TestMqframeBroker

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    broker = MqframeBroker(middlewares=[MqframeTelemetryMiddleware(tracer_provider=provider)])

    async with TestMqframeBroker(broker):
        await broker.publish(1, "orders", delay_level=3)
    levels = [
        s.attributes.get("messaging.rocketmq.message.delay_time_level") for s in exporter.get_finished_spans()
    ]
    assert 3 in levels
