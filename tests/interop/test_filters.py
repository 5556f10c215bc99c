"""Messages chosen by expressions: Java's consumers on our broker, ours on Apache's, and what each says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import AnswerError, ConsumeResult, Message, Producer, Puller, PushConsumer, Sql

pytestmark = pytest.mark.proves("filters")

StartJava = Callable[..., ForeignClient]
WANTED = "amount >= 10 AND region IN ('north', 'south') OR vip IS NOT NULL"


def send(nameserver: str, topic: str, first: int, count: int) -> list[str]:
    """Send messages of four shapes; gives the bodies that `WANTED` wants."""
    wanted = []
    with Producer("filters", nameserver=nameserver) as producer:
        for number in range(first, first + count):
            properties = {"amount": str(number), "region": ("north", "east", "south", "west")[number % 4]}
            if number % 10 == 9:
                properties["vip"] = "yes"
            producer.send(Message(topic, f"m{number}".encode(), properties=properties))
            if (number >= 10 and number % 4 in (0, 2)) or number % 10 == 9:
                wanted.append(f"m{number}")
    return wanted


def test_java_push_consumers(cluster: Cluster, java: StartJava) -> None:
    cluster.create_topic("filtered", 2)
    wanted = send(cluster.nameserver, "filtered", 0, 40)
    client = java("Filter", "consume", cluster.nameserver, "filtered", "g", WANTED)
    got = client.take("got", len(wanted))
    more = send(cluster.nameserver, "filtered", 40, 20)  # these wake pulls that wait
    got += client.take("got", len(more))
    got += [line for line in client.finish() if line[0] == "got"]
    assert sorted(line[1] for line in got) == sorted(wanted + more)


def test_java_plain_pulls(cluster: Cluster, java: StartJava) -> None:
    cluster.create_topic("pulled", 1)
    wanted = send(cluster.nameserver, "pulled", 0, 40)
    lines = java("Filter", "pull", cluster.nameserver, "pulled", WANTED).finish()
    assert [line[1] for line in lines if line[0] == "read"] == wanted
    assert [line[1] for line in lines if line[0] == "pull"] == ["FOUND"]


def test_what_java_hears_of_an_expression_that_is_none(
    servers: Servers, topic: str, newest_java: StartJava
) -> None:
    none = ("amount >= 10 AND", "amount > 'x'", "a ? b")
    lines = newest_java("Filter", "refused", servers.nameserver, topic, *none).finish()
    assert [line[:2] for line in lines] == [["refused", "23"]] * len(none)


def test_our_consumers(servers: Servers, topic: str) -> None:
    wanted = send(servers.nameserver, topic, 0, 40)
    got: list[str] = []

    def handle(messages: list, context: object) -> ConsumeResult:  # type: ignore[type-arg]
        got.extend(message.body.decode() for message in messages)
        return ConsumeResult.SUCCESS

    consumer = PushConsumer("our_filters", nameserver=servers.nameserver, consume_from="first")
    consumer.subscribe(topic, Sql(WANTED), handle)
    with consumer:
        until(lambda: len(got) >= len(wanted))
        wanted += send(servers.nameserver, topic, 40, 20)
        until(lambda: len(got) >= len(wanted))
    assert sorted(got) == sorted(wanted)
    with Puller(nameserver=servers.nameserver) as puller:
        read = []
        for queue in puller.queues(topic):
            offset = puller.min_offset(queue)
            while offset < puller.max_offset(queue):
                result = puller.pull(queue, offset, expression=Sql(WANTED))
                read += [message.body.decode() for message in result.messages]
                offset = result.next_offset
    assert sorted(read) == sorted(wanted)


def test_what_we_hear_of_an_expression_that_is_none(servers: Servers, topic: str) -> None:
    consumer = PushConsumer("our_broken_filter", nameserver=servers.nameserver)
    consumer.subscribe(topic, Sql("amount >= 10 AND"), lambda messages, context: ConsumeResult.SUCCESS)
    with pytest.raises(AnswerError, match="23 SUBSCRIPTION_PARSE_FAILED"):
        consumer.start()
