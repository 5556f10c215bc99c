"""Clients of Java and Python in one namespace and in one unit, on our broker and on Apache's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from mqframe_testing import Cluster
from mqframe_transactions.settings import TransactionSettings
from real_time import until

from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import (
    Admin,
    ClientSettings,
    ConsumeResult,
    Message,
    Producer,
    PushConsumer,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)
from mqframe.core.messages.message import ReceivedMessage

pytestmark = pytest.mark.proves("namespaces")

StartJava = Callable[..., ForeignClient]
SHORT_LEVELS = " ".join(["1s"] * 18)
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


def settings(nameserver: str) -> ClientSettings:
    return ClientSettings(nameserver=nameserver, namespace="shop", route_poll_seconds=0.5)


class Member:
    """A member in Python that fails the first delivery of each message."""

    def __init__(self, client: ClientSettings, topic: str, group: str, **options: object) -> None:
        self._both = threading.Lock()
        self._got: list[ReceivedMessage] = []
        self.consumer = PushConsumer(group, client=client, consume_from="first", **options)  # type: ignore[arg-type]

        @self.consumer.on(topic)
        def handle(messages, context):
            with self._both:
                self._got += messages
            context.delay_level_when_next_consume = 1
            return LATER if messages[0].reconsume_times == 0 and not options else OK

    @property
    def got(self) -> list[tuple[str, str, int, str | None, str | None]]:
        with self._both:
            return [
                (m.topic, m.body.decode(), m.reconsume_times, m.properties.get("INSTANCE_ID"),
                 m.properties.get("BUYER_ID"))
                for m in self._got
            ]  # fmt: skip


@pytest.fixture
def quick() -> Iterator[Cluster]:
    """Our broker, with delay levels of a second, and the topic `orders` in the namespace and outside."""
    with Cluster(store={"delay_levels": SHORT_LEVELS}) as running:
        for topic in ("orders", "shop%orders"):
            running.create_topic(topic, 1)
        yield running


def test_python_gets_what_java_sends_and_what_comes_again(java: StartJava, quick: Cluster) -> None:
    member = Member(settings(quick.nameserver), "orders", "billing")
    with member.consumer:
        sent = java("Namespaces", "send", quick.nameserver, "v1", "shop", "orders", "3").finish()
        assert [line[1:] for line in sent] == [["SEND_OK", "orders"]] * 3
        until(lambda: len(member.got) == 6)
    assert sorted(member.got) == [
        ("orders", f"java-{n}", times, "shop", f"buyer-{n}") for n in range(3) for times in (0, 1)
    ]


def test_java_gets_what_python_sends_and_what_comes_again(java: StartJava, quick: Cluster) -> None:
    consumer = java(
        "Namespaces", "consume", quick.nameserver, "v1", "shop", "orders", "billing", "concurrently"
    )
    consumer.take("started", 1)
    with Producer("shop_producer", client=settings(quick.nameserver)) as producer:
        for n in range(3):
            producer.send(Message("orders", b"python-%d" % n, properties={"BUYER_ID": f"buyer-{n}"}))
        with Producer("others", nameserver=quick.nameserver) as other:
            other.send(Message("orders", b"not in the namespace"))
        got = [line[1:] for line in consumer.take("got", 6)]
    consumer.finish()
    assert sorted(line[:3] + line[4:] for line in got) == [
        ["orders", f"python-{n}", str(times), "shop", f"buyer-{n}"] for n in range(3) for times in (0, 1)
    ]


def test_members_share_a_group_in_order(java: StartJava, quick: Cluster) -> None:
    quick.create_topic("shop%shared", 2)
    member = Member(settings(quick.nameserver), "shared", "mixed", ordered=True)
    with member.consumer:
        other = java("Namespaces", "consume", quick.nameserver, "v1", "shop", "shared", "mixed", "orderly")
        other.take("started", 1)
        until(lambda: len([queue for queue in member.consumer.queues if queue.topic == "shared"]) == 1)
        with Producer("p", client=settings(quick.nameserver)) as producer:
            for queue in producer.queues("shared"):
                for n in range(5):
                    producer.send(Message("shared", b"%d" % n), queue=queue)
        got = [line[1:3] for line in other.take("got", 5)]
        until(lambda: len(member.got) == 5)
        mine = member.got  # now: Java may commit after it said that it leaves, and then its part comes again
        other.finish()
    expected = [("shared", str(n)) for n in range(5)]
    assert [each[:2] for each in mine] == expected
    assert list(map(tuple, got)) == expected


class Commits(TransactionListener):
    """Knows the transactions of all producers of its group, which are done."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.asked.append((message.topic, message.body))
        return TransactionOutcome.COMMIT


