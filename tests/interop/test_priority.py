"""Messages with a priority at Apache's brokers that know them, and at ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_priority import priority_of, with_priority
from mqframe_testing import Cluster

from interop.apache import Apache
from interop.conftest import java_class_path
from mqframe import Admin, Message, Producer, SimpleConsumer

PRIORITIES = (0, 1, 3, 2, 9, 0, 3)
Story = tuple[list[tuple[int, int]], list[tuple[bytes, int, int | None]]]


def told(nameserver: str) -> Story:
    """Queue and offset of each send; body, queue and priority of each message in the order of pops."""
    with Admin(nameserver=nameserver) as admin:
        admin.topics.create("jobs", queues=4, attributes={"message.type": "PRIORITY"})
        admin.groups.create("crunchers")
    with Producer("interop", nameserver=nameserver) as producer:
        messages = [with_priority(Message("jobs", b"%d" % each), each) for each in PRIORITIES]
        sent = [producer.send(each) for each in messages]
    got: list[tuple[bytes, int, int | None]] = []
    with SimpleConsumer("crunchers", nameserver=nameserver, consume_from="first") as consumer:
        consumer.subscribe("jobs")
        while len(got) < len(PRIORITIES):
            for message in consumer.receive(1, invisible_duration=60):
                got.append((bytes(message.body), message.queue_id, priority_of(message)))
                consumer.ack(message)
    return [(each.queue.queue_id, each.queue_offset) for each in sent], got


@pytest.mark.long
@pytest.mark.proves("pop")
def test_they_are_stored_and_popped_as_apache_does(tmp_path: Path) -> None:
    with Cluster(broker={"services": ("priority",)}) as cluster:
        ours = told(cluster.nameserver)
    with Apache(java_class_path("5.5.0"), tmp_path) as apache:
        theirs = told(apache.servers.nameserver)
    assert ours == theirs
    assert [body for body, _, _ in ours[1]] == [b"3", b"9", b"3", b"2", b"1", b"0", b"0"]
