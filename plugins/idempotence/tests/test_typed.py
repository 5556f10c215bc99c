"""One effect of a message whose handler takes the value in its body."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mqframe_idempotence import MemoryStore, Once, OnceInTransaction, SqlStore, WrongUse

from mqframe import Message, PushConsumer, ReceivedMessage
from mqframe.core.errors import FixError


class Order(msgspec.Struct):
    number: str
    cents: int


def send(producer: Any, *orders: Order) -> None:
    for order in orders:
        producer.send(Message.of("orders", order, keys=[order.number]))


def consumed(stage: Any, handler: Any) -> None:
    """Two orders, of which the first was sent twice, are consumed by `handler`."""
    consumer = PushConsumer("billing", nameserver=stage.nameserver, consume_from="first")
    consumer.subscribe("orders", "*", handler, type=Order)
    with consumer:
        stage.settle()


@pytest.fixture
def orders(mqframe_stage: Any, mqframe_producer: Any) -> Any:
    mqframe_stage.create_topic("orders")
    send(mqframe_producer, Order("o-1", 480), Order("o-2", 990), Order("o-1", 480))
    return mqframe_stage


def test_handlers_of_values_have_one_effect_a_key(orders: Any) -> None:
    once = Once(MemoryStore(), "billing", key="keys")
    seen: list[Any] = []

    @once.handler
    def charge(order: Order) -> None:
        seen.append((order.number, order.cents))

    consumed(orders, charge)
    assert sorted(seen) == [("o-1", 480), ("o-2", 990)]


def test_they_get_message_and_context_where_they_take_them(orders: Any) -> None:
    once = Once(MemoryStore(), "billing", key="keys")
    seen: list[Any] = []

    @once.handler
    async def charge(order: Order, message: ReceivedMessage, context: Any) -> None:
        seen.append((order.number, message.keys, context.queue.topic))

    consumed(orders, charge)
    assert sorted(seen) == [("o-1", ["o-1"], "orders"), ("o-2", ["o-2"], "orders")]


def test_a_transaction_hands_its_connection_over_behind_the_value(orders: Any, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    store = SqlStore(lambda: sqlite3.connect(path, timeout=30))
    store.create_table()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE charges (number TEXT, queue_id INTEGER)")
        connection.commit()
    once = OnceInTransaction(store, "billing", key="keys")

    @once.handler
    def charge(order: Order, connection: sqlite3.Connection, message: ReceivedMessage) -> None:
        connection.execute("INSERT INTO charges VALUES (?, ?)", (order.number, message.queue_id))

    consumed(orders, charge)
    with closing(sqlite3.connect(path)) as connection:
        assert sorted(name for (name,) in connection.execute("SELECT number FROM charges")) == ["o-1", "o-2"]


def test_a_listener_of_several_messages_is_no_typed_handler() -> None:
    once = Once(MemoryStore(), "billing")
    consumer = PushConsumer("billing", nameserver="127.0.0.1:1")
    with pytest.raises(FixError, match="takes several messages, and the topic is subscribed with type"):
        consumer.subscribe("orders", "*", once.listener(lambda messages, context: None), type=Order)


def test_a_value_without_its_message_says_what_is_missing() -> None:
    once = Once(MemoryStore(), "billing")

    @once.handler
    def charge(order: Order) -> None: ...

    with pytest.raises(WrongUse, match="charge was called without a message, whose key is to be looked at"):
        charge(Order("o-1", 480))
