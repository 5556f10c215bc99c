"""RocketMQ's operators' tools and ours, at members and traces of either side, on our broker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from mqframe_testing import Cluster
from mqframe_trace.records import TraceKind
from real_time import until

from interop.foreign import ForeignClient
from mqframe import Admin, ClientSettings, ConsumeResult, Message, MessageQueue, Producer, PushConsumer
from mqframe.core.consuming.running_info import DirectOutcome

StartJava = Callable[..., ForeignClient]
TOPIC = "sights"
QUEUE = MessageQueue(TOPIC, "broker-a", 0)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A broker with a topic for traces and one of two queues."""
    with Cluster(broker={"trace_topic": True}) as running:
        running.create_topic(TOPIC, 2)
        yield running


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Admin]:
    """Our tools."""
    with Admin(nameserver=cluster.nameserver) as made:
        yield made


class Listener:
    """Keeps what it is called with."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bodies: list[bytes] = []

    def __call__(self, messages: list, context: object) -> ConsumeResult:
        with self._lock:
            self._bodies += [message.body for message in messages]
        return ConsumeResult.SUCCESS

    @property
    def bodies(self) -> list[bytes]:
        with self._lock:
            return list(self._bodies)


def member(cluster: Cluster, group: str, **options: object) -> tuple[PushConsumer, Listener]:
    often = ClientSettings(persist_offsets_seconds=0.1)
    consumer = PushConsumer(
        group, nameserver=cluster.nameserver, consume_from="first", client=often, **options
    )
    listener = Listener()
    consumer.subscribe(TOPIC, "*", listener)
    return consumer, listener


def send(cluster: Cluster, *bodies: bytes, **options: object) -> list:
    with Producer("shop", nameserver=cluster.nameserver, **options) as producer:
        return [producer.send(Message(TOPIC, body, "paid", ["o-1"]), queue=QUEUE) for body in bodies]


@pytest.mark.proves("operation")
def test_javas_tools_look_into_our_members(java: StartJava, cluster: Cluster, admin: Admin) -> None:
    sent = send(cluster, b"0", b"1", b"2")
    consumer, listener = member(cluster, "ours")
    with consumer:
        until(lambda: len(listener.bodies) == 3)
        until(lambda: admin.groups.lag("ours", TOPIC) == 0)
        words = ["look", cluster.nameserver, "ours", TOPIC, consumer.client_id]
        lines = java("Sight", *words, sent[1].offset_message_id).finish()
        facts = {word: [line[1:] for line in lines if line[0] == word] for word, *_ in lines}
        held = {(topic, queue): rest for topic, queue, *rest in facts["held"]}
        assert held[TOPIC, "0"] == ["3", "0", "false"]
        assert [TOPIC, "*"] in facts["subscribed"]
        assert facts["status"] == [["true", "0"]]
        assert facts["properties"] == [["CONSUME_PASSIVELY", "V5_3_3", "true"]]
        assert facts["shown"] == [["true"]]
        assert [consumer.client_id, "0", "3"] in facts["remembers"]
        assert facts["direct"] == [["CR_SUCCESS", "false", "null"]]
        assert listener.bodies == [b"0", b"1", b"2", b"1"]
        assert sorted(facts["span"])[0] == ["0", "true", "0"]
        assert facts["count"] == [["3", "3"]]
        assert facts["behind"] == [["0"]]
        assert admin.groups.stats("ours_clone", TOPIC)[QUEUE].consumer_offset == 3


@pytest.mark.parametrize("server_side", [True, False], ids=["kept", "told"])
@pytest.mark.proves("resets")
def test_javas_tools_reset_our_members(newest_java: StartJava, server_side: bool) -> None:
    with Cluster(broker={"server_side_reset": server_side}) as cluster:
        cluster.create_topic(TOPIC, 2)
        send(cluster, b"0", b"1", b"2")
        consumer, listener = member(cluster, "ours")
        with consumer, Admin(nameserver=cluster.nameserver) as admin:
            until(lambda: len(listener.bodies) == 3)
            until(lambda: admin.groups.lag("ours", TOPIC) == 0)
            lines = newest_java("Sight", "reset", cluster.nameserver, "ours", TOPIC, "0").finish()
            assert ["reset", "broker-a", "0", "0"] in lines
            until(lambda: len(listener.bodies) == 6)
            assert listener.bodies == [b"0", b"1", b"2"] * 2


def test_a_plan_knows_what_members_of_both_languages_hold(
    java: StartJava, cluster: Cluster, admin: Admin
) -> None:
    theirs = java("Sight", "consume", cluster.nameserver, "both", TOPIC)
    ((_, client),) = theirs.take("started", 1)
    consumer, _ = member(cluster, "both")
    with consumer:
        until(lambda: len(consumer.queues) == 1 and not admin.allocation.plan("both").problems)
        plan = admin.allocation.plan("both", "averagely_by_circle", remove=[consumer.client_id])
        assert (plan.now, plan.then) == (tuple(sorted([client, consumer.client_id])), (client,))
        held = {each.queue: each.now for each in plan.queues if each.queue.topic == TOPIC}
        assert held.pop(consumer.queues[0]) == (consumer.client_id,)
        assert list(held.values()) == [(client,)]
        assert {each.then for each in plan.queues} == {(client,)}
        assert plan.silent == {}
    theirs.finish()


@pytest.mark.proves("operation")
def test_our_tools_look_into_javas_members(java: StartJava, cluster: Cluster, admin: Admin) -> None:
    sent = send(cluster, b"0", b"1")
    running = java("Sight", "consume", cluster.nameserver, "theirs", TOPIC)
    ((_, client),) = running.take("started", 1)
    running.take("got", 2)
    until(lambda: admin.groups.lag("theirs", TOPIC) == 0)
    info = admin.members.running_info("theirs", client, stacks=True)
    assert info.queues[QUEUE].commit_offset == 2
    assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
    assert "TID:" in (info.jstack or "")
    assert TOPIC in info.status_table
    assert admin.members.remembered_offsets("theirs", TOPIC)[client][QUEUE] == 2
    result = admin.members.consume_directly("theirs", sent[1].offset_message_id, client_id=client)
    assert result.consume_result is DirectOutcome.SUCCESS
    assert running.take("got", 1) == [["got", "1", "1"]]
    running.finish()


@pytest.mark.proves("resets")
def test_our_tools_reset_javas_members(newest_java: StartJava, cluster: Cluster, admin: Admin) -> None:
    send(cluster, b"0", b"1")
    running = newest_java("Sight", "consume", cluster.nameserver, "theirs", TOPIC)
    running.take("got", 2)
    until(lambda: admin.groups.lag("theirs", TOPIC) == 0)
    assert admin.offsets.reset_queue("theirs", QUEUE, 1) == 1
    assert running.take("got", 1) == [["got", "1", "1"]]
    running.finish()


@pytest.mark.proves("operation")
def test_what_the_dashboard_asks(newest_java: StartJava, cluster: Cluster, admin: Admin) -> None:
    send(cluster, b"0", b"1", b"2")
    consumer, listener = member(cluster, "ours")
    with consumer:
        until(lambda: admin.groups.stats("ours", TOPIC)[QUEUE].consumer_offset == 3)
    lines = newest_java("Dashboard", cluster.nameserver, cluster.broker.address, TOPIC, "ours").finish()
    facts = [line for line in lines if line[0] != "rolled"]
    assert facts == [
        ["topic", TOPIC, "2", "6"], ["group", "16"], ["topics", "true"], ["consumes", "ours"],
        ["rates", "3", "3"], ["puts", "3"], ["gets", "3"],
    ]  # fmt: skip
    assert sorted(line for line in lines if line[0] == "rolled") == [
        ["rolled", "0", "3", "0"],
        ["rolled", "1", "0", "0"],
    ]
    assert admin.groups.stats("ours", TOPIC)[QUEUE].consumer_offset == 0
    assert len(listener.bodies) == 3


@pytest.mark.proves("traces")
def test_java_reads_our_traces(java: StartJava, cluster: Cluster, admin: Admin) -> None:
    (sent,) = send(cluster, b"0", send_hooks=["trace"])
    consumer, listener = member(cluster, "ours", consume_hooks=["trace"])
    with consumer:
        until(lambda: listener.bodies)
    lines = java("Sight", "trace", cluster.nameserver, sent.message_id).finish()
    views = {line[1]: line[2:] for line in lines}
    broker = cluster.broker.address
    assert views["Pub"] == [
        "shop", TOPIC, "paid", "o-1", "success", broker, "127.0.0.1", sent.offset_message_id,
    ]  # fmt: skip
    assert (views["SubBefore"][0], views["SubBefore"][3]) == ("ours", "o-1")
    assert (views["SubAfter"][0], views["SubAfter"][4]) == ("ours", "success")


@pytest.mark.proves("traces")
def test_we_read_javas_traces(java: StartJava, cluster: Cluster, admin: Admin) -> None:
    sender = java("Sight", "send", cluster.nameserver, TOPIC, "hello")
    ((_, message_id),) = sender.take("sent", 1)
    until(lambda: admin.messages.trace(message_id))
    sender.finish()
    running = java("Sight", "consume", cluster.nameserver, "theirs", TOPIC)
    running.take("got", 1)
    until(lambda: len(admin.messages.trace(message_id)) == 3)
    pub, before, after = admin.messages.trace(message_id)
    assert (pub.kind, pub.group, pub.topic, pub.tags, pub.keys, pub.success) == (
        TraceKind.PUB, "java_traced", TOPIC, "paid", "o-1", True,
    )  # fmt: skip
    assert (pub.body_length, pub.region) == (5, "DefaultRegion")
    assert (before.kind, before.group, before.keys) == (TraceKind.SUB_BEFORE, "theirs", "o-1")
    assert (after.kind, after.request_id, after.success) == (TraceKind.SUB_AFTER, before.request_id, True)
    running.finish()
