"""Transactions between Java and Python, on our broker and on Apache's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mqframe_testing import Cluster
from mqframe_transactions.settings import TransactionSettings
from real_time import until

from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import (
    Admin,
    HalfMessage,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.storage.record import decode_records

pytestmark = pytest.mark.proves("transactions")

StartJava = Callable[..., ForeignClient]
QUICK = TransactionSettings(timeout_ms=500, check_interval_ms=250)
WORDS = {name.lower(): outcome for name, outcome in TransactionOutcome.__members__.items()}


class Listener(TransactionListener):
    """Answers as the Java listener does: by the words of the body."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self.asked: list[bytes] = []

    def execute_local_transaction(self, message: HalfMessage, arg: Any) -> TransactionOutcome:
        return self._say(message.body, 0)

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.asked.append(message.body)
        time = self.times[message.transaction_id] = self.times.get(message.transaction_id, 0) + 1
        return self._say(message.body, time)

    @staticmethod
    def _say(body: bytes, time: int) -> TransactionOutcome:
        words = body.decode().split("-")
        return WORDS[words[min(time, len(words) - 1)]]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Our servers, with a broker that asks soon and gives up soon."""
    with Cluster(sections=[QUICK]) as running:
        running.create_topic("ends", 4)
        yield running


def bodies(cluster: Cluster, topic: str, queues: int = 1) -> list[bytes]:
    async def read() -> list[bytes]:
        found = [cluster.broker.store.reads.get(topic, queue_id, 0, 1000) for queue_id in range(queues)]
        return [message.body for each in found for part in each.parts for message in decode_records(part)]

    return cluster.run(read())


def test_java_producers_commit_roll_back_and_are_asked(java: StartJava, cluster: Cluster) -> None:
    sent_bodies = ["commit", "rollback", "unknown-commit", "unknown-rollback", "unknown-unknown-commit"]
    producer = java("Transactions", "produce", cluster.nameserver, "java_tx", "ends", *sent_bodies)
    sent = producer.take("sent", 5)
    assert [line[1:3] for line in sent] == [
        ["SEND_OK", "COMMIT_MESSAGE"],
        ["SEND_OK", "ROLLBACK_MESSAGE"],
        ["SEND_OK", "UNKNOW"],
        ["SEND_OK", "UNKNOW"],
        ["SEND_OK", "UNKNOW"],
    ]
    assert all(line[3] == line[4] for line in sent), "the transaction id is the unique key"
    asked: list[list[str]] = []
    while len(asked) < 4:
        # On a slow machine, the broker asks for what its producer is about to end, too.
        asked += [line for line in producer.take("checked", 1) if line[1].startswith("unknown")]
    assert sorted(line[1] for line in asked) == [
        "unknown-commit", "unknown-rollback", "unknown-unknown-commit", "unknown-unknown-commit",
    ]  # fmt: skip
    assert {line[3] for line in asked} == {"ends"}
    wanted = [b"commit", b"unknown-commit", b"unknown-unknown-commit"]
    until(lambda: sorted(bodies(cluster, "ends", 4)) == wanted)
    until(lambda: len(bodies(cluster, OP_HALF_TOPIC)) == 5)
    consumer = java("Transactions", "consume", cluster.nameserver, "ends")
    got = consumer.take("got", 3)
    names = {line[5]: line[3] for line in sent}
    assert {line[1]: line[2] for line in got} == {body.decode(): names[body.decode()] for body in wanted}
    assert producer.waiting("checked") == []
    # A Java producer makes itself known within a second; until then its group has nobody to ask.
    assert len(bodies(cluster, HALF_TOPIC)) >= 9, "five, and each of four checks put its half back"


def test_java_is_given_up_after_its_checks(newest_java: StartJava, cluster: Cluster) -> None:
    producer = newest_java("Transactions", "produce", cluster.nameserver, "java_tx", "ends", "unknown")
    until(lambda: bodies(cluster, CHECK_MAX_TIME_TOPIC) == [b"unknown"])
    asked = [int(line[5]) for line in producer.waiting("checked")]
    assert asked[-1] == 15
    assert asked == list(range(asked[0], 16))
    assert bodies(cluster, "ends", 4) == []


def test_members_of_one_group_in_two_languages(java: StartJava, cluster: Cluster) -> None:
    with TransactionProducer("both_tx", Listener(), nameserver=cluster.nameserver) as producer:
        producer.send_in_transaction(Message("ends", b"unknown-commit"))
        member = java("Transactions", "produce", cluster.nameserver, "both_tx", "ends", "commit")
        member.take("ready", 1)
    until(lambda: sorted(bodies(cluster, "ends", 4)) == [b"commit", b"unknown-commit"])


def test_java_reads_what_python_committed(java: StartJava, cluster: Cluster) -> None:
    consumer = java("Transactions", "consume", cluster.nameserver, "ends")
    consumer.take("started", 1)
    with TransactionProducer("python_tx", Listener(), nameserver=cluster.nameserver) as producer:
        with producer.transaction(Message("ends", b"commit", tag="tag")) as transaction:
            pass
        got = consumer.take("got", 1)
    assert got == [["got", "commit", transaction.transaction_id, transaction.transaction_id, "tag"]]


def test_our_producer_on_either_broker(servers: Servers, topic: str) -> None:
    listener, got = Listener(), []
    consumer = PushConsumer(group="tx_reader", nameserver=servers.nameserver, consume_from="first")

    @consumer.on(topic)
    def take(message: ReceivedMessage) -> None:
        got.append((message.body, message.transaction_id))

    with TransactionProducer("python_tx", listener, nameserver=servers.nameserver) as producer, consumer:
        first = producer.send_in_transaction(Message(topic, b"commit"))
        producer.send_in_transaction(Message(topic, b"rollback"))
        with producer.transaction(Message(topic, b"block")) as second:
            pass
        until(lambda: len(got) >= 2)
    assert sorted(got) == [(b"block", second.transaction_id), (b"commit", first.transaction_id)]


def test_apache_asks_our_producer(apache: Servers) -> None:
    name = "asked_by_apache"
    listener = Listener()
    with Admin(nameserver=apache.nameserver) as admin:
        admin.topics.create(name, queues=1)
        until(lambda: name in admin.topics.list())
        with TransactionProducer("python_asked", listener, nameserver=apache.nameserver) as producer:
            sent = producer.send_in_transaction(Message(name, b"unknown-commit"))
            assert sent.outcome is TransactionOutcome.UNKNOWN
            until(lambda: admin.messages.by_unique_key(name, sent.message_id) is not None)
    assert listener.asked == [b"unknown-commit"]


def test_plain_messages_pass_between_transactions(cluster: Cluster) -> None:
    with Producer("plain", nameserver=cluster.nameserver) as producer:
        assert producer.send(Message("ends", b"plain")).queue_offset == 0
    assert bodies(cluster, "ends", 4) == [b"plain"]
