"""The sync API of lite pull and simple consumers, with threads, on a broker in this process."""

from __future__ import annotations

import os
import threading
import warnings
from collections import Counter

import pytest
from mqframe_pop.client.blocking_consumer import SimpleConsumer
from mqframe_pull.lite_pull.blocking_consumer import LitePullConsumer
from mqframe_testing.cluster import Cluster
from real_time import until

from mqframe.client.sending.blocking_producer import Producer
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import ClosedError, FixError, ReceiptError, RouteError
from mqframe.core.messages.message import Message, MessageQueue

WAIT = 120.0


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


def send(cluster: Cluster, topic: str, count: int, *, queues: int = 4) -> list[bytes]:
    """Make a topic with `count` numbered messages, dealt out to its queues."""
    cluster.create_topic(topic, queues)
    bodies = [b"%d" % n for n in range(count)]
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        for n, body in enumerate(bodies):
            producer.send(Message(topic, body), queue=MessageQueue(topic, "broker-a", n % queues))
    return bodies


def test_lite_pull_from_several_threads(cluster) -> None:
    bodies = send(cluster, "threads", 100)
    got: list[bytes] = []
    with LitePullConsumer("threads", nameserver=cluster.nameserver, consume_from="first") as consumer:
        consumer.subscribe("threads")

        def work() -> None:
            while len(got) < 100:
                got.extend(message.body for message in consumer.poll(0.1, max_messages=5))

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(WAIT)
        assert Counter(got) == Counter(bodies)
        consumer.commit()
        for number in range(4):
            queue = MessageQueue("threads", "broker-a", number)
            assert consumer.committed(queue) == 25
        assert "@" in consumer.client_id
    with pytest.raises(ClosedError, match="is not running"):
        consumer.poll(0.1)
    with pytest.raises(ClosedError, match="was stopped"):
        consumer.start()
    consumer.stop()


def test_lite_pull_moves_about(cluster) -> None:
    bodies = send(cluster, "moving", 6, queues=1)
    queue = MessageQueue("moving", "broker-a", 0)
    consumer = LitePullConsumer("moving", nameserver=cluster.nameserver, consume_from="first")
    consumer.assign([queue])
    with pytest.raises(FixError, match="excludes"):
        consumer.subscribe("moving")
    with consumer:
        assert consumer.assignment == consumer.queues("moving") == [queue]
        assert [m.body for m in consumer.poll(WAIT)] == bodies
        consumer.seek(queue, 4)
        assert [m.body for m in consumer.poll(WAIT)] == bodies[4:]
        consumer.seek_to_begin(queue)
        first = consumer.poll(WAIT, max_messages=1)[0]
        assert first.body == b"0"
        assert consumer.offset_for_timestamp(queue, first.store_timestamp) == 0
        consumer.seek_to_end(queue)
        assert consumer.poll(0.05) == []
        consumer.pause([queue])
        assert consumer.paused == [queue]
        consumer.resume([queue])
        assert consumer.paused == []
        consumer.commit({queue: 2})
        assert consumer.committed(queue) == 2


def test_listeners_may_call_the_consumer(cluster) -> None:
    bodies = send(cluster, "listening", 8, queues=2)
    told: list[tuple[str, int, int]] = []
    topics: list[list[MessageQueue]] = []
    consumer = LitePullConsumer("listening", nameserver=cluster.nameserver)

    def assigned(topic, everything, mine) -> None:
        for queue in mine:
            consumer.seek_to_begin(queue)
        told.append((topic, len(everything), len(mine)))

    consumer.subscribe("listening", "*", assigned)
    got: list[bytes] = []
    with consumer:
        consumer.on_queue_change("listening", lambda topic, queues: topics.append(queues))
        until(lambda: told == [("listening", 2, 2)])
        while len(got) < 8:
            got += [message.body for message in consumer.poll(WAIT)]
        consumer.unsubscribe("listening")
        assert consumer.assignment == []
    assert set(got) == set(bodies)
    assert topics == []


def test_simple_consumer_from_several_threads(cluster) -> None:
    bodies = send(cluster, "popping", 60)
    got: list[bytes] = []
    options = {"nameserver": cluster.nameserver, "consume_from": "first", "await_duration": 0.2}
    with SimpleConsumer("popping", **options) as consumer:
        consumer.subscribe("popping")

        def work() -> None:
            while messages := consumer.receive(7, 30.0):
                for message in messages[:3]:
                    consumer.ack(message)
                consumer.ack_batch(messages[3:])
                got.extend(message.body for message in messages)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(WAIT)
        assert Counter(got) == Counter(bodies)
        assert consumer.topics == ["popping"]


def test_simple_consumer_changes_the_time_of_a_message(cluster) -> None:
    send(cluster, "changing", 1)
    options = {"nameserver": cluster.nameserver, "consume_from": "first", "await_duration": 5.0}
    with SimpleConsumer("changing", **options) as consumer:
        consumer.subscribe("changing")
        [message] = consumer.receive(1, 30.0)
        handle = consumer.change_invisible_duration(message, 60.0)
        assert handle == message.receipt_handle
        consumer.ack(message)
        with pytest.raises(ReceiptError):
            consumer.ack(message)
        consumer.unsubscribe("changing")
        with pytest.raises(FixError, match="has no subscription"):
            consumer.receive()
    with pytest.raises(ClosedError):
        consumer.receive()


@pytest.mark.parametrize("kind", [LitePullConsumer, SimpleConsumer])
def test_a_start_that_fails_leaves_nothing_behind(kind) -> None:
    before = threading.active_count()
    consumer = kind("failing", client=ClientSettings(nameserver="127.0.0.1:1", patience_seconds=0))
    consumer.subscribe("orders")
    with pytest.raises(RouteError, match="no name server answered"):
        consumer.start()
    assert threading.active_count() == before


@pytest.mark.parametrize("kind", [LitePullConsumer, SimpleConsumer])
def test_a_forked_process_cannot_use_it(cluster, kind) -> None:
    consumer = kind("forking", nameserver=cluster.nameserver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            consumer.start()
        except ClosedError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
