"""The sync push consumer, with real threads on a real broker in this process."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections import Counter
from queue import SimpleQueue

import pytest
from mqframe_testing.cluster import Cluster

from mqframe.client.consuming.push.blocking_consumer import PushConsumer
from mqframe.client.sending.blocking_producer import Producer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import ClosedError, FixError, RouteError
from mqframe.core.messages.message import Message, ReceivedMessage

WAIT = 120.0
NOBODY = ClientSettings(nameserver="127.0.0.1:1", patience_seconds=0)


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
    consumer = PushConsumer("nobody", client=NOBODY)
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_waits_for_name_servers_ends_at_once_and_quietly(number, caplog) -> None:
    consumer = PushConsumer("alone", client=NOBODY)
    consumer.subscribe("orders", "*", lambda message: None)

    def signal_once_it_waits() -> None:
        while "waiting for name servers" not in caplog.text:
            threading.Event().wait(0.02)
        os.kill(os.getpid(), number)

    killer = threading.Thread(target=signal_once_it_waits)
    before = signal.getsignal(number)
    killer.start()
    consumer.run()
    killer.join(WAIT)
    assert signal.getsignal(number) is before
    assert "Traceback" not in caplog.text
    assert not [each for each in threading.enumerate() if each.name.startswith("mqframe-consumer-alone")]


def test_a_run_that_shall_not_wait_raises_one_line() -> None:
    consumer = PushConsumer("alone", client=NOBODY)
    consumer.subscribe("orders", "*", lambda message: None)
    with pytest.raises(RouteError, match="no name server answered") as caught:
        consumer.run(fail_fast=True)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_handlers_run_in_threads_and_a_failure_is_shown_once_with_its_traceback(cluster, caplog) -> None:
    cluster.create_topic("handled")
    send(cluster, "handled", numbered(3))
    seen: SimpleQueue[bytes] = SimpleQueue()

    def handle(message: ReceivedMessage) -> None:
        seen.put(message.body)
        raise ValueError("no stock")

    consumer = PushConsumer("handlers", nameserver=cluster.nameserver, consume_from="first")
    consumer.on("handled")(handle)
    with consumer:
        assert sorted(seen.get(timeout=WAIT) for _ in range(3)) == numbered(3)
    failures = [r for r in caplog.records if r.getMessage().startswith("messages were not consumed")]
    assert len(failures) == 3
    assert [bool(record.exc_info) for record in failures] == [True, False, False]
