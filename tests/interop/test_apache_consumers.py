"""Our consumers on Apache's broker and on ours, alone and with Java; our broker at Apache's name server."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mqframe_testing import Cluster
from real_time import SECONDS_MAX, until

from interop.commits import remember, until_consumed
from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import (
    Admin,
    AsyncPushConsumer,
    ClientSettings,
    ConsumeResult,
    ConsumerSettings,
    Message,
    MessageQueue,
    MqframeError,
    Producer,
    Puller,
    PushConsumer,
    ReceivedMessage,
)

StartJava = Callable[..., ForeignClient]
ONLY_AT_THE_END = 3600.0
"""How often a member saves its offsets that does so when it stops, seconds."""


@pytest.fixture
def producer(servers: Servers) -> Iterator[Producer]:
    """A producer on Apache's broker."""
    with Producer("interop", nameserver=servers.nameserver) as producer:
        yield producer


class Listener:
    """Keeps what it is called with."""

    def __init__(self) -> None:
        self._both = threading.Lock()
        self._messages: list[ReceivedMessage] = []

    def __call__(self, messages: list[ReceivedMessage], context: object) -> ConsumeResult:
        with self._both:
            self._messages.extend(messages)
        return ConsumeResult.SUCCESS

    @property
    def messages(self) -> list[ReceivedMessage]:
        with self._both:
            return list(self._messages)

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.messages]


def member(
    servers: Servers, group: str, topic: str, expression: str = "*", save_seconds: float = 0.1
) -> tuple[PushConsumer, Listener]:
    """A member of `group` that begins at the first message, saves offsets often; and its listener."""
    client = ClientSettings(persist_offsets_seconds=save_seconds)
    consumer = PushConsumer(group, nameserver=servers.nameserver, consume_from="first", client=client)
    listener = Listener()
    consumer.subscribe(topic, expression, listener)
    return consumer, listener


def owned(consumer: PushConsumer, topic: str) -> list[int]:
    return [queue.queue_id for queue in consumer.queues if queue.topic == topic]


def send(producer: Producer, topic: str, begin: int, end: int) -> list[tuple[object, ...]]:
    """Send numbered messages; gives (body, id, queue, offset) of each."""
    sent = []
    for n in range(begin, end):
        message = Message(topic, f"{n}".encode(), tag=f"tag{n % 3}", keys=[f"key{n}"])
        result = producer.send(message)
        sent.append((message.body, result.message_id, result.queue, result.queue_offset))
    return sent


def seen(message: ReceivedMessage) -> tuple[object, ...]:
    return message.body, message.message_id, message.queue, message.queue_offset


@pytest.mark.proves("consuming")
def test_two_members_share(servers: Servers, topic: str, producer: Producer) -> None:
    before = send(producer, topic, 0, 20)
    first, first_listener = member(servers, "sharing", topic)
    second, second_listener = member(servers, "sharing", topic)
    with first, Admin(nameserver=servers.nameserver) as admin:
        until(lambda: len(first_listener.messages) == 20)
        # Before its offsets are saved, a new member would get these once more.
        until(lambda: admin.groups.lag("sharing", topic) == 0)
        assert owned(first, topic) == [0, 1, 2, 3]
        with second:
            until(lambda: len(owned(first, topic)) == len(owned(second, topic)) == 2)
            after = send(producer, topic, 20, 120)
            until(lambda: len(first_listener.messages) + len(second_listener.messages) >= 120)
            members = admin.members.consumers("sharing")
            assert {each.client_id for each in members.connection_set} == {first.client_id, second.client_id}
            assert {each.language for each in members.connection_set} == {"PYTHON"}
    together = first_listener.messages + second_listener.messages
    assert Counter(seen(message) for message in together) == Counter(before + after)
    late = [message for message in first_listener.messages if int(message.body) >= 20]
    queues = [{message.queue_id for message in each} for each in (late, second_listener.messages)]
    assert [len(each) for each in queues] == [2, 2]
    assert queues[0] | queues[1] == {0, 1, 2, 3}


