"""Consumers of a real broker, whose answers get lost, whose messages come again, and are sent again."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mqframe_idempotence import AsyncRedisStore, MemoryStore, Once, OnceInTransaction, SqlStore
from mqframe_idempotence.counts import Counted
from mqframe_testing import Cluster
from real_time import until
from redis_server import RedisServer
from stores_to_try import kinds

from mqframe import (
    Admin,
    AsyncPushConsumer,
    ConsumeResult,
    FixError,
    LitePullConsumer,
    Message,
    Producer,
    PushConsumer,
    SimpleConsumer,
)

ONE_SECOND = 1
"""The delay level."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name = request.node.name.removeprefix("test_")
    cluster.create_topic(name, 1)
    return str(name)


def send(cluster: Cluster, topic: str, *keys: str) -> None:
    with Producer(group="shop", nameserver=cluster.nameserver) as producer:
        for key in keys:
            producer.send(Message(topic, key.encode(), keys=[key]))


@pytest.mark.parametrize("database", ["sqlite", "mariadb", "postgres"])
def test_lost_acknowledgements_leave_one_effect(
    cluster: Cluster, request: pytest.FixtureRequest, database: str
) -> None:
    """Each message is done, but its success gets lost, so that the broker delivers it again."""
    topic = f"lost_acknowledgements_{database}"
    cluster.create_topic(topic, 1)
    kind = kinds()[f"{database}, kept connections"](request)
    once = kind.once(key="keys")

    @once.listener(ordered=False)
    def charge(messages: Any, context: Any, connection: Any) -> ConsumeResult:
        connection.cursor().executemany(kind.insert, [(m.keys[0],) for m in messages])
        return ConsumeResult.SUCCESS

    answers: list[int] = []

    def forgetful(messages: Any, context: Any) -> ConsumeResult:
        result = charge(messages, context)
        assert result is ConsumeResult.SUCCESS
        answers.extend(m.reconsume_times for m in messages)
        context.delay_level_when_next_consume = ONE_SECOND
        again = any(m.reconsume_times < 2 for m in messages)
        return ConsumeResult.RECONSUME_LATER if again else result

    keys = [f"k{number}" for number in range(6)]
    consumer = PushConsumer(group=topic, nameserver=cluster.nameserver, consume_from="first")
    consumer.subscribe(topic, "*", forgetful, batch_max=3)
    send(cluster, topic, *keys, "k0")  # and the producer sends one twice
    with consumer:
        until(lambda: answers.count(2) == 7)
    assert kind.names() == keys
    kind.close()
    counted = once.counts.snapshot()
    assert (counted.effects, counted.duplicates) == (6, 15)


def test_dead_letters_that_are_sent_again_have_one_effect(cluster: Cluster, topic: str) -> None:
    once = Once(MemoryStore(), "billing")
    effects: list[str] = []
    calls: list[str] = []
    handle = once.handler(lambda message: effects.append(message.keys[0]))

    def listener(messages: Any, context: Any) -> ConsumeResult:
        handle(messages[0])
        calls.append(messages[0].keys[0])
        if len(calls) == 1:
            context.delay_level_when_next_consume = -1  # done, but the broker hears that it is dead
            return ConsumeResult.RECONSUME_LATER
        return ConsumeResult.SUCCESS

    consumer = PushConsumer(group=topic, nameserver=cluster.nameserver, consume_from="first")
    consumer.subscribe(topic, "*", listener)
    send(cluster, topic, "a")
    with consumer, Admin(nameserver=cluster.nameserver) as admin:
        until(lambda: calls)
        letters: list[Any] = []

        def found() -> bool:
            with contextlib.suppress(FixError):  # the topic of dead letters comes with the first of them
                admin.dead_letters.open(topic)
                letters[:] = admin.dead_letters.list(topic)
            return bool(letters)

        until(found)
        admin.dead_letters.resend(letters)
        until(lambda: len(calls) == 2)
    assert effects == ["a"]
    assert once.counts.snapshot() == Counted(effects=1, duplicates=1)


def test_in_order_a_message_in_progress_holds_its_queue(cluster: Cluster, topic: str) -> None:
    once = Once(MemoryStore(), "billing", key="keys")
    effects: list[str] = []

    @once.listener(ordered=True)
    def charge(messages: Any, context: Any) -> ConsumeResult:
        effects.extend(m.keys[0] for m in messages)
        return ConsumeResult.SUCCESS

    def listener(messages: Any, context: Any) -> Any:
        context.suspend_current_queue_time_millis = 50
        return charge(messages, context)

    consumer = PushConsumer(group=topic, nameserver=cluster.nameserver, consume_from="first", ordered=True)
    consumer.subscribe(topic, "*", listener)
    send(cluster, topic, "a", "b", "c")
    with Producer(group="shop", nameserver=cluster.nameserver) as producer:
        producer.send(Message(topic, b"x", keys=["b"]))

    class Elsewhere:
        """Another delivery of b, which somebody works on."""

        keys, properties, message_id = ["b"], {"KEYS": "b"}, "b"

    with consumer:
        elsewhere: Any = Elsewhere()

        def work_there() -> None:
            with once.processing(elsewhere) as work:
                assert work.fresh
                until(lambda: once.counts.snapshot().in_progress >= 3)
                assert effects == ["a"]
                raise ZeroDivisionError  # it fails, so that b is still to be done

        with pytest.raises(ZeroDivisionError):
            work_there()
        until(lambda: len(effects) == 3 and once.counts.snapshot().duplicates)
    assert effects == ["a", "b", "c"]


