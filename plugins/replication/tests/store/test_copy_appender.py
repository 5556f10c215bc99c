"""What comes of a master's log, appended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mqframe_replication.rules.stream import FrameReader
from stores import bodies, copy_all, log_of, put

from mqframe.core.errors import StoreError
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.storage.dispatch_facts import queue_code
from mqframe.core.storage.record import decode_records
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

RECORDED = Path(__file__).parents[4] / "tests/data/replication"
Open = Callable[..., MessageStore]
Message = Callable[..., Incoming]


@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_what_a_real_master_sent_makes_the_queues_of_its_slave(version: str, replica: Open) -> None:
    known = json.loads((RECORDED / version / "manifest.json").read_text())
    slave = replica(commit_log_file_bytes=known["segment"])
    for connection in known["connections"]:
        for frame in FrameReader().read((RECORDED / version / connection["masterFile"]).read_bytes()):
            slave.replica.append_copy(frame.offset, frame.data)
        assert slave.log.max_offset == connection["reports"][-1]
    slave.dispatch.now()
    assert [slave.log.min_offset, slave.log.max_offset] == [
        known["slaveLog"]["first"],
        known["slaveLog"]["end"],
    ]
    for number, (low, high) in known["slaveQueues"]["TopicR"].items():
        assert [
            slave.queues.min_offset("TopicR", int(number)),
            slave.queues.max_offset("TopicR", int(number)),
        ] == [low, high]
        parts = slave.reads.get("TopicR", int(number), low, 1000, bytes_max=1 << 30).parts
        offsets = [one.queue_offset for part in parts for one in decode_records(part)]
        assert offsets == list(range(low, high))


async def test_a_queue_whose_topic_was_made_anew_begins_again(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    master, slave = opened(), replica()
    put(master, *(message(body=b"old") for _ in range(5)))
    copy_all(master, slave)
    await master.delete_topic("t")
    put(master, message(body=b"new 0"), message(body=b"new 1"))
    copy_all(master, slave)
    assert bodies(slave.reads.get("t", 0, 0, 10)) == [b"new 0", b"new 1"]
    assert slave.queues.max_offset("t", 0) == 2


def test_what_does_not_follow_is_refused_and_nothing_is_overwritten(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    master, slave = opened(), replica()
    put(master, *(message() for _ in range(5)))
    copy_all(master, slave)
    before, end = log_of(slave), slave.log.max_offset
    for offset in (0, end - 1, end + 1):
        with pytest.raises(StoreError, match="does not follow"):
            slave.replica.append_copy(offset, b"x")
    with pytest.raises(StoreError, match="no sound record"):
        slave.replica.append_copy(end, b"x" * 100)
    slave.replica.forget_partial()
    assert (log_of(slave), slave.log.max_offset) == (before, end)
    put(master, message())
    copy_all(master, slave)
    assert slave.queues.max_offset("t", 0) == 6


def test_what_comes_before_something_refused_is_listed(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    master, slave = opened(), replica()
    put(master, *(message(body=b"%d" % number) for number in range(5)))
    sound = master.log.log_bytes(0, master.log.max_offset)
    assert sound is not None
    with pytest.raises(StoreError, match=f"log offset {master.log.max_offset} is no sound record"):
        slave.replica.append_copy(0, sound, b"\xff" * 100)
    slave.replica.forget_partial()
    put(master, message(body=b"5"))
    copy_all(master, slave)
    assert bodies(slave.reads.get("t", 0, 0, 10)) == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_a_message_that_cannot_be_listed_whole_leaves_those_of_others_whole(
    opened: Callable[..., MessageStore],
    replica: Open,
    message: Message,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    master, slave = opened(), replica()
    put(master, *(message(body=b"%d" % number, TAGS=tag, KEYS="k") for number, tag in enumerate("abab")))

    def odd(topic: str, text: str, store_timestamp: int, levels: tuple[int, ...]) -> int:
        if "TAGS\x01b" in text:
            raise ValueError("nobody foresaw it")
        return queue_code(topic, text, store_timestamp, levels)

    monkeypatch.setattr("mqframe_replication.store.dispatch_facts.queue_code", odd)
    monkeypatch.setattr("mqframe.store.appending.appender.queue_code", odd)
    told: list[tuple[str, int, int]] = []
    slave.dispatch.watch(lambda place, problem: told.append(place[:3]))
    copy_all(master, slave, piece=1 << 20)
    assert told == [("t", 0, 1), ("t", 0, 3)]
    assert bodies(slave.reads.get("t", 0, 0, 10)) == [b"0", b"1", b"2", b"3"]
    assert slave.reads.get("t", 0, 0, 10, codes={java_hash("a")}).count == 2
    assert len(slave.search.query("t", "k", 10, 0, 1 << 60).records) == 2


def test_an_empty_slave_begins_where_its_masters_log_does(replica: Open) -> None:
    slave = replica()
    slave.replica.append_copy(3 << 20, b"")
    assert (slave.log.min_offset, slave.log.max_offset) == (3 << 20, 3 << 20)
    slave.abandon()
    assert replica().log.max_offset == 3 << 20