def test_producers_answer_for_each_other(java: StartJava) -> None:
    with Cluster(sections=[TransactionSettings(timeout_ms=500, check_interval_ms=250)]) as cluster:
        cluster.create_topic("shop%orders", 1)
        java("Namespaces", "half", cluster.nameserver, "v1", "shop", "orders", "tills").finish()
        listener = Commits()
        member = Member(settings(cluster.nameserver), "orders", "billing", ordered=True)
        with TransactionProducer("tills", listener, client=settings(cluster.nameserver)), member.consumer:
            until(lambda: member.got)
        assert listener.asked[0] == ("orders", b"half")
        assert [each[:2] for each in member.got] == [("orders", "half")]


def test_java_answers_requests(java: StartJava, quick: Cluster) -> None:
    answers = java("Namespaces", "answer", quick.nameserver, "v1", "shop", "orders", "answers")
    answers.take("started", 1)
    with Producer("asks", client=settings(quick.nameserver)) as producer:
        reply = producer.request(Message("orders", b"?"), timeout=60)
    assert (reply.topic, reply.body) == ("DefaultCluster_REPLY_TOPIC", b"java says yes")
    answers.finish()


def test_a_namespace_in_the_header_renames_nothing(newest_java: StartJava, quick: Cluster) -> None:
    hooks = [("namespace_v2", {"namespace": "shop"})]
    member = Member(ClientSettings(nameserver=quick.nameserver), "orders", "headed", rpc_hooks=hooks)
    with member.consumer:
        newest_java("Namespaces", "send", quick.nameserver, "v2", "shop", "orders", "2").finish()
        until(lambda: len(member.got) == 2)
    assert [each[:2] for each in member.got] == [("orders", "java-0"), ("orders", "java-1")]
    consumer = newest_java(
        "Namespaces", "consume", quick.nameserver, "v2", "shop", "orders", "headed_java", "orderly"
    )
    consumer.take("started", 1)
    with Producer("p", nameserver=quick.nameserver, rpc_hooks=hooks) as producer:
        producer.send(Message("orders", b"python"))
    assert [line[1:3] for line in consumer.take("got", 3)] == [
        ["orders", "java-0"], ["orders", "java-1"], ["orders", "python"],
    ]  # fmt: skip
    consumer.finish()


@pytest.mark.parametrize("by", ["java", "python"])
def test_a_unit_marks_topics_that_are_made_for_it(newest_java: StartJava, servers: Servers, by: str) -> None:
    topic, group = f"unit_{by}", f"unit_group_{by}"
    client = ClientSettings(nameserver=servers.nameserver, unit_name="east", unit_mode=True)
    with Admin(nameserver=servers.nameserver) as admin:
        if by == "java":
            newest_java("Namespaces", "send", servers.nameserver, "unit", "east", topic, "1").finish()
            words = ("consume", servers.nameserver, "unit", "east", topic, group, "orderly")
            consumer = newest_java("Namespaces", *words)
            [[_, client_id]] = consumer.take("started", 1)
            until(lambda: f"%RETRY%{group}" in admin.topics.list())
            consumer.finish()
        else:
            with Producer("p", client=client) as producer:
                producer.send(Message(topic, b"x"))
            member = Member(client, topic, group, ordered=True)
            with member.consumer:
                client_id = member.consumer.client_id
                until(lambda: f"%RETRY%{group}" in admin.topics.list())
        assert client_id.endswith("@east")
        flags = [admin.topics.config(each)[servers.broker_name] for each in (topic, f"%RETRY%{group}")]
        assert [each.topic_sys_flag for each in flags] == [1, 2]
