"""An application whose types are wrong: each line marked with an error has that one, and no other has any."""

from collections.abc import Sequence

from mqframe import AsyncPushConsumer, ConsumeResult, ListenerContext, PushConsumer, ReceivedMessage

consumer = PushConsumer("billing", nameserver="127.0.0.1:9876")
async_consumer = AsyncPushConsumer("billing", nameserver="127.0.0.1:9876")


@consumer.on("orders")  # error: type-var
def nothing(messages: list[ReceivedMessage], context: ListenerContext) -> None: ...


@consumer.on("orders")  # error: type-var
def text(messages: Sequence[ReceivedMessage], context: ListenerContext) -> str:
    return "success"


@consumer.on("orders")  # error: type-var
def perhaps(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult | None:
    return None


@consumer.on("orders")  # error: type-var
def truth(message: ReceivedMessage) -> bool:
    return True


@consumer.on("orders")  # error: type-var
def alone(messages: list[ReceivedMessage]) -> ConsumeResult:
    return ConsumeResult.SUCCESS


@async_consumer.on("orders")  # error: type-var
async def nothing_async(messages: list[ReceivedMessage], context: ListenerContext) -> None: ...


def several(messages: list[ReceivedMessage], context: ListenerContext) -> None: ...


consumer.subscribe("orders", "*", several)  # error: type-var
consumer.subscribe("orders", "*", "bill")  # error: call-overload
consumer.on(several)  # error: call-overload
