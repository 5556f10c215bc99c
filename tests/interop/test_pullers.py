"""Lite pull consumers of Java on our broker and beside ours; our pull and simple consumers on Apache's."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.commits import remember, until_committed
from interop.servers import Servers
from mqframe import (
    Admin,
    AnswerError,
    FixError,
    LitePullConsumer,
    LitePullSettings,
    Message,
    MessageQueue,
    PoppedMessage,
    Producer,
    Puller,
    PullStatus,
    ReceiptError,
    ReceivedMessage,
    SimpleConsumer,
)

WAIT = 120.0


@pytest.fixture
def producer(servers: Servers) -> Iterator[Producer]:
    """A producer on the servers under test."""
    with Producer("interop", nameserver=servers.nameserver) as producer:
        yield producer


def send(producer: Producer, queue: MessageQueue, *bodies: str, tag: str | None = None) -> None:
    for body in bodies:
        producer.send(Message(queue.topic, body.encode(), tag), queue=queue)


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    return [message.body.decode() for message in messages]


def poll(consumer: LitePullConsumer, count: int) -> list[str]:
    """At least `count` messages, in as many polls as it takes."""
    got: list[str] = []
    end = time.monotonic() + WAIT
    while len(got) < count and time.monotonic() < end:
        got += bodies(consumer.poll(0.2))
    return got


def receive(consumer: SimpleConsumer, count: int, seconds: float = 300.0) -> list[PoppedMessage]:
    got: list[PoppedMessage] = []
    end = time.monotonic() + WAIT
    while len(got) < count and time.monotonic() < end:
        got += consumer.receive(min(32, count - len(got)), seconds)
    assert len(got) == count
    return got


# Java on our broker


@pytest.mark.proves("pulling")
def test_java_moves_about_in_assigned_queues(java, cluster: Cluster) -> None:
    cluster.create_topic("moving", queues=2)
    first, second = (MessageQueue("moving", "broker-a", n) for n in range(2))
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        send(producer, first, "a", "b")
        send(producer, second, "x", "y")
        time.sleep(0.01)
        middle = time.time_ns() // 1_000_000
        time.sleep(0.01)
        send(producer, first, "c", "d")
    facts = {
        line[0]: line[1]
        for line in java("Pull", "assigned", cluster.nameserver, "moving", "movers", str(middle)).finish()
    }
    assert facts == {
        "queues": "2",
        "all": "0:a,0:b,0:c,0:d",
        "sought": "0:b,0:c,0:d",
        "begin": "0:a,0:b,0:c,0:d",
        "end": "0",
        "time": "2",
        "since": "0:c,0:d",
        "paused": "0",
        "resumed": "0:a,0:b,0:c,0:d",
        "beyond": "refused",
        "committed": "4",
    }
    with Puller("movers", nameserver=cluster.nameserver) as puller:
        assert (puller.committed(first), puller.committed(second)) == (4, None)


@pytest.mark.proves("pulling")
def test_java_and_python_lite_members_share_a_group(java, servers: Servers, producer: Producer) -> None:
    topic = group = f"both_{time.time_ns()}"
    with Admin(nameserver=servers.nameserver) as admin:
        admin.topics.create(topic, queues=4)
        until(lambda: topic in admin.topics.list())
    queues = [MessageQueue(topic, servers.broker_name, n) for n in range(4)]
    settings = LitePullSettings(auto_commit_seconds=0.1)
    with LitePullConsumer(
        group, nameserver=servers.nameserver, consume_from="first", settings=settings
    ) as ours:
        ours.subscribe(topic, "keep")
        until(lambda: len(ours.assignment) == 4)
        theirs = java("Pull", "member", servers.nameserver, topic, group, "keep")
        theirs.take("started", 1)
        until(lambda: len(ours.assignment) == 2)
        until(lambda: ["has", "2"] in theirs.waiting("has"))
        for queue in queues:
            send(producer, queue, *[f"{queue.queue_id}-{n}" for n in range(10)], tag="keep")
            send(producer, queue, f"{queue.queue_id}-unwanted", tag="drop")
        mine = poll(ours, 20)
        other = [line[5] for line in theirs.take("got", 20)]
        assert Counter(mine + other) == Counter(f"{q}-{n}" for q in range(4) for n in range(10))
        assert {body[0] for body in mine} == {str(queue.queue_id) for queue in ours.assignment}
        for number in range(4):
            number = str(number)
            kept = [body for body in mine + other if body[0] == number]
            assert kept == [f"{number}-{n}" for n in range(10)]
        theirs.finish()
        until(lambda: len(ours.assignment) == 4)
        for queue in queues:
            send(producer, queue, f"{queue.queue_id}-late", tag="keep")
        rest: list[str] = []
        while sum(body.endswith("late") for body in rest) < 4:
            rest += poll(ours, 1)
        assert sorted(body for body in rest if body.endswith("late")) == [f"{n}-late" for n in range(4)]
        # Java's member may leave before its last commit: what it had may come again, and nothing else.
        assert {body for body in rest if not body.endswith("late")} <= set(other)
    until_committed(servers, group, dict.fromkeys(queues, 12))


@pytest.mark.proves("pop")
def test_java_that_pops_and_a_simple_consumer_share_a_group(newest_java, cluster: Cluster) -> None:
    cluster.create_topic("popped", queues=4)
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.groups.create("popping")
        admin.groups.set_request_mode("popping", "popped", "POP")
    options = {"nameserver": cluster.nameserver, "consume_from": "first", "await_duration": 0.2}
    with (
        Producer("shop", nameserver=cluster.nameserver) as producer,
        SimpleConsumer("popping", **options) as ours,
    ):
        ours.subscribe("popped")
        theirs = newest_java("Pop", "consume", cluster.nameserver, "popped", "popping")
        theirs.take("started", 1)
        mine: list[str] = []
        other: list[str] = []
        sent = 0

        def complete() -> bool:
            nonlocal sent
            # Whoever is slow to start must have some, too.
            if sent < 400 or not (mine and other):
                for _ in range(8):
                    producer.send(Message("popped", b"%d" % sent))
                    sent += 1
            messages = ours.receive(4, 300.0)
            ours.ack_batch(messages)
            mine.extend(bodies(messages))
            other.extend(line[2] for line in theirs.waiting("got"))
            return len(mine) + len(other) >= sent and bool(mine and other)

        until(complete)
        assert Counter(mine + other) == Counter(str(n) for n in range(sent))


# Ours on Apache's broker and on our own


@pytest.mark.proves("pulling")
def test_lite_pull_moves_about(servers: Servers, topic: str, producer: Producer) -> None:
    first = MessageQueue(topic, servers.broker_name, 0)
    send(producer, first, "a", "b")
    time.sleep(0.01)
    middle = time.time_ns() // 1_000_000
    time.sleep(0.01)
    send(producer, first, "c", "d")
    with LitePullConsumer(
        "lite_moving", nameserver=servers.nameserver, consume_from="first", auto_commit=False
    ) as consumer:
        assert consumer.queues(topic) == [MessageQueue(topic, servers.broker_name, n) for n in range(4)]
        consumer.assign([first])
        assert poll(consumer, 4) == ["a", "b", "c", "d"]
        consumer.seek(first, 1)
        assert poll(consumer, 3) == ["b", "c", "d"]
        consumer.seek_to_begin(first)
        assert poll(consumer, 4) == ["a", "b", "c", "d"]
        consumer.seek_to_end(first)
        assert consumer.poll(0.5) == []
        assert consumer.offset_for_timestamp(first, middle) == 2
        consumer.seek(first, 2)
        assert poll(consumer, 2) == ["c", "d"]
        with pytest.raises(FixError, match="goes from 0 to 4"):
            consumer.seek(first, 5)
        consumer.commit({first: 3})
        until(lambda: consumer.committed(first) == 3)
    with Puller("lite_moving", nameserver=servers.nameserver) as puller:
        until(lambda: puller.committed(first) == 3)
    with LitePullConsumer("lite_moving", nameserver=servers.nameserver) as consumer:
        consumer.assign([first])
        assert poll(consumer, 1) == ["d"]


@pytest.mark.proves("pulling")
def test_lite_pull_members_share(servers: Servers, topic: str, producer: Producer) -> None:
    queues = [MessageQueue(topic, servers.broker_name, n) for n in range(4)]
    options = {"nameserver": servers.nameserver, "consume_from": "first"}
    remember(servers, "lite_sharing", topic)
    with (
        LitePullConsumer("lite_sharing", **options) as one,
        LitePullConsumer("lite_sharing", **options) as two,
    ):
        one.subscribe(topic, "keep")
        two.subscribe(topic, "keep")
        until(lambda: len(one.assignment) == len(two.assignment) == 2)
        for queue in queues:
            send(producer, queue, *[f"{queue.queue_id}-{n}" for n in range(5)], tag="keep")
        assert Counter(poll(one, 10) + poll(two, 10)) == Counter(
            f"{q}-{n}" for q in range(4) for n in range(5)
        )
    with Admin(nameserver=servers.nameserver) as admin:
        until(lambda: admin.groups.lag("lite_sharing", topic) == 0)


@pytest.mark.proves("pulling")
def test_plain_pulls(servers: Servers, topic: str, producer: Producer) -> None:
    queue = MessageQueue(topic, servers.broker_name, 1)
    send(producer, queue, "a", "b", tag="keep")
    send(producer, queue, "c", tag="drop")
    with Puller("plain_pulls", nameserver=servers.nameserver) as puller:
        found = puller.pull(queue, 0, expression="keep")
        assert (found.status, bodies(found.messages), found.next_offset) == (PullStatus.FOUND, ["a", "b"], 3)
        assert puller.pull(queue, 2, expression="keep").status is PullStatus.NO_MATCHED_MSG
        assert puller.pull(queue, 3).status is PullStatus.NO_NEW_MSG
        beyond = puller.pull(queue, 9)
        assert (beyond.status, beyond.next_offset) == (PullStatus.OFFSET_ILLEGAL, 3)
        puller.commit(queue, 2)
        assert puller.committed(queue) == 2
    with (
        Puller("never_heard_of", nameserver=servers.nameserver) as puller,
        pytest.raises(AnswerError) as caught,
    ):
        puller.commit(queue, 2)
    assert caught.value.code == 26


@pytest.mark.proves("pop")
def test_simple_consumer(servers: Servers, topic: str, producer: Producer) -> None:
    sent = {producer.send(Message(topic, b"%d" % n, "keep")).message_id for n in range(20)}
    producer.send(Message(topic, b"unwanted", "drop"))
    with SimpleConsumer(
        "simple", nameserver=servers.nameserver, consume_from="first", await_duration=1.0
    ) as consumer:
        consumer.subscribe(topic, "keep")
        got = receive(consumer, 20)
        assert {message.message_id for message in got} == sent
        assert {(m.topic, m.delivery_attempt, m.broker_name) for m in got} == {
            (topic, 1, servers.broker_name)
        }
        for message in got[:5]:
            consumer.ack(message)
        consumer.ack_batch(got[5:])
        with pytest.raises(ReceiptError, match="acknowledged before"):
            consumer.ack(got[0])
        assert consumer.receive(8, 10.0) == []


@pytest.mark.proves("pop")
def test_simple_consumer_gets_again_what_it_does_not_acknowledge(
    servers: Servers, topic: str, producer: Producer
) -> None:
    with SimpleConsumer(
        "simple_again", nameserver=servers.nameserver, consume_from="first", await_duration=1.0
    ) as consumer:
        consumer.subscribe(topic)
        producer.send(Message(topic, b"slow"))
        [slow] = receive(consumer, 1)
        handle = slow.receipt_handle
        assert consumer.change_invisible_duration(slow, 300.0) != handle
        producer.send(Message(topic, b"forgotten"))
        [forgotten] = receive(consumer, 1, 2.0)
        [again] = receive(consumer, 1)
        assert (again.body, again.topic, again.delivery_attempt) == (b"forgotten", topic, 2)
        assert again.properties["1ST_POP_TIME"] == forgotten.properties["1ST_POP_TIME"]
        with pytest.raises(ReceiptError, match="delivered again"):
            consumer.ack(forgotten)
        consumer.ack_batch([again, slow])
        assert consumer.receive(8, 10.0) == []


@pytest.mark.proves("pop")
def test_simple_consumer_in_order(servers: Servers, topic: str, producer: Producer) -> None:
    queue = MessageQueue(topic, servers.broker_name, 2)
    with SimpleConsumer(
        "simple_order", nameserver=servers.nameserver, consume_from="first", await_duration=1.0, ordered=True
    ) as consumer:
        consumer.subscribe(topic)
        send(producer, queue, *"abcd")
        first = receive(consumer, 2)
        assert bodies(first) == ["a", "b"]
        assert consumer.receive(8, 5.0) == []
        consumer.ack(first[0])
        consumer.ack(first[1])
        rest = receive(consumer, 2)
        assert bodies(rest) == ["c", "d"]
        consumer.ack_batch(rest)
