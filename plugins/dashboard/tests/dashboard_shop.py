"""A shop with a bit of everything that a dashboard shows, for tests in a browser and for pictures."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from mqframe_testing import Cluster

from mqframe import (
    Admin,
    ClientSettings,
    ConsumeContext,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)

TOPICS: Final = {"orders": 4, "payments": 2, "parcels": 2}
CITIES: Final = ("Berlin", "Lisbon", "Oslo", "Tokyo")


class Undecided(TransactionListener):
    """Never knows how a transaction ended."""

    def execute_local_transaction(self, message: Any, arg: Any) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN

    def check_local_transaction(self, message: Any) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN


class Shop:
    """The cluster, and a producer to send more."""

    def __init__(self, cluster: Cluster, producer: Producer) -> None:
        self.cluster = cluster
        self.nameserver = cluster.nameserver
        self.producer = producer
        self.sent = 0

    def order(self, count: int = 1) -> None:
        """Send more orders."""
        for _ in range(count):
            self.sent += 1
            body = {"order": self.sent, "city": CITIES[self.sent % len(CITIES)], "cups": self.sent % 5 + 1}
            key = f"order-{self.sent}"
            self.producer.send(Message("orders", json.dumps(body).encode(), "paid", [key]))


@contextlib.contextmanager
def open_shop() -> Iterator[Shop]:
    """A shop with orders, consumers that are behind, dead letters, delayed and half messages."""
    with Cluster() as cluster, contextlib.ExitStack() as stack:
        for topic, queues in TOPICS.items():
            cluster.create_topic(topic, queues)
        nameserver = cluster.nameserver
        producer = stack.enter_context(Producer("shop", nameserver=nameserver, client=_client("till")))
        shop = Shop(cluster, producer)
        shop.order(24)
        _fail(nameserver)
        _delay(producer)
        undecided = TransactionProducer(
            "payments", Undecided(), nameserver=nameserver, client=_client("cashier")
        )
        transactions = stack.enter_context(undecided)
        for number in range(3):
            body = f'{{"payment": {number}}}'.encode()
            transactions.send_in_transaction(Message("payments", body, keys=[f"payment-{number}"]))
        _consume(stack, nameserver)
        with Admin(nameserver=nameserver) as admin:
            admin.groups.create("audit")
            admin.offsets.reset("audit", "orders", 0)
        yield shop


def _client(name: str) -> ClientSettings:
    return ClientSettings(instance_name=name, persist_offsets_seconds=0.1)


def _fail(nameserver: str) -> None:
    """Have the group `billing` give up what it gets first."""
    consumer = PushConsumer("billing", nameserver=nameserver, consume_from="first", client=_client("ledger"))
    failed = threading.Semaphore(0)

    def refuse(message: ReceivedMessage, context: ConsumeContext) -> None:
        context.delay_level_when_next_consume = -1
        failed.release()
        raise ValueError("card expired")

    consumer.subscribe("orders", "*", refuse)
    with consumer, Admin(nameserver=nameserver) as admin:
        for _ in range(4):
            assert failed.acquire(timeout=60)
        while "%DLQ%billing" not in admin.topics.list():
            pass
        admin.dead_letters.open("billing")


def _delay(producer: Producer) -> None:
    """Have some messages wait."""
    for level in (9, 16, 16, 18):
        producer.send(Message("orders", b"remind", "reminder"), delay_level=level)
    for hours in (1, 6, 30):
        producer.send(Message("parcels", b"pick up", keys=[f"parcel-{hours}"]), delay=timedelta(hours=hours))


def _consume(stack: contextlib.ExitStack, nameserver: str) -> None:
    """Have the group `shipping` consume, by two members, of which one leaves something out."""
    for name, tags in (("dock-1", "paid || sent"), ("dock-2", "paid || sent")):
        consumer = PushConsumer("shipping", nameserver=nameserver, consume_from="first", client=_client(name))
        consumer.subscribe("orders", tags, lambda message: None)
        stack.enter_context(consumer)
