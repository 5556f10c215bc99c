"""A broker, and topics of a test's own, for jobs in a real Spark."""

import queue
import threading
import time
from collections import Counter
from typing import Any

import pytest

from mqframe import (
    Admin,
    ConsumeResult,
    DeadLetter,
    Message,
    MessageQueue,
    Producer,
    Puller,
    PushConsumer,
    ReceivedMessage,
)
from mqframe.core.errors import FixError


class Place:
    """A cluster, and names of this test's own."""

    def __init__(self, cluster: Any, name: str) -> None:
        self.cluster = cluster
        self.nameserver = cluster.nameserver
        self.source = {"nameserver": cluster.nameserver}
        self.name = name.removeprefix("test_")[:60]

    def topic(self, suffix: str = "", queues: int = 2) -> str:
        topic = f"{self.name}{suffix}"
        self.cluster.create_topic(topic, queues)
        return topic

    def send(self, topic: str, numbers: range, queues: int = 2) -> None:
        """Number n goes to queue n % queues, with the customer n % 5."""
        with Producer("p", nameserver=self.nameserver) as producer:
            for number in numbers:
                message = Message(
                    topic,
                    b"%d" % number,
                    tag=f"tag{number % 3}",
                    keys=["all", f"k{number}"],
                    properties={"number": str(number), "customer": f"c{number % queues}{number % 5}"},
                    flag=number,
                )
                producer.send(message, queue=MessageQueue(topic, "broker-a", number % queues))

    def read(self, topic: str) -> dict[int, list[ReceivedMessage]]:
        """All messages of a topic, by queue."""
        found: dict[int, list[ReceivedMessage]] = {}
        with Puller("reader", nameserver=self.nameserver) as puller:
            for queue in puller.queues(topic):
                at, end = puller.min_offset(queue), puller.max_offset(queue)
                messages = found.setdefault(queue.queue_id, [])
                while at < end:
                    result = puller.pull(queue, at, 32)
                    messages += result.messages
                    at = result.next_offset
        return found

    def all(self, topic: str) -> list[ReceivedMessage]:
        return [message for found in self.read(topic).values() for message in found]

    def numbers(self, topic: str) -> Counter[int]:
        """The bodies of all messages of a topic."""
        return Counter(int(message.body) for message in self.all(topic))

    def give_up(self, group: str, *topics: str) -> None:
        """The group gives up all that is in `topics`; its dead letters are closed."""
        expected = {message.message_id for topic in topics for message in self.all(topic)}
        done = threading.Semaphore(0)

        def give_up(messages: Any, context: Any) -> ConsumeResult:
            context.delay_level_when_next_consume = -1
            done.release()
            return ConsumeResult.RECONSUME_LATER

        consumer = PushConsumer(group, nameserver=self.nameserver, consume_from="first")
        for topic in topics:
            consumer.subscribe(topic, "*", give_up, batch_max=1)
        with consumer, Admin(nameserver=self.nameserver) as admin:
            for _ in expected:
                assert done.acquire(timeout=120)
            deadline = time.monotonic() + 120
            while {each.unique_key for each in self.dead_letters(admin, group)} != expected:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            admin.dead_letters.close(group)

    def dead_letters(self, admin: Admin, group: str) -> list[DeadLetter]:
        admin.dead_letters.open(group)
        try:
            return admin.dead_letters.list(group)
        except FixError:  # the first came, and their topic with it, since there was none to open
            return []

    def consume(self, group: str, topic: str, count: int) -> Counter[int]:
        """The bodies of the first `count` messages that a member of the group gets as those of `topic`."""
        found: queue.SimpleQueue[int] = queue.SimpleQueue()
        consumer = PushConsumer(group, nameserver=self.nameserver, consume_from="first")

        @consumer.on(topic)
        def listen(message: ReceivedMessage) -> ConsumeResult:
            assert message.topic == topic
            found.put(int(message.body))
            return ConsumeResult.SUCCESS

        with consumer:
            return Counter(found.get(timeout=120) for _ in range(count))

    def offsets(self, group: str, topic: str) -> list[int | None]:
        with Puller(group, nameserver=self.nameserver) as puller:
            return [puller.committed(queue) for queue in sorted(puller.queues(topic))]

    def group(self, name: str, topic: str, *offsets: int) -> str:
        with Admin(nameserver=self.nameserver) as admin:
            admin.groups.create(name)
        with Puller(name, nameserver=self.nameserver) as puller:
            for queue_id, offset in enumerate(offsets):
                puller.commit(MessageQueue(topic, "broker-a", queue_id), offset)
        return name


@pytest.fixture
def place(mqframe_shared_cluster, request) -> Place:
    return Place(mqframe_shared_cluster, request.node.name.partition("[")[0])
