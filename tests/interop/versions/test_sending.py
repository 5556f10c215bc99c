"""Sends to each version's broker: what is stored, who can read it, and what an old broker cannot do."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime, timedelta

import pytest
from real_time import until

from interop.apache import Apache
from interop.conftest import java_client
from interop.foreign_programs import OLDER
from interop.servers import Servers
from mqframe import (
    AnswerError,
    FixError,
    Message,
    Producer,
    ProducerSettings,
    Puller,
    ReceivedMessage,
    SendStatus,
)
from mqframe.core.codes import SysFlag
from mqframe.core.delay.recall_handle import recall_handle

HUGE = b"0123456789" * 30_000
"""As long as Interop.java's: several blocks of an lz4 frame."""


def read_all(servers: Servers, topic: str, count: int) -> list[ReceivedMessage]:
    """All `count` messages of `topic`; each queue's offsets have no gap."""
    with Puller(nameserver=servers.nameserver) as puller:
        queues = puller.queues(topic)
        until(lambda: sum(map(puller.max_offset, queues)) == count)
        found = []
        for queue in queues:
            read = puller.pull(queue, 0, 1000).messages
            assert [each.queue_offset for each in read] == list(range(puller.max_offset(queue)))
            found += read
    return found


@pytest.mark.proves("sending")
def test_each_way_of_sending_stores_in_order(servers: Servers, topic: str, producer: Producer) -> None:
    plain = [producer.send(Message(topic, b"plain-%d" % n, tag="a", keys=["k"])) for n in range(4)]
    keyed = [producer.send(Message(topic, b"keyed-%d" % n), sharding_key="one") for n in range(3)]
    batch = producer.send_batch([Message(topic, b"batch-%d" % n) for n in range(3)])
    producer.send_oneway(Message(topic, b"oneway"))
    submitted = [producer.submit(Message(topic, b"submitted-%d" % n)) for n in range(5)]
    later = [future.result(60) for future in submitted]
    assert {each.status for each in [*plain, *keyed, batch, *later]} == {SendStatus.SEND_OK}

    stored = {each.body: each for each in read_all(servers, topic, 16)}
    for name, results in (("plain", plain), ("keyed", keyed), ("submitted", later)):
        for n, result in enumerate(results):
            message = stored[f"{name}-{n}".encode()]
            assert (message.message_id, message.offset_message_id, message.queue, message.queue_offset) == (
                result.message_id, result.offset_message_id, result.queue, result.queue_offset,
            )  # fmt: skip
    assert (stored[b"plain-0"].tag, stored[b"plain-0"].keys) == ("a", ["k"])
    assert [each.queue_offset for each in keyed] == sorted(each.queue_offset for each in keyed)
    assert len({each.queue for each in keyed}) == 1
    in_batch = [stored[b"batch-%d" % n] for n in range(3)]
    assert [each.message_id for each in in_batch] == batch.message_id.split(",")
    assert [each.queue_offset for each in in_batch] == list(range(batch.queue_offset, batch.queue_offset + 3))


@pytest.mark.proves("sending")
def test_bodies_of_lz4_open_on_both_sides(
    servers: Servers, topic: str, class_path: str, running: Apache
) -> None:
    flags = ["-Drocketmq.message.compressType=LZ4"]
    with contextlib.ExitStack() as clients:
        java = java_client(class_path, ["send", servers.nameserver, topic, "huge", "1"], running.home, flags)
        clients.callback(java.end)
        assert [line[1] for line in java.finish()] == ["SEND_OK"]
        settings = ProducerSettings(compression="lz4")
        with Producer("packed", nameserver=servers.nameserver, settings=settings) as producer:
            producer.send(Message(topic, b"ours-" + HUGE))
        read = read_all(servers, topic, 2)
        assert sorted(each.body for each in read) == [b"huge-0-" + HUGE, b"ours-" + HUGE]
        assert all(each.store_size < len(HUGE) // 10 for each in read)
        assert {each.sys_flag & SysFlag.COMPRESSION_MASK for each in read} == {SysFlag.COMPRESSION_LZ4}
        java = java_client(class_path, ["queues", servers.nameserver, topic], running.home)
        clients.callback(java.end)
        texts = [line[4] for line in java.finish() if line[0] == "read"]
    assert sorted(texts) == [f"huge-0-{HUGE.decode()}", f"ours-{HUGE.decode()}"]


@pytest.mark.proves("delay")
def test_a_delay_is_kept_or_refused_before_anything_is_sent(
    version: str, servers: Servers, topic: str, producer: Producer
) -> None:
    began = time.time()
    at = datetime.now(UTC) + timedelta(seconds=1)
    if version == OLDER:
        for how in ({"delay": 1}, {"deliver_at": at}):
            with pytest.raises(FixError, match=r"Apache RocketMQ 5\.0\.0 or later, and .* is 4\.9\.7; noth"):
                producer.send(Message(topic, b"timed"), **how)  # type: ignore[arg-type]
            with pytest.raises(FixError, match=r"5\.0\.0 or later"):
                producer.send_oneway(Message(topic, b"timed"), **how)  # type: ignore[arg-type]
        timed = 0
    else:
        producer.send(Message(topic, b"timed"), delay=1)
        producer.send(Message(topic, b"timed"), deliver_at=at)
        timed = 2
    producer.send(Message(topic, b"level"), delay_level=1)
    with Puller(nameserver=servers.nameserver) as puller:
        assert sum(map(puller.max_offset, puller.queues(topic))) == 0
    read = read_all(servers, topic, 1 + timed)
    assert sorted(each.body for each in read) == [b"level", *[b"timed"] * timed]
    assert all(each.store_timestamp / 1000 > began + 0.9 for each in read)


@pytest.mark.proves("recall", since="5.3.2")
def test_a_message_is_recalled_where_brokers_can(
    version: str, servers: Servers, topic: str, producer: Producer
) -> None:
    if version == OLDER:
        handle = recall_handle(topic, servers.broker_name, 1, "of another broker")
        with pytest.raises(AnswerError, match=r"served from Apache RocketMQ 5\.3\.2 on, and this is 4\.9\.7"):
            producer.recall(topic, handle)
        return
    sent = producer.send(Message(topic, b"taken back"), delay=3600)
    assert sent.recall_handle is not None
    assert producer.recall(topic, sent.recall_handle) == sent.message_id
