"""Transactions across deaths of brokers and producers: what was committed comes once, the rest never."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.thread_pools import at_rest
from mqframe_transactions.settings import TransactionSettings
from real_time import until
from scenarios.killed_server import Server

from mqframe import (
    AsyncTransactionProducer,
    DatabaseOutcome,
    HalfMessage,
    Message,
    ReceivedMessage,
    StoreReader,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC
from mqframe.core.storage.record import decode_records

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN


def delivered(data: Path) -> list[bytes]:
    reader = StoreReader(data / "store")
    return sorted(
        message.body
        for queue_id in reader.queue_ids("orders")
        for message in reader.records("orders", queue_id, *reader.queue_range("orders", queue_id))
    )


def test_a_broker_killed_between_half_and_commit(serve: Callable[[], Server], tmp_path: Path) -> None:
    data, database = tmp_path / "data", tmp_path / "shop.db"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(database, timeout=5)

    def business(connection: sqlite3.Connection, message: HalfMessage, name: str) -> None:
        connection.execute("INSERT INTO orders VALUES (?)", (name,))

    outcome = DatabaseOutcome(connect, business, undecided_seconds=1.0)
    outcome.create_table()
    with closing(connect()) as connection:
        connection.execute("CREATE TABLE orders (name TEXT)")
        connection.commit()
    server = serve()
    with TransactionProducer("shop", outcome, nameserver=server.nameserver) as producer:
        assert producer.send_in_transaction(Message("orders", b"whole"), "whole").outcome is COMMIT
        until(lambda: delivered(data) == [b"whole"])
        with producer.transaction(Message("orders", b"cut")) as transaction, closing(connect()) as connection:
            connection.execute("INSERT INTO orders VALUES ('cut')")
            outcome.record(connection, transaction)
            connection.commit()
            server.kill()
    server = serve()
    with TransactionProducer("shop", outcome, nameserver=server.nameserver) as producer:
        producer.queues("orders")
        until(lambda: delivered(data) == [b"cut", b"whole"])
        with producer.transaction(Message("orders", b"lost")) as transaction:
            server.kill()
            transaction.unknown()
    server = serve()
    with TransactionProducer("shop", outcome, nameserver=server.nameserver) as producer:
        producer.queues("orders")
        with closing(connect()) as connection:
            rows = "SELECT count(*) FROM mqframe_transactions WHERE outcome = 'rollback'"
            until(lambda: connection.execute(rows).fetchone() == (1,))
    time.sleep(0.3)  # a few more checks, which must find nothing
    server.kill()
    assert delivered(data) == [b"cut", b"whole"]


class Fate(TransactionListener):
    """Knows what becomes of every transaction, as the database of several processes would."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.outcomes: dict[bytes, TransactionOutcome] = {}

    async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> TransactionOutcome:
        said, real = arg
        self.outcomes[message.body] = real
        outcome: TransactionOutcome = said
        return outcome

    async def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        if self.random.random() < 0.5:
            return UNKNOWN
        return self.outcomes.get(message.body, ROLLBACK)


def bodies(cluster: AsyncCluster, topic: str) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for queue_id in range(2):
        read = cluster.broker.store.reads.get(topic, queue_id, 0, 1000)
        found.update(message.body for part in read.parts for message in decode_records(part))
    return found


@pytest.mark.parametrize("seed", range(3))
async def test_kills_and_restarts_at_any_moment(seed: int) -> None:
    """Ends that come, that are late, that never come; brokers that stop or are killed; two producers."""

    random_, clock = random.Random(seed), ManualClock()
    fate = Fate(random_)
    # Enough checks that half of them may stay without an answer.
    async with AsyncCluster(clock=clock, sections=[TransactionSettings(check_max=200)]) as cluster:
        await cluster.create_topic("orders", 2)
        client = ClientSettings(nameserver=cluster.nameserver)
        instances = [ClientInstance.connect(client, clock) for _ in range(2)]
        for instance in instances:
            await instance.start()
        producers = [
            AsyncTransactionProducer("shop", fate, instance=instance, clock=clock) for instance in instances
        ]
        for producer in producers:
            await producer.start()
            await producer.queues("orders")
        for number in range(60):
            producer = random_.choice(producers)
            real = random_.choice([COMMIT, ROLLBACK])
            said = real if random_.random() < 0.5 else UNKNOWN
            body = b"%d" % number
            await producer.send_in_transaction(Message("orders", body), (said, real))
            if random_.random() < 0.2:
                await clock.aadvance(random_.choice([5, 31]))
            if random_.random() < 0.1:
                await settle(clock)
                await (cluster.kill_broker() if random_.random() < 0.7 else cluster.stop_broker())
                await cluster.start_broker()
                for instance in instances:
                    await instance.heartbeat_now()
        for _ in range(30):
            await clock.aadvance(30)
            await settle(clock)
        wanted = Counter(body for body, outcome in fate.outcomes.items() if outcome is COMMIT)
        assert len(fate.outcomes) == 60
        assert bodies(cluster, "orders") == wanted
        assert bodies(cluster, CHECK_MAX_TIME_TOPIC) == Counter()
        for each in (*producers, *instances):
            await each.stop()


async def settle(clock: ManualClock) -> None:
    for _ in range(4):
        await clock.aadvance(0)
        await at_rest()
