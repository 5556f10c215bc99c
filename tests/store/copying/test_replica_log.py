"""The store of a slave: the log of its master, with queues and index made here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import bodies, put

from mqframe.core.errors import StoreError, StoreUnavailable
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.replication.stream import FrameReader
from mqframe.core.storage.dispatch_facts import queue_code
from mqframe.core.storage.record import decode_records
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings
from mqframe.testing.manual_clock import ManualClock

RECORDED = Path(__file__).parents[2] / "data" / "replication"
Open = Callable[..., MessageStore]
Message = Callable[..., Incoming]


@pytest.fixture
def replica(small: Callable[..., StoreSettings], clock: ManualClock, tmp_path: Path) -> Iterator[Open]:
    opened: list[MessageStore] = []

    def open_replica(**changes: Any) -> MessageStore:
        store = MessageStore.open(small(tmp_path / "replica", **changes), clock, is_copy=True)
        opened.append(store)
        return store

    yield open_replica
    for store in opened:
        store.abandon()


def copy_all(master: MessageStore, slave: MessageStore, *, piece: int = 1000) -> None:
    """What the stream does: parts of at most `piece` bytes, none across the end of a file."""
    file_bytes = master.settings.commit_log_file_bytes
    at = slave.log.max_offset or master.log.min_offset
    while at < master.log.max_offset:
        size = min(piece, master.log.max_offset - at, file_bytes - at % file_bytes)
        part = master.log.log_bytes(at, size)
        assert part is not None
        slave.replica.append_copy(at, bytes(part))
        at += size
    slave.dispatch.now()


def log_of(store: MessageStore) -> bytes:
    files = sorted((store.settings.directory / "commitlog").iterdir())
    return b"".join(file.read_bytes() for file in files)[: store.log.max_offset - store.log.min_offset]


def test_a_slave_has_log_queues_and_index_of_its_master(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    master, slave = opened(), replica()
    texts = [b"%d" % number * 9000 for number in range(200)]  # three files
    put(
        master,
        *(
            message("t", number % 3, text, TAGS=f"T{number % 2}", KEYS=f"k{number}")
            for number, text in enumerate(texts)
        ),
    )
    copy_all(master, slave, piece=32_768)
    assert slave.log.max_offset == master.log.max_offset > 2 << 20
    assert log_of(slave) == log_of(master)
    for queue in range(3):
        found = slave.reads.get("t", queue, 0, 1000, bytes_max=1 << 30)
        assert bodies(found) == texts[queue::3]
        assert slave.queues.max_offset("t", queue) == master.queues.max_offset("t", queue)
    found = slave.search.query("t", "k77", 10, 0, 1 << 60)
    assert [one.body for raw in found.records for one in decode_records(raw)] == [texts[77]]


def test_a_slave_goes_on_where_it_was_after_a_stop_and_after_a_kill(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    async def scenario() -> None:
        master, slave = opened(), replica()
        for round_ in range(4):
            put(master, *(message(body=b"%d.%d" % (round_, number) * 1000) for number in range(90)))
            copy_all(master, slave)
            tail = message(body=b"half" * 500)
            put(master, tail)
            part = master.log.log_bytes(slave.log.max_offset, 700)
            assert part is not None
            slave.replica.append_copy(slave.log.max_offset, bytes(part))  # the start of a record
            if round_ % 2:
                await slave.stop()
            else:
                slave.abandon()
            end = slave.log.max_offset
            slave = replica()
            assert slave.log.max_offset == end
            copy_all(master, slave)
        assert log_of(slave) == log_of(master)
        assert slave.queues.max_offset("t", 0) == 4 * 91 == master.queues.max_offset("t", 0)
        assert bodies(slave.reads.get("t", 0, 0, 1000, bytes_max=1 << 30)) == bodies(
            master.reads.get("t", 0, 0, 1000, bytes_max=1 << 30)
        )

    asyncio.run(scenario())


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


def test_a_queue_whose_topic_was_made_anew_begins_again(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    async def scenario() -> None:
        master, slave = opened(), replica()
        put(master, *(message(body=b"old") for _ in range(5)))
        copy_all(master, slave)
        await master.delete_topic("t")
        put(master, message(body=b"new 0"), message(body=b"new 1"))
        copy_all(master, slave)
        assert bodies(slave.reads.get("t", 0, 0, 10)) == [b"new 0", b"new 1"]
        assert slave.queues.max_offset("t", 0) == 2

    asyncio.run(scenario())


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

    monkeypatch.setattr("mqframe.core.storage.dispatch_facts.queue_code", odd)
    monkeypatch.setattr("mqframe.store.appending.appender.queue_code", odd)
    told: list[tuple[str, int, int]] = []
    slave.dispatch.watch(lambda place, problem: told.append(place[:3]))
    copy_all(master, slave, piece=1 << 20)
    assert told == [("t", 0, 1), ("t", 0, 3)]
    assert bodies(slave.reads.get("t", 0, 0, 10)) == [b"0", b"1", b"2", b"3"]
    assert slave.reads.get("t", 0, 0, 10, codes={java_hash("a")}).count == 2
    assert len(slave.search.query("t", "k", 10, 0, 1 << 60).records) == 2


def test_a_slave_takes_no_messages_of_its_own(replica: Open, message: Message) -> None:
    slave = replica()
    for write in (
        lambda: slave.writes.put(message()),
        lambda: slave.writes.put_batch(message(), b""),
        lambda: slave.writes.make_room(1),
    ):
        with pytest.raises(StoreUnavailable, match="slave"):
            write()
    assert slave.log.max_offset == 0


def test_the_last_record_is_that_which_lies_last(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    master, slave = opened(), replica()
    assert slave.replica.missing.last_record() is None
    stored = put(master, message("u", body=b"a"), message("t", body=b"b"), message("u", 1, body=b"c"))
    copy_all(master, slave)
    found = slave.replica.missing.last_record()
    assert found is not None
    assert found[0] == stored[-1].commit_log_offset
    assert found[1] == master.search.record_at(found[0])


def test_an_empty_slave_begins_where_its_masters_log_does(replica: Open) -> None:
    slave = replica()
    slave.replica.append_copy(3 << 20, b"")
    assert (slave.log.min_offset, slave.log.max_offset) == (3 << 20, 3 << 20)
    slave.abandon()
    assert replica().log.max_offset == 3 << 20
