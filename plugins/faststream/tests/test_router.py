"""Routers made with routes."""

from __future__ import annotations

import pytest
from mqframe_faststream import (
    MqframeBroker,
    MqframePublisher,
    MqframeRoute,
    MqframeRouter,
    OptionError,
    TestMqframeBroker,
)


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


def test_a_wrong_route_is_an_error_at_construction() -> None:
    async def handle(value: int) -> None: ...

    with pytest.raises(OptionError, match="tags and sql"):
        MqframeRouter(handlers=[MqframeRoute(handle, "orders", tags="a", sql="b = 1")])
    with pytest.raises(TypeError, match="colour"):
        MqframeRouter(handlers=[MqframeRoute(handle, "orders", colour="red")])
