"""Plugins with a client's side on each version's broker: one thin pass through each."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_time import until

from interop.foreign_programs import OLDER
from interop.servers import Servers
from mqframe import (
    AnswerError,
    ClientSettings,
    ConsumeResult,
    ConsumerSettings,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
)

pytestmark = pytest.mark.proves("plugins")

OFTEN = ClientSettings(persist_offsets_seconds=0.1)

STRATEGIES: dict[str, dict[str, Any]] = {
    "averagely": {},
    "averagely_by_circle": {},
    "bounded_load": {},
    "consistent_hash": {},
    "lag_aware": {"interval_seconds": 4, "lead_seconds": 2},
    # No broker is in the room of a client here, so all share.
    "machine_room_nearby": {"broker_separator": "-", "client_separator": "@"},
}


def consume(
    servers: Servers, topic: str, count: int, listener: Any = None, **options: Any
) -> list[ReceivedMessage]:
    """The first that a group of its own gets; `listener` is called with them, too."""
    seen: list[ReceivedMessage] = []
    group = f"plugged_{topic}"
    consumer = PushConsumer(
        group, nameserver=servers.nameserver, consume_from="first", client=OFTEN, **options
    )

    def listen(messages: list[ReceivedMessage], context: Any) -> ConsumeResult:
        result: ConsumeResult = ConsumeResult.SUCCESS if listener is None else listener(messages, context)
        if result is ConsumeResult.SUCCESS:
            seen.extend(messages)
        return result

    consumer.subscribe(topic, "*", listen)
    with consumer:
        until(lambda: len(seen) >= count)
    return seen


@pytest.mark.parametrize("name", STRATEGIES)
def test_members_share_the_queues(servers: Servers, topic: str, name: str) -> None:
    members = [
        PushConsumer(
            f"{name}_{topic}",
            client=ClientSettings(nameserver=servers.nameserver, instance_name=member),
            settings=ConsumerSettings(rebalance_seconds=0.5),
            allocate=name,
            allocate_options=STRATEGIES[name],
        )
        for member in ("one", "two")
    ]
    with contextlib.ExitStack() as running:
        for member in members:
            member.subscribe(topic, "*", lambda messages, context: ConsumeResult.SUCCESS)
            running.enter_context(member)

        def shared() -> bool:
            held = [[q.queue_id for q in member.queues if q.topic == topic] for member in members]
            return all(held) and sorted(held[0] + held[1]) == [0, 1, 2, 3]

        # A consistent hash may give one of them all.
        until(shared if name != "consistent_hash" else lambda: sum(len(m.queues) for m in members) >= 4)


@pytest.mark.parametrize("name", ["hash", "monotonic"])
def test_selectors_choose_a_queue(servers: Servers, topic: str, producer: Producer, name: str) -> None:
    sent = [producer.send(Message(topic, b"x"), sharding_key="one", selector=name) for _ in range(3)]
    assert len({each.queue for each in sent}) == 1


@pytest.mark.parametrize("name", ["pydantic", "avro", "protobuf"])
def test_codecs_carry_values(servers: Servers, topic: str, name: str) -> None:
    value, kind = VALUES[name]()
    topic = f"{topic}_{name}"
    with Producer("coding", nameserver=servers.nameserver, codec=name) as producer:
        producer.send(producer.message(topic, value))
    got: list[Any] = []
    consumer = PushConsumer(
        f"{name}_{topic}", nameserver=servers.nameserver, consume_from="first", codec=name
    )

    @consumer.on(topic, type=kind)
    def handle(value: Any) -> None:
        got.append(value)

    with consumer:
        until(lambda: got)
    assert got == [value]


def _pydantic() -> tuple[Any, Any]:
    from pydantic import BaseModel

    class Order(BaseModel):
        id: int

    return Order(id=7), Order


def _avro() -> tuple[Any, Any]:
    from dataclasses import make_dataclass

    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    Order = make_dataclass("Order", [("id", int)], namespace={"__avro_schema__": schema})
    return Order(7), Order


def _protobuf() -> tuple[Any, Any]:
    from google.protobuf.timestamp_pb2 import Timestamp

    return Timestamp(seconds=7), Timestamp


VALUES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "pydantic": _pydantic,
    "avro": _avro,
    "protobuf": _protobuf,
}


def test_spans_of_sender_and_listener_are_one_trace(servers: Servers, topic: str) -> None:
    from mqframe_opentelemetry import ConsumeTelemetry, SendTelemetry
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    hooks = [SendTelemetry(tracer_provider=provider)]
    with Producer("spans", nameserver=servers.nameserver, send_hooks=hooks) as producer:
        producer.send(Message(topic, b"x"))
    consume(servers, topic, 1, consume_hooks=[ConsumeTelemetry(tracer_provider=provider)])
    until(lambda: len(exporter.get_finished_spans()) >= 2)
    assert len({span.context.trace_id for span in exporter.get_finished_spans()}) == 1


def test_a_message_that_comes_twice_is_handled_once(
    servers: Servers, topic: str, producer: Producer, tmp_path: Path
) -> None:
    from mqframe_idempotence import OnceInTransaction, SqlStore

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(tmp_path / "once.db", timeout=60)

    store = SqlStore(connect)
    store.create_table()
    with connect() as database:
        database.execute("CREATE TABLE orders (body BLOB)")
    once = OnceInTransaction(store, "plugged", key="keys")

    @once.listener
    def charge(
        messages: list[ReceivedMessage], context: Any, connection: sqlite3.Connection
    ) -> ConsumeResult:
        connection.executemany("INSERT INTO orders VALUES (?)", [(each.body,) for each in messages])
        return ConsumeResult.SUCCESS

    for _ in range(2):
        producer.send(Message(topic, b"order", keys=["o-1"]))
    consume(servers, topic, 2, charge)
    assert connect().execute("SELECT body FROM orders").fetchall() == [(b"order",)]


def test_keys_of_idempotence_do_no_harm_where_nobody_knows_them(
    servers: Servers, topic: str, producer: Producer
) -> None:
    message = Message(topic, b"x", properties={"IDEMPOTENCE_KEY": "order-17"})
    assert producer.send(message).message_id != producer.send(message).message_id


def test_offsets_are_kept_in_a_file(servers: Servers, topic: str, producer: Producer, tmp_path: Path) -> None:
    where = ("sqlite", {"path": str(tmp_path / "offsets.db")})
    for body in (b"1", b"2"):
        producer.send(Message(topic, body))
        [message] = consume(servers, topic, 1, offset_store=where)
        assert message.body == body


def test_faststream_subscribes_and_publishes(servers: Servers, topic: str) -> None:
    from mqframe_faststream import MqframeBroker

    async def play() -> list[dict[str, int]]:
        broker, got = (
            MqframeBroker(servers.nameserver, group=f"fast_{topic}"),
            asyncio.Queue[dict[str, int]](),
        )

        @broker.subscriber(topic, consume_from="first")
        async def take(order: dict[str, int]) -> None:
            await got.put(order)

        async with broker, asyncio.timeout(60):
            await broker.start()
            await broker.publish({"number": 7}, topic)
            return [await got.get()]

    assert asyncio.run(play()) == [{"number": 7}]


@pytest.mark.proves("plugins", since="5.0.0")
def test_kombu_sends_and_receives(version: str, servers: Servers, topic: str) -> None:
    import mqframe_kombu  # noqa: F401 - makes the transport known
    from kombu import Connection

    with Connection(f"mqframe://{servers.nameserver}") as connection:
        queue = connection.SimpleQueue(topic)
        queue.put({"number": 7})
        if version == OLDER:
            with pytest.raises(
                AnswerError, match=r"PopMessage .* from Apache RocketMQ 5\.0\.0 on, .* is 4\.9\.7"
            ):
                queue.get(timeout=60)
            return
        message = queue.get(timeout=60)
        assert message.payload == {"number": 7}
        message.ack()
        queue.close()
