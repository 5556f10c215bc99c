"""Strategies of plugins: by lags, on Apache's servers and on ours; by rooms, in a group with Java."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.conftest import StartJava
from interop.servers import Servers
from mqframe import (
    Admin,
    ClientSettings,
    ConsumeResult,
    ConsumerSettings,
    ListenerContext,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    ReceivedMessage,
)

pytestmark = pytest.mark.proves("consuming")

pytest.importorskip("mqframe_lagaware", reason="the plugin is not installed")

GROUP = "lag_sharers"
OPTIONS = {"interval_seconds": 4, "lead_seconds": 2, "queue_cost": 10}


def test_members_share_by_the_lags_that_brokers_tell(servers: Servers, topic: str) -> None:
    gate = threading.Event()

    def wait(messages: object, context: object) -> ConsumeResult:
        gate.wait(120)
        return ConsumeResult.SUCCESS

    members = [
        PushConsumer(
            GROUP,
            client=ClientSettings(nameserver=servers.nameserver, instance_name=name),
            settings=ConsumerSettings(rebalance_seconds=0.5),
            allocate="lag_aware",
            allocate_options=OPTIONS,
            consume_from="first",
        )
        for name in ("m1", "m2")
    ]
    with Producer("shop", nameserver=servers.nameserver) as producer:
        late = min(producer.queues(topic))
        for number in range(300):
            producer.submit(Message(topic, b"%d" % number), queue=late)
        producer.flush()
    for member in members:
        member.subscribe(topic, "*", wait)
        member.start()
    try:
        first = min(members, key=lambda member: member.client_id)
        until(lambda: first.queues == [late] and sum(len(member.queues) for member in members) == 4, 90)
        with Admin(nameserver=servers.nameserver) as admin:
            assert f"{GROUP}/lag_aware/{topic}" in admin.kv.list("MQFRAME_ALLOCATION")
            plan = admin.allocation.plan(GROUP, "lag_aware", OPTIONS)
        by_topic = {each.topic: each for each in plan.topics}
        assert [each.moves for each in by_topic[topic].queues] == [False] * 4
        assert by_topic[topic].basis.startswith("snapshot ")
    finally:
        gate.set()
        for member in members:
            member.stop()


@pytest.mark.parametrize(
    ("our_room", "their_room", "our_share"),
    [
        pytest.param("broker", "broker", 2, marks=pytest.mark.long),
        ("broker", "else", 4),
        pytest.param("else", "broker", 0, marks=pytest.mark.long),
        ("here", "there", 2),
    ],
)
def test_members_in_rooms_share_with_java(
    java: StartJava, cluster: Cluster, our_room: str, their_room: str, our_share: int
) -> None:
    pytest.importorskip("mqframe_machineroomnearby", reason="the plugin is not installed")
    topic, group = "rooms", "rooms_group"
    cluster.create_topic(topic, queues=4)
    ours: list[tuple[int, str]] = []
    theirs: list[tuple[int, str]] = []
    consumer = PushConsumer(
        group,
        client=ClientSettings(nameserver=cluster.nameserver, client_ip=f"{our_room}-2"),
        consume_from="first",
        allocate="machine_room_nearby",
        allocate_options={"broker_separator": "-"},
    )

    @consumer.on(topic)
    def handle(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
        ours.extend((message.queue_id, message.properties["number"]) for message in messages)
        return ConsumeResult.SUCCESS

    def mine() -> set[int]:
        return {queue.queue_id for queue in consumer.queues if queue.topic == topic}

    with consumer:
        until(lambda: len(mine()) == 4)
        other = java("consume", cluster.nameserver, topic, group, "*", f"in room {their_room}")
        other.take("started", 1)
        until(lambda: len(mine()) == our_share)
        with Producer("python_producer", nameserver=cluster.nameserver) as producer:
            for n in range(40):
                message = Message(topic, b"x", properties={"number": str(n)})
                producer.send(message, queue=MessageQueue(topic, "broker-a", n % 4))

        def complete() -> bool:
            theirs.extend((int(line[2]), line[6]) for line in other.waiting("got"))
            return len(theirs) + len(ours) >= 40

        until(complete)
        settled, ours_until_then = (
            mine(),
            list(ours),
        )  # what Java does not tell comes to us again
        theirs += [(int(line[2]), line[6]) for line in other.finish() if line[0] == "got"]
    assert len(settled) == our_share
    assert Counter(number for _, number in ours_until_then + theirs) == Counter(str(n) for n in range(40))
    assert {queue_id for queue_id, _ in ours_until_then} == settled
    assert {queue_id for queue_id, _ in theirs} == {0, 1, 2, 3} - settled
