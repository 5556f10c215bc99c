"""Metrics of what is consumed and published."""

from __future__ import annotations

from mqframe_faststream import MqframeBroker, TestMqframeBroker
from mqframe_faststream.prometheus import MqframePrometheusMiddleware
from prometheus_client import CollectorRegistry


async def test_messages_and_batches_are_counted_by_topic() -> None:
    registry = CollectorRegistry()
    broker = MqframeBroker(middlewares=[MqframePrometheusMiddleware(registry=registry, app_name="shop")])

    @broker.subscriber("orders")
    async def handle(value: str) -> None: ...

    @broker.subscriber("several", batch=True)
    async def several(values: list[str]) -> None: ...

    async with TestMqframeBroker(broker):
        await broker.publish("four", "orders")
        await broker.publish_batch("a", "bc", topic="several")
        async with broker.transaction("held back", "orders"):
            pass

    def value(name, topic, **labels):
        labels |= {"app_name": "shop", "broker": "rocketmq"}
        return registry.get_sample_value(name, {**labels, **topic})

    here = {"handler": "orders"}, {"handler": "several"}
    assert [value("faststream_received_messages_total", each) for each in here] == [2, 2]
    assert [value("faststream_received_messages_size_bytes_sum", each) for each in here] == [13, 3]
    sent = {"destination": "orders"}, {"destination": "several"}
    assert [value("faststream_published_messages_total", each, status="success") for each in sent] == [2, 2]
