"""An application, as users write it: checked by mypy, documented and run by FastStream's command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from faststream import AckPolicy, Depends, FastStream
from faststream.exceptions import NackMessage
from mqframe_faststream import (
    MqframeBroker,
    MqframeMessage,
    MqframePublisher,
    MqframeResponse,
    MqframeRoute,
    MqframeRouter,
    Sql,
)
from pydantic import BaseModel

from mqframe import SendResult


class Order(BaseModel):
    number: int
    cups: int = 1


class Invoice(BaseModel):
    order: int
    amount: float


TOPIC = os.environ.get("SHOP_TOPIC", "orders")
broker = MqframeBroker(group=f"billing-{TOPIC}", graceful_timeout=5.0, description="the shop")
app = FastStream(broker)
invoices = broker.publisher(f"{TOPIC}-invoices", tag="new")


def price(order: Order) -> float:
    return order.cups * 2.5


@broker.subscriber(TOPIC, tags=["paid", "refunded"], consume_from="first", max_reconsume_times=3)
@invoices
async def bill(
    order: Order, message: MqframeMessage, total: Annotated[float, Depends(price)]
) -> MqframeResponse:
    """Write an invoice for each order that was paid."""
    if message.reconsume_times > 2:
        raise NackMessage(delay_level=5)
    return MqframeResponse(Invoice(order=order.number, amount=total), keys=[str(order.number)])


@broker.subscriber(
    f"{TOPIC}-invoices",
    group=f"archive-{TOPIC}",
    ordered=True,
    consume_from="first",
    ack_policy=AckPolicy.ACK,
)
async def archive(invoice: Invoice) -> None:
    """Keep invoices."""
    if folder := os.environ.get("SHOP_FOLDER"):
        with (Path(folder) / "invoices").open("a") as file:
            file.write(f"{invoice.order} {invoice.amount} {os.getpid()}\n")


@broker.subscriber(f"{TOPIC}-audit", group=f"audit-{TOPIC}", sql=Sql("amount > 100"), batch=True)
async def audit(values: list[Invoice]) -> None: ...


async def double(value: int) -> int:
    return value * 2


route = MqframeRoute(double, TOPIC, group="eu", publishers=[MqframePublisher(f"{TOPIC}-out")])
router = MqframeRouter(prefix="eu-", handlers=[route])
broker.include_router(router)


async def order(number: int) -> SendResult | None:
    """What a web application would do."""
    await broker.publish_batch(Order(number=1), Order(number=2), topic=TOPIC, tag="paid")
    reply = await broker.request(number, f"eu-{TOPIC}", timeout=3.0)
    doubled = await reply.decode()
    async with broker.transaction(Order(number=doubled or 0), TOPIC, tag="paid") as transaction:
        transaction.commit()
    await invoices.publish(Invoice(order=number, amount=1.0), sharding_key="customer-7")
    return await broker.publish(Order(number=number), TOPIC, tag="paid", keys=[str(number)], delay=0.5)
