"""Batches that wait for their transaction: single halves on Apache's broker, one for each batch on ours."""

from __future__ import annotations

import threading

import pytest
from real_time import until

from interop.servers import Servers
from mqframe import (
    Admin,
    BatchTransactionProducer,
    EndStatus,
    MessageQueue,
    PreparedHalf,
    Puller,
    ReceivedMessage,
    TransactionOutcome,
)
from mqframe.core.messages.batch import encode_element

pytestmark = pytest.mark.proves("transactions")

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN


def batch(job: str, count: int) -> bytes:
    return b"".join(
        encode_element(b"%s-%d" % (job.encode(), number), b"TAGS\x01red\x02KEYS\x01k%d\x02" % number, number)
        for number in range(count)
    )


def bodies(job: str, count: int) -> list[bytes]:
    return [b"%s-%d" % (job.encode(), number) for number in range(count)]


def read(puller: Puller, topic: str) -> dict[int, list[ReceivedMessage]]:
    """All messages, by queue, each in the order of its queue."""
    found: dict[int, list[ReceivedMessage]] = {}
    for queue in puller.queues(topic):
        offset, end = 0, puller.max_offset(queue)
        while offset < end:
            result = puller.pull(queue, offset, 1000)
            found.setdefault(queue.queue_id, []).extend(result.messages)
            offset = result.next_offset
    return found


def unsure(half: ReceivedMessage) -> TransactionOutcome:
    return UNKNOWN


def test_what_is_committed_is_read_back_exactly(servers: Servers, topic: str) -> None:
    with (
        BatchTransactionProducer("half_batches", nameserver=servers.nameserver, check=unsure) as producer,
        Puller(nameserver=servers.nameserver) as puller,
    ):
        queue = MessageQueue(topic, servers.broker_name, 2)
        kept = producer.prepare(topic, batch("kept", 300), 300, queue=queue)
        dropped = producer.prepare(topic, batch("dropped", 50), 50)
        later = [producer.submit_prepare(topic, batch(f"j{number}", 40), 40) for number in range(5)]
        assert read(puller, topic) == {}
        assert {half.repeatable for half in kept} == {servers.cluster == "DefaultCluster"}
        assert sum(half.count for half in kept) == 300
        assert len(kept) == (1 if kept[0].repeatable else 300)
        assert producer.end(dropped, ROLLBACK) == [EndStatus.DONE] * len(dropped)
        assert producer.end(kept, COMMIT) == [EndStatus.DONE] * len(kept)
        for future in later:
            halves = future.result(120)
            assert producer.end(halves, COMMIT) == [EndStatus.DONE] * len(halves)
        until(lambda: sum(map(len, read(puller, topic).values())) >= 500)
        found = read(puller, topic)
        wanted = sorted(bodies("kept", 300) + [body for n in range(5) for body in bodies(f"j{n}", 40)])
        assert sorted(message.body for each in found.values() for message in each) == wanted
        whole = [message for message in found[2] if message.body.startswith(b"kept")]
        assert sorted(message.body for message in whole) == sorted(bodies("kept", 300))
        for message in whole:
            number = int(message.body.partition(b"-")[2])
            assert (message.tag, message.keys, message.flag) == ("red", [f"k{number}"], number)
        if kept[0].repeatable:
            assert [message.body for message in whole] == bodies("kept", 300)
            assert producer.end(kept, COMMIT) == [EndStatus.ENDED_BEFORE]
        wrong = [PreparedHalf(queue.broker_name, topic, 2, 0, 1 << 50, "U", 1, False)]
        assert producer.end(wrong, ROLLBACK) == [EndStatus.NOT_FOUND]


def test_apache_asks_check(apache: Servers) -> None:
    name, asked, heard = "half_batches_asked", [], threading.Event()

    def check(half: ReceivedMessage) -> TransactionOutcome:
        asked.append((half.properties["job"], half.body))
        heard.set()
        return COMMIT if half.properties["job"] == "kept" else ROLLBACK

    with Admin(nameserver=apache.nameserver) as admin, Puller(nameserver=apache.nameserver) as puller:
        admin.topics.create(name, queues=1)
        until(lambda: name in admin.topics.list())
        with BatchTransactionProducer("half_asked", nameserver=apache.nameserver, check=check) as producer:
            for job in ("kept", "dropped"):
                halves = producer.prepare(name, batch(job, 20), 20, properties={"job": job})
                assert len(halves) == 20
            assert heard.wait(120)
            until(lambda: sum(map(len, read(puller, name).values())) >= 20)
            until(lambda: len(set(asked)) == 40)
        [messages] = read(puller, name).values()
        assert sorted(message.body for message in messages) == sorted(bodies("kept", 20))
        assert {message.properties["job"] for message in messages} == {"kept"}
    assert sorted(set(asked)) == sorted(
        (job, body) for job in ("kept", "dropped") for body in bodies(job, 20)
    )
