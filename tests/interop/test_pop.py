"""Java consumers that pop from our broker: switched over by the administration, and by single calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.foreign import ForeignClient
from mqframe import Admin, Message, Producer

pytestmark = pytest.mark.proves("pop")

StartJava = Callable[..., ForeignClient]


def prepare(cluster: Cluster, group: str, *bodies: bytes, queues: int = 4) -> None:
    """A topic with messages, and a group that pops it."""
    cluster.create_topic("popped", queues)
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.groups.create(group)
        admin.groups.set_request_mode(group, "popped", "POP")
    with Producer("interop", nameserver=cluster.nameserver) as producer:
        for body in bodies:
            producer.send(Message("popped", body))


def test_a_push_consumer_switched_to_pop(newest_java: StartJava, cluster: Cluster) -> None:
    bodies = [b"good-%d" % number for number in range(40)]
    prepare(cluster, "popping", *bodies, b"bad-1", b"bad-2")
    client = newest_java("Pop", "consume", cluster.nameserver, "popped", "popping")
    got = client.take("got", 42)
    assert sorted(body for _, _, body, *_ in got) == sorted([*map(bytes.decode, bodies), "bad-1", "bad-2"])
    assert {(topic, times, handle) for _, topic, _, times, _, handle in got} == {("popped", "0", "true")}
    # What failed comes again at the client's first step, here 2 s, under the topic and id that it had.
    again = client.take("got", 2)
    assert sorted((topic, body, times) for _, topic, body, times, *_ in again) == [
        ("popped", "bad-1", "1"),
        ("popped", "bad-2", "1"),
    ]
    assert {line[4] for line in again} == {line[4] for line in got if line[2].startswith("bad")}
    with Admin(nameserver=cluster.nameserver) as admin:
        until(lambda: admin.groups.lag("popping") == 0)
        (member,) = admin.members.consumers("popping").connection_set
        assert member.language == "JAVA"


def test_the_calls_of_a_simple_consumer(newest_java: StartJava, cluster: Cluster) -> None:
    """In order and not, at the same time: each waits most of the time."""
    prepare(cluster, "in_order", b"1", b"2", b"3", b"4", queues=1)
    prepare(cluster, "not_in_order", queues=1)
    at = (cluster.nameserver, cluster.broker.address, "popped")
    ordered = newest_java("Pop", "calls", *at, "in_order", "ordered")
    unordered = newest_java("Pop", "calls", *at, "not_in_order", "unordered")
    assert facts_of(ordered) == [
        "popped FOUND 1:0 2:0 3:0",
        "ack OK",
        "popped POLLING_NOT_FOUND",
        "hidden OK true",
        "late NO_EXIST",
        "popped FOUND 2:1 3:1 4:0",
        "ack OK",
        "ack OK",
        "ack OK",
        "twice NO_EXIST",
    ]
    facts = facts_of(unordered)
    assert facts[:6] == [
        "popped FOUND 1:0 2:0 3:0",
        "ack OK",
        "popped FOUND 4:0",
        "ack OK",
        "hidden OK true",
        "late NO_EXIST",
    ]
    popped = [body for fact in facts[6:] if fact.startswith("popped FOUND") for body in fact.split()[2:]]
    assert sorted(popped) == ["2:1", "3:1"]
    assert facts[-3:] == ["ack OK", "ack OK", "twice NO_EXIST"]


def facts_of(client: ForeignClient) -> list[str]:
    """All that `client` says until it ends."""
    facts = []
    while (line := client.next_line()) is not None:
        facts.append(" ".join(line).strip())
    return facts