async def test_an_asynchronous_consumer_with_redis(
    cluster: Cluster, topic: str, redis_server: RedisServer
) -> None:
    import redis.asyncio

    # Doubles lie behind all firsts, so that these are likely over; in progress they come again after 10 s.
    send(cluster, topic, "a", "b", "c", "d", "a", "b", "c", "d")
    async with redis.asyncio.Redis(port=redis_server.port) as client:
        once = Once(AsyncRedisStore(client, prefix=f"{topic}:"), "billing", key="keys")
        effects: list[str] = []
        come = 0
        over = asyncio.Event()

        @once.listener
        async def charge(messages: Any, context: Any) -> ConsumeResult:
            await asyncio.sleep(0)
            effects.extend(m.keys[0] for m in messages)
            return ConsumeResult.SUCCESS

        async def listener(messages: Any, context: Any) -> ConsumeResult:
            nonlocal come
            result = await charge(messages, context)
            come += len(messages)
            if come >= 8:
                over.set()
            return result

        consumer = AsyncPushConsumer(group=topic, nameserver=cluster.nameserver, consume_from="first")
        consumer.subscribe(topic, "*", listener, batch_max=1)
        async with consumer:
            await asyncio.wait_for(over.wait(), 60)
        counted = once.counts.snapshot()
    assert sorted(effects) == ["a", "b", "c", "d"]
    assert counted.effects == 4
    assert counted.duplicates + counted.in_progress >= 4


def test_simple_and_lite_pull_consumers_use_a_block(cluster: Cluster, topic: str) -> None:
    once = Once(MemoryStore(), "billing")
    effects: list[str] = []
    send(cluster, topic, "a", "b")
    simple = SimpleConsumer(group=f"{topic}-simple", nameserver=cluster.nameserver, consume_from="first")
    simple.subscribe(topic)
    with simple:
        got = 0
        while got < 2:
            for message in simple.receive(max_messages=8, invisible_duration=30):
                with once.processing(message) as work:
                    if work.fresh:
                        effects.append(message.keys[0])
                simple.ack(message)
                got += 1
    lite = LitePullConsumer(group=f"{topic}-lite", nameserver=cluster.nameserver, consume_from="first")
    lite.subscribe(topic, "*")
    seen = []
    with lite:
        while len(seen) < 2:
            for message in lite.poll(timeout=5.0):
                once.handler(lambda m: effects.append(m.keys[0]))(message)
                seen.append(message.keys[0])
    assert (effects, seen) == (["a", "b"], ["a", "b"])
    assert once.counts.snapshot() == Counted(effects=2, duplicates=2)


def test_two_members_that_get_one_message_at_once(cluster: Cluster, topic: str) -> None:
    """A slow first delivery, and the same key sent again: the second is put off, then a duplicate."""
    once = Once(MemoryStore(), "billing", key="keys", busy_delay_level=ONE_SECOND)
    go_on = threading.Event()
    effects: list[str] = []

    @once.listener
    def charge(messages: Any, context: Any) -> ConsumeResult:
        assert go_on.wait(60)
        effects.extend(m.keys[0] for m in messages)
        return ConsumeResult.SUCCESS

    consumer = PushConsumer(group=topic, nameserver=cluster.nameserver, consume_from="first")
    consumer.subscribe(topic, "*", charge, batch_max=1)
    send(cluster, topic, "a", "a")
    with consumer:
        until(lambda: once.counts.snapshot().in_progress)
        go_on.set()
        until(lambda: once.counts.snapshot().duplicates)
    assert effects == ["a"]


def test_a_handler_of_one_message_shares_its_transaction(
    cluster: Cluster, topic: str, sqlite_path: Path
) -> None:
    once = OnceInTransaction(SqlStore(lambda: sqlite3.connect(sqlite_path)), topic, key="keys")
    once.store.create_table()
    with contextlib.closing(sqlite3.connect(sqlite_path)) as database:
        database.execute("CREATE TABLE charged (body TEXT)")
    consumer = PushConsumer(group=topic, nameserver=cluster.nameserver, consume_from="first")

    @consumer.on(topic)
    @once.handler
    def charge(message: Any, connection: Any) -> None:
        connection.execute("INSERT INTO charged VALUES (?)", (message.body.decode(),))

    with Producer(group="shop", nameserver=cluster.nameserver) as producer:
        for key in ("k1", "k1", "k2", "k1"):
            producer.send(Message(topic, key.encode(), keys=[key]))
    with consumer:
        until(lambda: once.counts.snapshot().effects + once.counts.snapshot().duplicates == 4)
    with contextlib.closing(sqlite3.connect(sqlite_path)) as database:
        rows = database.execute("SELECT body FROM charged ORDER BY body").fetchall()
    assert rows == [("k1",), ("k2",)]
    assert once.counts.snapshot() == Counted(effects=2, duplicates=2)
