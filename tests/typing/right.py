"""An application whose types are right: `mypy --strict` has nothing to say about it."""

from collections.abc import Sequence
from typing import NamedTuple

from mqframe import (
    AsyncPushConsumer,
    BatchListener,
    ConsumeResult,
    Handler,
    ListenerContext,
    PushConsumer,
    ReceivedMessage,
)

consumer = PushConsumer("billing", nameserver="127.0.0.1:9876")
async_consumer = AsyncPushConsumer("billing", nameserver="127.0.0.1:9876")


@consumer.on("orders", "paid")
def bill(message: ReceivedMessage) -> None:
    print(message.body)


@consumer.on("orders")
def bill_or_wait(message: ReceivedMessage, context: ListenerContext) -> ConsumeResult | None:
    return ConsumeResult.RECONSUME_LATER if context.group == "slow" else None


@consumer.on("parcels", batch_max=32)
def pack(messages: Sequence[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
    return ConsumeResult.SUCCESS


@consumer.on("parcels")
def pack_list(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
    return ConsumeResult.SUCCESS


@async_consumer.on("orders")
async def bill_async(message: ReceivedMessage) -> None:
    bill(message)


@async_consumer.on("parcels")
async def pack_async(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
    return ConsumeResult.SUCCESS


def shared(handler: Handler, listener: BatchListener) -> None:
    consumer.subscribe("orders", "*", handler)
    consumer.subscribe("parcels", "*", listener, batch_max=8)


class Order(NamedTuple):
    id: int


@consumer.on("orders", type=Order)
def bill_order(order: Order) -> None:
    print(order.id)


@consumer.on("questions", type=Order)
def price_of_order(order: Order) -> float:
    return order.id / 2


@async_consumer.on("orders", "paid", codec="json", on_decode_error="drop")
async def bill_order_async(
    order: Order, message: ReceivedMessage, context: ListenerContext
) -> ConsumeResult | None:
    again: Order = message.decode(Order)
    return None if again == order else ConsumeResult.RECONSUME_LATER


class Service:
    def handle(self, message: ReceivedMessage) -> None:
        print(message)


bodies: list[ReceivedMessage] = []
consumer.subscribe("orders", "*", Service().handle)
consumer.subscribe("orders", "*", bodies.append)
consumer.subscribe("orders", "*", lambda message: bodies.append(message))
shared(bill, pack)
shared(bill_async, pack_async)

# The decorated function is what it was.
done: None = bill(bodies[0])
packed: ConsumeResult = pack(bodies, ListenerContext(bodies[0].queue, "billing"))
