"""The service in brokers: sends over the wire, killed and restarted brokers, real processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mqframe_deduplication import Deduplication, DeduplicationOptions
from mqframe_testing import Cluster
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.conformance import BrokerServiceConformance

from mqframe import (
    Admin,
    AsyncProducer,
    Message,
    MessageQueue,
    Producer,
    SendResult,
    SendStatus,
    TransactionOutcome,
    TransactionProducer,
)
from mqframe.hooks.interfaces import BrokerPort

KEY = "IDEMPOTENCE_KEY"
SERVICES = {"services": ("deduplication",)}


def message(key: str, body: bytes = b"x", topic: str = "orders") -> Message:
    return Message(topic, body, properties={KEY: key})


def ends(admin: Admin, topic: str = "orders") -> int:
    """How many messages the topic has."""
    return sum(each.max_offset for each in admin.topics.stats(topic).values())


class Shop:
    """A cluster with the service, a producer and an admin."""

    def __init__(self, cluster: Cluster, producer: Producer, admin: Admin) -> None:
        self.cluster, self.producer, self.admin = cluster, producer, admin

    def count(self, topic: str = "orders") -> int:
        return ends(self.admin, topic)

    def counters(self) -> dict[str, str]:
        (address,) = self.admin.cluster.masters().values()
        return self.admin.brokers.runtime(address)


@pytest.fixture
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    options: dict[str, Any] = getattr(request, "param", {})
    with Cluster(1, broker=SERVICES, **options) as cluster:
        cluster.create_topic("orders", 4)
        with (
            Producer("shop", nameserver=cluster.nameserver) as producer,
            Admin(nameserver=cluster.nameserver) as admin,
        ):
            yield Shop(cluster, producer, admin)


@pytest.mark.parametrize(
    "shop", [{}, {"store": {"flush": "SYNC_FLUSH"}}], indirect=True, ids=["async", "sync"]
)
def test_a_double_is_answered_with_the_first_result_and_stored_once(shop: Shop) -> None:
    first = shop.producer.send(message("k"))
    again = [shop.producer.send(message("k", b"another body")) for _ in range(3)]
    assert again == [first] * 3
    assert first.status is SendStatus.SEND_OK
    assert shop.count() == 1
    stored = shop.admin.messages.by_id(first.offset_message_id)
    assert (stored.body, stored.message_id) == (b"x", first.message_id)
    assert shop.producer.send(message("l")) != first
    assert (shop.counters()["deduplicationKeys"], shop.counters()["deduplicationDoubles"]) == ("2", "3")


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_after_a_crash_and_after_a_restart_the_same_keys_are_known(shop: Shop, end: str) -> None:
    results = [shop.producer.send(message(f"k{number}")) for number in range(20)]
    batch = shop.producer.send_batch([message(f"b{number}") for number in range(3)])
    (shop.cluster.kill_broker if end == "kill" else shop.cluster.stop_broker)()
    shop.cluster.start_broker()
    assert [shop.producer.send(message(f"k{number}")) for number in range(20)] == results
    again = shop.producer.send_batch([message(f"b{number}") for number in range(3)])
    assert (again.offset_message_id, again.queue, again.queue_offset) == (
        batch.offset_message_id,
        batch.queue,
        batch.queue_offset,
    )
    assert shop.count() == 23


def test_keys_of_other_topics_are_other_keys(shop: Shop) -> None:
    shop.cluster.create_topic("bills", 1)
    shop.producer.send(message("k"))
    shop.producer.send(message("k", topic="bills"))
    assert (shop.count(), shop.count("bills")) == (1, 1)


async def test_sends_at_the_same_time_give_one_message() -> None:
    async with (
        AsyncCluster(1, broker=SERVICES) as cluster,
        AsyncProducer("shop", nameserver=cluster.nameserver) as producer,
    ):
        await cluster.create_topic("orders", 4)
        results = await asyncio.gather(*[producer.send(message("k")) for _ in range(50)])
        assert len({(r.message_id, r.queue.queue_id, r.queue_offset) for r in results}) == 1
        store = cluster.broker.store
        assert sum(store.queues.max_offset("orders", queue) for queue in range(4)) == 1


def test_sends_over_several_connections_give_one_message(shop: Shop) -> None:
    producers = [Producer(f"shop-{number}", nameserver=shop.cluster.nameserver) for number in range(3)]
    for producer in producers:
        producer.start()
    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(lambda n: producers[n % 3].send(message(f"k{n // 3}")), range(90)))
    for producer in producers:
        producer.stop()
    assert shop.count() == 30
    assert all(len({r.offset_message_id for r in results[n : n + 3]}) == 1 for n in range(0, 90, 3))


def test_of_a_batch_each_message_is_decided_alone(shop: Shop) -> None:
    queue = MessageQueue("orders", "broker-a", 1)
    first = shop.producer.send(message("b"), queue=MessageQueue("orders", "broker-a", 3))
    plain = Message("orders", b"plain")
    result = shop.producer.send_batch([message("a"), message("b"), plain, message("a")], queue=queue)
    ids = result.offset_message_id.split(",")
    assert ids[1] == first.offset_message_id
    assert ids[0] == ids[3]
    assert result.batch_places == "1:0,3:0,1:1,1:0"
    assert shop.count() == 3
    assert [shop.admin.messages.by_id(ids[number]).body for number in (0, 2)] == [b"x", b"plain"]
    in_one_row = shop.producer.send_batch([message("b"), message("c")], queue=first.queue)
    assert in_one_row.batch_places == "3:0,3:1"
    doubles = shop.producer.send_batch([message("b"), message("c")], queue=queue)
    assert (doubles.batch_places, doubles.queue_offset) == (None, 0)
    assert doubles.offset_message_id == in_one_row.offset_message_id


def test_submitted_messages_are_told_where_the_first_lies(shop: Shop) -> None:
    firsts = [shop.producer.send(message(f"k{number}")) for number in range(0, 20, 2)]
    futures = [shop.producer.submit(message(f"k{number}")) for number in range(20)]
    results: list[SendResult] = [future.result(120) for future in futures]
    assert [(r.queue, r.queue_offset, r.offset_message_id) for r in results[::2]] == [
        (r.queue, r.queue_offset, r.offset_message_id) for r in firsts
    ]
    assert shop.count() == 20
    for result in results:
        stored = shop.admin.messages.by_id(result.offset_message_id)
        assert (stored.queue_id, stored.queue_offset) == (result.queue.queue_id, result.queue_offset)


def test_delayed_doubles_wait_once(shop: Shop) -> None:
    first = shop.producer.send(message("k"), delay=60)
    again = shop.producer.send(message("k"), delay=60)
    assert again == first
    assert first.recall_handle is not None
    shop.cluster.kill_broker()
    shop.cluster.start_broker()
    assert shop.producer.send(message("k"), delay=60) == first


def test_a_half_message_that_was_rolled_back_swallows_nothing(shop: Shop) -> None:
    outcomes = iter([TransactionOutcome.ROLLBACK, TransactionOutcome.COMMIT])
    with TransactionProducer("bank", nameserver=shop.cluster.nameserver) as producer:
        for outcome in outcomes:
            with producer.transaction(message("k")) as transaction:
                if outcome is TransactionOutcome.ROLLBACK:
                    transaction.rollback()
    assert shop.count() == 1
    shop.producer.send(message("k"))
    assert shop.count() == 2, "transactions take no part"


class TestConformance(BrokerServiceConformance):
    """What every service of a broker has to do."""

    def make(self, port: BrokerPort) -> Deduplication:
        return Deduplication(port, DeduplicationOptions())
