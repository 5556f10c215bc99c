"""A broker, and topics of a test's own, for jobs in a real Spark."""

from collections import Counter
from typing import Any

import pytest

from mqframe import Admin, Message, MessageQueue, Producer, Puller, ReceivedMessage


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

    def offsets(self, group: str, topic: str) -> list[int | None]:
        with Puller(group, nameserver=self.nameserver) as puller:
            return [puller.committed(queue) for queue in sorted(puller.queues(topic))]

    def group(self, name: str, topic: str, *offsets: int) -> str:
        with Admin(nameserver=self.nameserver) as admin:
            admin.create_group(name)
        with Puller(name, nameserver=self.nameserver) as puller:
            for queue_id, offset in enumerate(offsets):
                puller.commit(MessageQueue(topic, "broker-a", queue_id), offset)
        return name


@pytest.fixture
def place(mqframe_shared_cluster, request) -> Place:
    return Place(mqframe_shared_cluster, request.node.name.partition("[")[0])
