"""Unchanged Java clients against our broker, alone and together with Python clients."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from mqframe_testing import Cluster
from real_time import until

from mqframe import Admin, ConsumeResult, Message, Producer, PushConsumer

BIG = "-" + "0123456789" * 2000


def read_all(java, cluster: Cluster, topic: str) -> list[list[str]]:
    """(queue id, queue offset, message id, body, text) of all messages, read by the Java pull consumer."""
    lines = java("queues", cluster.nameserver, topic).finish()
    assert [line[1] for line in lines if line[0] == "beyond"] == ["OFFSET_ILLEGAL"] * 4
    return [line[1:] for line in lines if line[0] == "read"]


@pytest.mark.proves("sending")
def test_every_way_of_sending_is_read_back_by_java(java, cluster: Cluster) -> None:
    cluster.create_topic("ways", queues=4)
    modes = ["sync", "25", "async", "25", "keyed", "25", "batch", "10", "big", "3", "oneway", "5"]
    lines = java("send", cluster.nameserver, "ways", *modes).finish()
    assert [line[:2] for line in lines] == [["sent", "SEND_OK"]] * 79
    sent = {line[6]: line for line in lines[:75]}
    [batch], big = lines[75:76], lines[76:]
    assert len(batch[2].split(",")) == len(batch[3].split(",")) == 10
    with Admin(nameserver=cluster.nameserver) as admin:
        # What was sent one-way is stored a little later.
        until(lambda: sum(each.max_offset for each in admin.topics.stats("ways").values()) == 93)

    rows = read_all(java, cluster, "ways")
    bodies = [row[3] for row in rows]
    expected = [f"{mode}-{n}" for mode in ("sync", "async", "keyed") for n in range(25)]
    expected += [f"batch-{n}" for n in range(10)] + [f"oneway-{n}" for n in range(5)]
    expected += [f"big-{n}{BIG}" for n in range(3)]
    assert sorted(bodies) == sorted(expected)
    assert {row[4] for row in rows} == {"größer € 订单"}
    placed = {row[3]: row for row in rows}
    for body, line in sent.items():
        queue_id, queue_offset, message_id = placed[body][:3]
        assert (line[4], line[5], line[2]) == (queue_id, queue_offset, message_id)
    assert {line[2] for line in big} == {placed[f"big-{n}{BIG}"][2] for n in range(3)}
    keyed_queues = {n % 5: {placed[f"keyed-{m}"][0] for m in range(n % 5, 25, 5)} for n in range(5)}
    assert all(len(queues) == 1 for queues in keyed_queues.values())


@pytest.mark.proves("operation")
def test_java_looks_messages_up(java, cluster: Cluster) -> None:
    cluster.create_topic("look", queues=1)
    sent = java("send", cluster.nameserver, "look", "sync", "8").finish()
    wanted = sent[5]
    lines = java("lookup", cluster.nameserver, "look", "key5", wanted[3]).finish()
    assert [line[:2] for line in lines if line[0] == "by-key"] == [["by-key", wanted[2]]]
    assert ["by-unique", wanted[2], "sync-5"] in lines
    # 5.x clients report the unique key of what they looked up by offset, 4.x the offset id.
    [by_offset] = [line for line in lines if line[0] == "by-offset"]
    assert by_offset[1] in (wanted[2], wanted[3])


@pytest.mark.proves("sending")
def test_topics_are_made_on_first_use(java, cluster: Cluster) -> None:
    sent = java("send", cluster.nameserver, "made_by_java", "sync", "8").finish()
    assert [line[1] for line in sent] == ["SEND_OK"] * 8
    assert {line[4] for line in sent} == {"0", "1", "2", "3"}


@pytest.mark.proves("sending")
def test_refusals_reach_java_with_code_and_remark(java, cluster: Cluster) -> None:
    cluster.create_topic("no", queues=1)
    lines = java("refused", cluster.nameserver, "no").finish()
    assert lines[0][:2] == ["refused", "13"]
    assert "body" in lines[0][2]


@pytest.mark.proves("consuming")
def test_java_push_consumer_gets_what_python_sends(java, cluster: Cluster) -> None:
    cluster.create_topic("to_java", queues=4)
    consumer = java("consume", cluster.nameserver, "to_java", "java_group", "tag0 || tag2", "clustering")
    consumer.take("started", 1)
    with Producer(group="python_producer", nameserver=cluster.nameserver) as producer:
        results = {}
        for n in range(30):
            message = Message(
                "to_java",
                f"body-{n}".encode(),
                tag=f"tag{n % 3}",
                keys=[f"key{n}"],
                properties={"number": str(n)},
            )
            results[n] = producer.send(message)
        big = producer.send(
            Message("to_java", ("x" * 9000).encode(), tag="tag0", properties={"number": "big"})
        )
    wanted = [n for n in range(30) if n % 3 != 1]
    got = consumer.take("got", len(wanted) + 1)
    by_number = {line[6]: line for line in got}
    assert set(by_number) == {str(n) for n in wanted} | {"big"}
    for n in wanted:
        assert by_number[str(n)][1:6] == [
            results[n].message_id,
            str(results[n].queue.queue_id),
            str(results[n].queue_offset),
            f"tag{n % 3}",
            f"key{n}",
        ]
        assert by_number[str(n)][7] == f"body-{n}"
    assert by_number["big"][1] == big.message_id
    assert by_number["big"][7] == "x" * 9000
    consumer.finish()


@pytest.mark.proves("consuming")
def test_java_and_python_members_share_a_group(java, cluster: Cluster) -> None:
    cluster.create_topic("shared", queues=4)
    by_python: list[tuple[int, str]] = []
    both = threading.Lock()
    consumer = PushConsumer(group="mixed", nameserver=cluster.nameserver, consume_from="first")

    @consumer.on("shared")
    def handle(messages, context):
        with both:
            by_python.extend((m.queue_id, m.properties["number"]) for m in messages)
        return ConsumeResult.SUCCESS

    with consumer:
        other = java("consume", cluster.nameserver, "shared", "mixed", "*", "clustering")
        other.take("started", 1)
        until(lambda: len([queue for queue in consumer.queues if queue.topic == "shared"]) == 2)
        with Producer(group="python_producer", nameserver=cluster.nameserver) as producer:
            for n in range(200):
                producer.send(Message("shared", b"x", properties={"number": str(n)}))
        by_java: list[tuple[int, str]] = []

        def complete() -> bool:
            by_java.extend((int(line[2]), line[6]) for line in other.waiting("got"))
            with both:
                return len(by_java) + len(by_python) >= 200

        until(complete)
        until_then = list(by_python)  # what Java commits late, after its leave, comes to us again
        by_java += [(int(line[2]), line[6]) for line in other.finish() if line[0] == "got"]
    assert Counter(number for _, number in by_java + until_then) == Counter(str(n) for n in range(200))
    python_queues, java_queues = {q for q, _ in until_then}, {q for q, _ in by_java}
    assert len(python_queues) == len(java_queues) == 2
    assert python_queues | java_queues == {0, 1, 2, 3}
