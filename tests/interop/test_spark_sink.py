"""What Spark's tasks send, on Apache's broker and on ours: contents, order by sharding key, refusals."""

from __future__ import annotations

from collections import defaultdict

import pytest
from real_time import until

from interop.servers import Servers
from mqframe import FixError, Message, Producer, Puller, ReceivedMessage
from mqframe.core.codes import SysFlag

pytest.importorskip("mqframe_spark", reason="the Spark plugin is not installed")

import pyarrow as pa
from mqframe_spark.sink.delivery import send_rows
from mqframe_spark.sink.options import SinkOptions


def stored(nameserver: str, topic: str, count: int) -> list[ReceivedMessage]:
    """All messages of `topic`, queue by queue, once there are `count`."""
    with Puller(nameserver=nameserver) as puller:
        queues = puller.queues(topic)
        until(lambda: sum(puller.max_offset(queue) for queue in queues) >= count)
        found: list[ReceivedMessage] = []
        for queue in queues:
            at, end = 0, puller.max_offset(queue)
            while at < end:
                result = puller.pull(queue, at)
                found += result.messages
                at = result.next_offset
    return found


def test_rows_become_messages(servers: Servers, topic: str) -> None:
    numbers = range(3000)
    frame = pa.record_batch(
        {
            "body": [b"body %d " % number * (1000 if number == 1500 else 1) for number in numbers],
            "tags": [f"tag{number % 3}" for number in numbers],
            "keys": [["all", f"k{number}"] for number in numbers],
            "properties": pa.array(
                [[("number", str(number)), ("word", "größer €")] for number in numbers],
                pa.map_(pa.string(), pa.string()),
            ),
            "sharding_key": [None if number % 5 == 0 else f"customer-{number % 7}" for number in numbers],
            "flag": pa.array(numbers, pa.int32()),
        }
    )
    options = SinkOptions(servers.nameserver, topic, batch_bytes=16_384)
    assert send_rows(options, [frame.slice(0, 1000), frame.slice(1000)], idempotence="q-0-") == 3000
    found = stored(servers.nameserver, topic, 3000)
    assert sorted(message.flag for message in found) == list(numbers)
    queues: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for message in found:
        number = message.flag
        assert bool(message.sys_flag & SysFlag.COMPRESSED) == (number == 1500)
        assert message.body == b"body %d " % number * (1000 if number == 1500 else 1)
        assert (message.tag, message.keys) == (f"tag{number % 3}", ["all", f"k{number}"])
        assert message.properties["word"] == "größer €"
        assert message.properties["number"] == str(number)
        assert message.properties["IDEMPOTENCE_KEY"] == f"q-0-{number}"
        if number % 5:
            queues[number % 7][message.queue_id].append(number)
    assert len({message.message_id for message in found}) == 3000
    with Producer("interop", nameserver=servers.nameserver) as producer:
        for key, by_queue in queues.items():
            ((queue_id, numbers_of_key),) = by_queue.items()
            assert numbers_of_key == sorted(numbers_of_key)
            same = producer.send(Message(topic, b"x"), sharding_key=f"customer-{key}")
            assert same.queue.queue_id == queue_id


def test_large_bodies(servers: Servers, topic: str) -> None:
    options = SinkOptions(servers.nameserver, topic, compress_over_bytes=10_000_000)
    body = b"x" * (3 << 20)
    assert send_rows(options, [pa.record_batch({"body": [b"small", body], "sharding_key": ["k", "k"]})]) == 2
    assert [message.body for message in stored(servers.nameserver, topic, 2)] == [b"small", body]
    with pytest.raises(FixError, match=r"p, row 0: the body .* has 4194305 bytes, 4194304 are allowed"):
        send_rows(options, [pa.record_batch({"body": [b"x" * ((4 << 20) + 1)]})], where="p")


def test_delayed_rows_come_later(servers: Servers, topic: str) -> None:
    rows = {"body": [b"now", b"soon"], "delay_level": pa.array([0, 1], pa.int32())}
    assert send_rows(SinkOptions(servers.nameserver, topic), [pa.record_batch(rows)]) == 2
    by_body = {message.body: message for message in stored(servers.nameserver, topic, 2)}
    assert set(by_body) == {b"now", b"soon"}
    assert by_body[b"soon"].store_timestamp - by_body[b"soon"].born_timestamp > 800
    assert by_body[b"soon"].store_timestamp > by_body[b"now"].store_timestamp