@pytest.mark.proves("consuming")
def test_offsets_continue(servers: Servers, topic: str, producer: Producer) -> None:
    remember(servers, "continuing", topic)
    send(producer, topic, 0, 30)
    with Admin(nameserver=servers.nameserver) as admin:
        for begin, end in ((0, 30), (30, 50), (50, 55)):
            if begin:
                send(producer, topic, begin, end)
                assert admin.groups.lag("continuing", topic) == end - begin
            consumer, listener = member(servers, "continuing", topic, save_seconds=ONLY_AT_THE_END)
            with consumer:
                until(lambda: len(listener.messages) >= end - begin)  # noqa: B023
            assert sorted(map(int, listener.bodies)) == list(range(begin, end))
            until_consumed(servers, "continuing", topic)
        stats = admin.groups.stats("continuing", topic)
        assert sorted(stats) == [MessageQueue(topic, servers.broker_name, n) for n in range(4)]
        assert sum(each.consumer_offset for each in stats.values()) == 55
        assert "continuing" in admin.topics.groups(topic)

        moved = admin.offsets.reset("continuing", topic, 0)
        assert moved == {MessageQueue(topic, servers.broker_name, n): 0 for n in range(4)}
    again, listener = member(servers, "continuing", topic)
    with again:
        until(lambda: len(listener.messages) >= 55)
    assert sorted(map(int, listener.bodies)) == list(range(55))


@pytest.mark.proves("filters")
def test_tags(servers: Servers, topic: str, producer: Producer) -> None:
    send(producer, topic, 0, 30)
    consumer, listener = member(servers, "tagged", topic, "tag0 || tag2")
    with consumer:
        until(lambda: len(listener.messages) >= 20)
        send(producer, topic, 30, 33)
        until(lambda: len(listener.messages) >= 22)
    assert sorted(map(int, listener.bodies)) == [n for n in range(33) if n % 3 != 1]
    assert {message.tag for message in listener.messages} == {"tag0", "tag2"}


@pytest.mark.proves("consuming")
def test_broadcasting(servers: Servers, topic: str, producer: Producer, tmp_path: Path) -> None:
    def broadcast(name: str) -> tuple[PushConsumer, Listener]:
        consumer = PushConsumer(
            "broadcast",
            nameserver=servers.nameserver,
            broadcasting=True,
            consume_from="first",
            client=ClientSettings(instance_name=name),
            settings=ConsumerSettings(offset_directory=tmp_path),
        )
        listener = Listener()
        consumer.subscribe(topic, "*", listener)
        return consumer, listener

    sent = send(producer, topic, 0, 40)
    one, one_listener = broadcast("one")
    two, two_listener = broadcast("two")
    with one, two:
        until(lambda: len(one_listener.messages) >= 40 and len(two_listener.messages) >= 40)
    for listener in (one_listener, two_listener):
        assert Counter(seen(message) for message in listener.messages) == Counter(sent)
    sent = send(producer, topic, 40, 47)
    again, listener = broadcast("one")
    with again:
        until(lambda: len(listener.messages) >= 7)
    assert Counter(seen(message) for message in listener.messages) == Counter(sent)


@pytest.mark.proves("consuming")
def test_async_consumer(servers: Servers, topic: str, producer: Producer) -> None:
    """One call at a time: messages of one queue come in its order."""
    sent = [
        producer.send(Message(topic, f"{n}".encode()), sharding_key=f"customer-{n % 5}") for n in range(60)
    ]
    got: list[ReceivedMessage] = []

    async def consume() -> None:
        done = asyncio.Event()
        settings = ConsumerSettings(consume_tasks=1, consume_message_batch_max_size=8)
        async with asyncio.timeout(SECONDS_MAX):
            consumer = AsyncPushConsumer(
                "async", nameserver=servers.nameserver, consume_from="first", settings=settings
            )

            @consumer.on(topic)
            async def handle(messages: list[ReceivedMessage], context: object) -> ConsumeResult:
                got.extend(messages)
                if len(got) >= 60:
                    done.set()
                return ConsumeResult.SUCCESS

            async with consumer:
                await done.wait()

    asyncio.run(consume())
    expected = {result.message_id: (result.queue, result.queue_offset) for result in sent}
    assert {m.message_id: (m.queue, m.queue_offset) for m in got} == expected
    for queue in {message.queue for message in got}:
        offsets = [message.queue_offset for message in got if message.queue == queue]
        assert offsets == list(range(len(offsets)))


def is_shared_out(servers: Servers, group: str, topic: str) -> bool:
    """Whether each of the topic's four queues has one owner, as the members themselves say, Java's too."""
    held: list[MessageQueue] = []
    with Admin(nameserver=servers.nameserver) as admin:
        for each in admin.members.consumers(group).connection_set:
            try:
                found = admin.members.running_info(group, each.client_id)
            except MqframeError:
                return False
            held += [queue for queue in found.queues if queue.topic == topic]
    return len(held) == len(set(held)) == 4


