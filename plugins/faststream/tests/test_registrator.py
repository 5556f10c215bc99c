"""What is registered with brokers and routers."""

from __future__ import annotations

import pytest
from faststream import BaseMiddleware
from faststream._internal.broker.router import BrokerRouter
from faststream.exceptions import SetupError
from mqframe_faststream import MqframeBroker, MqframeRouter, TestMqframeBroker


class Other(BrokerRouter):
    def __init__(self) -> None: ...

    def subscriber(self, *args, **options): ...

    def publisher(self, *args, **options): ...


def test_routers_of_other_brokers_are_refused() -> None:
    with pytest.raises(SetupError, match="not a Other"):
        MqframeBroker().include_router(Other())


async def test_routers_bring_prefix_dependencies_and_middlewares() -> None:
    calls: list[str] = []

    class Told(BaseMiddleware):
        async def consume_scope(self, call_next, msg):
            calls.append("middleware")
            return await call_next(msg)

    def depends() -> None:
        calls.append("dependency")

    from faststream import Depends

    router = MqframeRouter(prefix="shop_")

    @router.subscriber("orders")
    async def handle(value: int) -> None:
        calls.append("handler")

    broker = MqframeBroker()
    broker.include_router(router, prefix="eu_", dependencies=[Depends(depends)], middlewares=[Told])

    async with TestMqframeBroker(broker):
        await broker.publish(1, "eu_shop_orders")
    assert calls == ["middleware", "dependency", "handler"]


async def test_parsers_and_decoders_are_of_handler_subscriber_router_or_broker() -> None:
    async def shout(message):
        return message.body.decode().upper()

    async def whisper(message, original):
        return (await original(message)).lower()

    broker = MqframeBroker(decoder=shout, apply_types=False)
    got: list[str] = []

    @broker.subscriber("a")
    async def of_broker(value) -> None:
        got.append(value)

    @broker.subscriber("b", decoder=whisper)
    async def of_subscriber(value) -> None:
        got.append(value)

    async with TestMqframeBroker(broker):
        await broker.publish("Tea", "a")
        await broker.publish("Tea", "b")
    assert got == ["TEA", "tea"]


async def test_filters_choose_among_handlers_of_one_subscriber() -> None:
    broker = MqframeBroker()
    subscriber = broker.subscriber("orders")
    got: list[tuple[str, object]] = []

    @subscriber(filter=lambda message: message.tag == "paid")
    async def paid(value: int) -> None:
        got.append(("paid", value))

    @subscriber
    async def rest(value: int) -> None:
        got.append(("rest", value))

    async with TestMqframeBroker(broker):
        await broker.publish(1, "orders", tag="paid")
        await broker.publish(2, "orders", tag="open")
    assert got == [("paid", 1), ("rest", 2)]
