"""Requests and replies between Java and Python, on our broker and on Apache's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from mqframe_testing import Cluster

from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import ConsumeResult, Message, Producer, PushConsumer, RequestTimeout, reply_to

pytestmark = pytest.mark.proves("request-reply")

StartJava = Callable[..., ForeignClient]


@contextmanager
def answering(nameserver: str, topic: str) -> Iterator[None]:
    """A Python responder while the block runs."""
    producer = Producer("answers", nameserver=nameserver)
    consumer = PushConsumer("answering", nameserver=nameserver, consume_from="first")

    @consumer.on(topic)
    def handle(messages: list, context: object) -> ConsumeResult:  # type: ignore[type-arg]
        for message in messages:
            producer.send(reply_to(message, b"python says " + message.body))
        return ConsumeResult.SUCCESS

    with producer, consumer:
        yield


def test_java_asks_and_python_answers(cluster: Cluster, java: StartJava) -> None:
    cluster.create_topic("questions", 2)
    with answering(cluster.nameserver, "questions"):
        lines = java("RequestReply", "ask", cluster.nameserver, "questions", "10", "60000").finish()
    replies = [line[1:] for line in lines if line[0] in ("reply", "failed")]
    assert sorted(replies) == [
        [f"question-{n}", f"python says question-{n}", "DefaultCluster_REPLY_TOPIC"] for n in range(10)
    ]


def test_python_asks_and_java_answers(cluster: Cluster, java: StartJava) -> None:
    cluster.create_topic("questions", 2)
    client = java("RequestReply", "answer", cluster.nameserver, "questions", "java_answers")
    client.take("started", 1)
    with Producer("asks", nameserver=cluster.nameserver) as producer, ThreadPoolExecutor(4) as threads:
        bodies = [b"q%d" % n for n in range(12)]
        replies = list(
            threads.map(lambda body: producer.request(Message("questions", body), timeout=60).body, bodies)
        )
    assert replies == [b"java says " + body for body in bodies]
    # The end of its input interrupts sends of which it has not heard yet, though their replies have come.
    answered = [line[1] for line in client.take("answered", 12)]
    assert answered == ["SEND_OK"] * 12
    assert [line for line in client.finish() if line[0] in ("answered", "failed")] == []


def test_java_hears_that_nobody_answers(cluster: Cluster, java: StartJava) -> None:
    cluster.create_topic("questions", 2)
    lines = java("RequestReply", "ask", cluster.nameserver, "questions", "1", "3000").finish()
    assert [line[1:] for line in lines if line[0] in ("reply", "failed")] == [
        ["question-0", "RequestTimeoutException"]
    ]


def test_python_asks_and_answers(servers: Servers, topic: str) -> None:
    with answering(servers.nameserver, topic), Producer("asks", nameserver=servers.nameserver) as producer:
        for number in range(5):
            reply = producer.request(Message(topic, b"q%d" % number), timeout=60)
            assert reply.body == b"python says q%d" % number
            assert reply.properties["MSG_TYPE"] == "reply"


def test_nobody_answers(servers: Servers, topic: str) -> None:
    with Producer("asks", nameserver=servers.nameserver) as producer, pytest.raises(RequestTimeout):
        producer.request(Message(topic, b"anybody?"), timeout=1.0)
