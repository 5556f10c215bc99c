"""An application that uses most of the public API, for type checkers: never run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from mqframe import (
    Admin,
    AllocationStrategy,
    AsyncAdmin,
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPushConsumer,
    AsyncSimpleConsumer,
    AsyncTransactionProducer,
    ClientSettings,
    ConsumeContext,
    ConsumeHook,
    ConsumeResult,
    ConsumerSettings,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    HalfMessage,
    ListenerContext,
    LitePullConsumer,
    Message,
    MessageQueue,
    MqframeError,
    OffsetStoreContext,
    PluginManager,
    Producer,
    ProducerSettings,
    PushConsumer,
    QueueSelector,
    ReceivedMessage,
    RetryError,
    SavedOffsetStore,
    SendContext,
    SendHook,
    SendResult,
    SimpleConsumer,
    Sql,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
    hookimpl,
    reply_to,
)


class Nearest(AllocationStrategy):
    wire_name = "NEAREST"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        return [queue for queue in queues if queue.queue_id % len(clients) == clients.index(client_id)]


class First(QueueSelector):
    def select(self, queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
        return queues[0]


class CountingSends(SendHook):
    sent: int = 0

    def after(self, context: SendContext) -> None:
        self.sent += len(context.messages) if context.result is not None else 0


class CountingCalls(ConsumeHook):
    calls: int = 0

    def after(self, context: ConsumeContext) -> None:
        self.calls += context.success


class NoSecrets(ForbiddenHook):
    def check(self, context: ForbiddenContext) -> None:
        if b"secret" in context.message.body:
            raise Forbidden("no secrets")


class Offsets(SavedOffsetStore):
    def __init__(self, context: OffsetStoreContext) -> None:
        super().__init__()
        self.kept: dict[MessageQueue, int] = {}

    async def load(self) -> Mapping[MessageQueue, int]:
        return self.kept

    async def save(self, offsets: Mapping[MessageQueue, int]) -> None:
        self.kept.update(offsets)


class Orders(TransactionListener):
    def execute_local_transaction(self, message: HalfMessage, arg: object) -> TransactionOutcome:
        return TransactionOutcome.COMMIT

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN


class Brought:
    @hookimpl
    def register_allocation_strategies(self) -> dict[str, object]:
        return {"nearest": Nearest}


def produce() -> list[str]:
    settings = ProducerSettings(send_timeout_seconds=10, compression="lz4")
    with Producer(
        "shop",
        nameserver="127.0.0.1:9876",
        selector=First(),
        send_hooks=[CountingSends(), "trace"],
        forbidden_hooks=[NoSecrets],
        settings=settings,
    ) as producer:
        one: SendResult = producer.send(Message("orders", b"1", tag="paid", keys=["o-1"]), sharding_key=7)
        later = producer.send(Message("orders", b"2"), delay=timedelta(minutes=5))
        if later.recall_handle is not None:
            producer.recall("orders", later.recall_handle)
        producer.send(Message("orders", b"3"), deliver_at=datetime(2027, 1, 1, tzinfo=UTC), timeout=5.0)
        batch = producer.send_batch([Message("orders", b"4"), Message("orders", b"5")])
        futures = [producer.submit(Message("orders", b"%d" % number)) for number in range(10)]
        reply: ReceivedMessage = producer.request(Message("questions", b"?"))
        return [
            one.message_id,
            batch.message_id,
            *(each.result().message_id for each in futures),
            reply.topic,
        ]


async def produce_async() -> int:
    async with AsyncProducer("shop", nameserver="127.0.0.1:9876") as producer:
        results = await asyncio.gather(*(producer.send(Message("orders", b"x")) for _ in range(3)))
        future = await producer.submit(Message("orders", b"y"))
        last = await future
        return last.queue_offset + sum(each.queue_offset for each in results)


def transact() -> None:
    with TransactionProducer("shop", Orders(), nameserver="127.0.0.1:9876") as producer:
        producer.send_in_transaction(Message("orders", b"x"), {"id": 1})
        with producer.transaction(Message("orders", b"y")) as transaction:
            transaction.unknown()


async def transact_async() -> None:
    async with (
        AsyncTransactionProducer("shop", nameserver="127.0.0.1:9876") as producer,
        producer.transaction(Message("orders", b"y")),
    ):
        await asyncio.sleep(0)


def consume() -> None:
    plugins = PluginManager()
    plugins.register(Brought(), "brought")
    consumer = PushConsumer(
        "billing",
        nameserver="127.0.0.1:9876",
        allocate=("consistent_hash", {"virtual_nodes": 20}),
        offset_store=Offsets,
        consume_hooks=[CountingCalls()],
        consume_from=datetime(2026, 1, 1, tzinfo=UTC),
        settings=ConsumerSettings(consume_threads=4),
        client=ClientSettings(instance_name="one"),
        plugins=plugins,
    )

    @consumer.on("orders", "paid || refunded")
    def one(message: ReceivedMessage) -> None:
        print(message.body, message.tag, message.keys, message.properties.get("colour"))

    @consumer.on("orders-in-bulk", Sql("cents > 100"), batch_max=32)
    def many(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
        context.ack_index = len(messages) - 1
        return ConsumeResult.SUCCESS

    @consumer.on("questions")
    def answer(message: ReceivedMessage, context: ListenerContext) -> None:
        with Producer.from_config("app.toml") as producer:
            producer.send(reply_to(message, b"42"))

    consumer.set_allocation("nearest")
    consumer.run()


async def consume_async() -> None:
    consumer = AsyncPushConsumer.from_config("app.toml", "billing", watch=5)

    @consumer.on("orders")
    async def one(message: ReceivedMessage) -> None:
        await asyncio.sleep(0)

    await consumer.run()
    async with AsyncSimpleConsumer("jobs", nameserver="127.0.0.1:9876") as simple:
        simple.subscribe("orders")
        for message in await simple.receive(16, invisible_duration=30.0):
            await simple.ack(message)
    async with AsyncLitePullConsumer("audit", nameserver="127.0.0.1:9876") as pull:
        pull.subscribe("orders")
        found: Sequence[ReceivedMessage] = await pull.poll(timeout=1.0)
        print(len(found))


def pull() -> None:
    with SimpleConsumer("jobs", nameserver="127.0.0.1:9876") as simple:
        for message in simple.receive(16, invisible_duration=30.0):
            simple.ack(message)
    with LitePullConsumer("audit", nameserver="127.0.0.1:9876") as lite:
        lite.subscribe("orders", "paid")
        lite.poll(timeout=1.0)
        lite.commit()


def administer() -> int:
    try:
        with Admin(nameserver="127.0.0.1:9876") as admin:
            admin.topics.create("orders", queues=4)
            return admin.groups.lag("billing")
    except RetryError:
        return -1
    except MqframeError:
        return -2


async def administer_async() -> list[str]:
    async with AsyncAdmin(nameserver="127.0.0.1:9876") as admin:
        return list(await admin.topics.list())
