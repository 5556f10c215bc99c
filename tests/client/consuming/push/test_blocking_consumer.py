"""The sync push consumer, with real threads on a real broker in this process."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections import Counter
from queue import SimpleQueue

import pytest

from mqframe.client.consuming.push.blocking_consumer import PushConsumer
from mqframe.client.sending.blocking_producer import Producer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import ClosedError, FixError, RouteError
from mqframe.core.messages.message import Message
from mqframe.testing.cluster import Cluster

WAIT = 120.0


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


class Inbox:
    """What arrived, to be waited for."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[bytes] = SimpleQueue()
        self.threads: set[str] = set()

    def __call__(self, messages, context):
        self.threads.add(threading.current_thread().name)
        for message in messages:
            self.queue.put(message.body)
        return ConsumeResult.SUCCESS

    def take(self, count: int) -> list[bytes]:
        return [self.queue.get(timeout=WAIT) for _ in range(count)]


def send(cluster: Cluster, topic: str, bodies: list[bytes]) -> None:
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        for body in bodies:
            producer.send(Message(topic, body))


def numbered(count: int) -> list[bytes]:
    return [b"%d" % n for n in range(count)]


def test_listeners_run_in_threads_and_progress_survives(cluster) -> None:
    cluster.create_topic("blocking")
    send(cluster, "blocking", numbered(200))
    first, second = Inbox(), Inbox()
    consumer = PushConsumer("blocking", nameserver=cluster.nameserver, consume_from="first")
    assert consumer.on("blocking")(first) is first
    with consumer:
        assert Counter(first.take(200)) == Counter(numbered(200))
        assert [queue.queue_id for queue in consumer.queues] == [0, 1, 2, 3]
        assert "@" in consumer.client_id
    assert all(name.startswith("mqframe-consume-blocking") for name in first.threads)
    with pytest.raises(ClosedError):
        consumer.start()
    again = PushConsumer("blocking", nameserver=cluster.nameserver, consume_from="first")
    again.subscribe("blocking", "*", second, batch_max=8)
    with again:
        send(cluster, "blocking", [b"later"])
        assert second.take(1) == [b"later"]
    assert second.queue.empty()


def test_async_listeners_run_in_the_loop(cluster) -> None:
    cluster.create_topic("mixed")
    inbox = Inbox()
    consumer = PushConsumer("mixed", nameserver=cluster.nameserver, consume_from="first")

    @consumer.on("mixed")
    async def handle(messages, context):
        return inbox(messages, context)

    with consumer:
        send(cluster, "mixed", numbered(20))
        assert Counter(inbox.take(20)) == Counter(numbered(20))
    assert len(inbox.threads) == 1


def test_subscriptions_change_while_it_runs(cluster) -> None:
    cluster.create_topic("early")
    cluster.create_topic("late")
    early, late = Inbox(), Inbox()
    consumer = PushConsumer("changing", nameserver=cluster.nameserver, consume_from="first")
    consumer.subscribe("early", "*", early)
    send(cluster, "late", numbered(10))
    with consumer:
        consumer.suspend()
        consumer.subscribe("late", "*", late)
        consumer.resume()
        assert Counter(late.take(10)) == Counter(numbered(10))
        consumer.unsubscribe("late")


def test_failed_start_can_be_repeated() -> None:
    consumer = PushConsumer("nobody", nameserver="127.0.0.1:1")
    with pytest.raises(FixError, match="no subscription"):
        consumer.start()
    consumer.subscribe("orders", "*", Inbox())
    for _ in range(2):
        with pytest.raises(RouteError, match="no name server answered"):
            consumer.start()
    consumer.stop()
    consumer.stop()


def test_run_ends_on_sigterm(cluster) -> None:
    cluster.create_topic("running")
    inbox = Inbox()
    consumer = PushConsumer("running", nameserver=cluster.nameserver, consume_from="first")

    @consumer.on("running")
    def handle(messages, context):
        os.kill(os.getpid(), signal.SIGTERM)
        return inbox(messages, context)

    send(cluster, "running", [b"last words"])
    before = signal.getsignal(signal.SIGTERM)
    consumer.run()
    assert signal.getsignal(signal.SIGTERM) is before
    assert inbox.take(1) == [b"last words"]
    assert consumer.queues == []


def test_not_after_a_fork(cluster) -> None:
    consumer = PushConsumer("forked", nameserver=cluster.nameserver)
    consumer.subscribe("blocking", "*", Inbox())
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads
        child = os.fork()
    if child == 0:
        try:
            consumer.start()
        except ClosedError:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"refused"
