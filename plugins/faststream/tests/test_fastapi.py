"""Handlers in FastAPI applications."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Annotated

import httpx
from fastapi import Depends, FastAPI, Path
from mqframe_faststream import MqframeRouter as PlainRouter
from mqframe_faststream import TestMqframeBroker
from mqframe_faststream.fastapi import MqframeMessage, MqframeRouter
from pydantic import BaseModel


class Order(BaseModel):
    number: int


def shop() -> str:
    return "corner"


@asynccontextmanager
async def served(app):
    transport = httpx.ASGITransport(app)
    web = httpx.AsyncClient(transport=transport, base_url="http://x")
    async with app.router.lifespan_context(app), web:
        yield web


async def test_requests_publish_and_handlers_get_dependencies(server, topic, seen) -> None:
    router = MqframeRouter(server.nameserver, group=f"g-{topic}")

    @router.subscriber(topic, tags="paid")
    @router.publisher(f"{topic}-bills")
    async def bill(order: Order, where: Annotated[str, Depends(shop)], message: MqframeMessage) -> str:
        seen((order.number, where, message.tag))
        return f"bill {order.number}"

    @router.subscriber(f"{topic}-bills")
    async def bills(text: str) -> None:
        seen(text)

    @router.post("/orders")
    async def order(order: Order) -> dict[str, str]:
        sent = await router.broker.publish(order, topic, tag="paid")
        return {"id": sent.message_id}

    app = FastAPI()
    app.include_router(router)

    async with served(app) as web:
        answer = await web.post("/orders", json={"number": 7})
        assert answer.json()["id"]
        await seen.take(2)
        document = (await web.get("/asyncapi.json")).json()
        assert (await web.get("/asyncapi")).status_code == 200
    assert seen.all == [(7, "corner", "paid"), "bill 7"]
    assert f"{topic}:Bill" in document["channels"]


async def test_parts_of_topics_are_path_parameters() -> None:
    router = MqframeRouter(consume_from="first")
    got: list[object] = []

    @router.subscriber(pattern="orders-{region}")
    async def handle(order: Order, region: Annotated[str, Path()]) -> None:
        got.append((region, order.number))

    app = FastAPI()
    app.include_router(router)
    async with TestMqframeBroker(router.broker) as broker:
        await broker.publish(Order(number=7), "orders-eu")
    assert got == [("eu", 7)]
    (subscriber,) = router.broker.subscribers
    assert subscriber.subscription.consume_from is None


async def test_plain_routers_are_taken_in_and_tests_need_no_server() -> None:
    plain = PlainRouter(prefix="shop-")

    @plain.subscriber("orders")
    async def handle(order: Order, where: Annotated[str, Depends(shop)]) -> str:
        return f"{where} {order.number}"

    router = MqframeRouter(prefix="/api")
    router.include_router(plain)
    app = FastAPI()
    app.include_router(router)
    async with TestMqframeBroker(router.broker) as broker:
        reply = await broker.request(Order(number=7), "shop-orders")
        handle.mock.assert_called_once_with({"number": 7})
        assert (await reply.decode()) == "corner 7"
