"""Routers made with routes."""

from __future__ import annotations

import pytest
from faststream import Path
from mqframe_faststream import (
    MqframeBroker,
    MqframePublisher,
    MqframeRoute,
    MqframeRouter,
    OptionError,
    TestMqframeBroker,
)

from mqframe import MessageQueue


async def test_routes_are_subscribers_with_publishers() -> None:
    async def double(value: int) -> int:
        return value * 2

    router = MqframeRouter(
        prefix="shop_",
        handlers=[
            MqframeRoute(
                double, "orders", tags="paid", group="g", publishers=[MqframePublisher("bills", tag="new")]
            )
        ],
    )
    broker = MqframeBroker(routers=[router])

    @broker.subscriber("shop_bills", tags="new")
    async def bill(value: int) -> None: ...

    async with TestMqframeBroker(broker):
        await broker.publish(4, "shop_orders", tag="paid")
        await broker.publish(5, "shop_orders", tag="open")
        bill.mock.assert_called_once_with(8)
    [route] = router.subscribers
    assert (route.topic, route.group) == ("shop_orders", "g")


async def test_routes_take_patterns_queues_and_where_to_begin() -> None:
    got: list[object] = []

    async def meant(value: int, region: str = Path()) -> None:
        got.append((region, value))

    async def read(value: int) -> None:
        got.append(("read", value))

    queue = MessageQueue("bills", "broker-a", 0)
    router = MqframeRouter(
        prefix="shop_",
        handlers=[
            MqframeRoute(meant, pattern="orders_{region}", consume_from="first"),
            MqframeRoute(read, queues={queue: 5}),
        ],
    )
    broker = MqframeBroker(routers=[router])
    async with TestMqframeBroker(broker):
        await broker.publish(1, "shop_orders_eu")
        await broker.publish(2, "shop_bills", queue=queue._replace(topic="shop_bills"))
    assert got == [("eu", 1), ("read", 2)]
    first, second = sorted(router.subscribers, key=lambda each: len(each.queues))
    assert first.subscription.consume_from == "first"
    assert second.queues == {queue._replace(topic="shop_bills"): 5}


def test_a_wrong_route_is_an_error_at_construction() -> None:
    async def handle(value: int) -> None: ...

    with pytest.raises(OptionError, match="tags and sql"):
        MqframeRouter(handlers=[MqframeRoute(handle, "orders", tags="a", sql="b = 1")])
    with pytest.raises(TypeError, match="colour"):
        MqframeRouter(handlers=[MqframeRoute(handle, "orders", colour="red")])