@pytest.mark.proves("consuming")
def test_java_and_python_members_share(
    servers: Servers, topic: str, producer: Producer, newest_java: StartJava
) -> None:
    consumer, listener = member(servers, "mixed", topic)
    with consumer:
        other = newest_java("consume", servers.nameserver, topic, "mixed", "*", "clustering")
        other.take("started", 1)
        until(lambda: len(owned(consumer, topic)) == 2)
        until(lambda: is_shared_out(servers, "mixed", topic))
        mine = set(owned(consumer, topic))
        send(producer, topic, 0, 200)
        by_java: list[list[str]] = []

        def complete() -> bool:
            by_java.extend(other.waiting("got"))
            return len(by_java) + len(listener.messages) >= 200

        until(complete)
        ours = list(listener.messages)  # what Java commits late, after its leave, comes to us again
        by_java += [line for line in other.finish() if line[0] == "got"]
    bodies = [line[7] for line in by_java] + [message.body.decode() for message in ours]
    assert Counter(bodies) == Counter(str(n) for n in range(200))
    assert {message.queue_id for message in ours} == mine
    assert {int(line[2]) for line in by_java} == {0, 1, 2, 3} - mine


@pytest.mark.proves("consuming")
def test_java_takes_over_where_python_stopped(
    servers: Servers, topic: str, producer: Producer, newest_java: StartJava
) -> None:
    remember(servers, "handed_over", topic)
    send(producer, topic, 0, 25)
    consumer, listener = member(servers, "handed_over", topic, save_seconds=ONLY_AT_THE_END)
    with consumer:
        until(lambda: len(listener.messages) >= 25)
    until_consumed(servers, "handed_over", topic)
    sent = send(producer, topic, 25, 45)
    java = newest_java("consume", servers.nameserver, topic, "handed_over", "*", "clustering")
    got = java.take("got", 20)
    assert [line for line in java.finish() if line[0] == "got"] == []
    until_consumed(servers, "handed_over", topic)
    assert sorted((line[7].encode(), line[1], int(line[2]), int(line[3])) for line in got) == sorted(
        (body, message_id, queue.queue_id, offset)  # type: ignore[attr-defined]
        for body, message_id, queue, offset in sent
    )
    send(producer, topic, 45, 52)
    consumer, listener = member(servers, "handed_over", topic)
    with consumer:
        until(lambda: len(listener.messages) >= 7)
    assert sorted(map(int, listener.bodies)) == list(range(45, 52))


@pytest.mark.proves("mixed clusters", by="Apache 5.3.3")
def test_our_broker_at_apaches_name_server(apache: Servers, newest_java: StartJava) -> None:
    broker = {"name": "ours-a", "cluster": "OurCluster", "nameservers": (apache.nameserver,)}
    with Admin(nameserver=apache.nameserver) as admin:
        with Cluster(broker=broker) as cluster:
            cluster.create_topic("at_apaches", queues=4)
            until(lambda: "at_apaches" in admin.topics.list())
            info = admin.cluster.info()
            assert info.cluster_addr_table == {apache.cluster: [apache.broker_name], "OurCluster": ["ours-a"]}
            assert info.broker_addr_table["ours-a"].broker_addrs == {0: cluster.broker.address}
            assert [each.broker_name for each in admin.topics.route("at_apaches").queue_datas] == ["ours-a"]

            lines = newest_java("send", apache.nameserver, "at_apaches", "keyed", "20").finish()
            assert [line[1] for line in lines] == ["SEND_OK"] * 20
            java = newest_java("consume", apache.nameserver, "at_apaches", "java_group", "*", "clustering")
            got = java.take("got", 20)
            assert [line for line in java.finish() if line[0] == "got"] == []
            assert sorted((line[1], line[2], line[3], line[7]) for line in got) == sorted(
                (line[2], line[4], line[5], line[6]) for line in lines
            )
            with Puller(nameserver=apache.nameserver) as puller:
                read = [m for queue in puller.queues("at_apaches") for m in puller.pull(queue, 0).messages]
            assert {message.store_host for message in read} == {cluster.broker.address}
            assert sorted(m.body.decode() for m in read) == sorted(f"keyed-{n}" for n in range(20))
            until(lambda: admin.groups.lag("java_group", "at_apaches") == 0)
        # In good order it leaves the name server.
        assert admin.cluster.info().cluster_addr_table == {apache.cluster: [apache.broker_name]}
