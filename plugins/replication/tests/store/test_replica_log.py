"""The store of a slave: the log of its master, with queues and index made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mqframe_election.stream.follower_rules import FlushedTarget
from mqframe_replication.stream.copy_rules import CopyTarget
from mqframe_replication.stream.feed_rules import LogSource
from stores import bodies, copy_all, log_of, put

from mqframe.core.storage.record import decode_records
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

RECORDED = Path(__file__).parents[4] / "tests/data/replication"
Open = Callable[..., MessageStore]
Message = Callable[..., Incoming]


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


async def test_a_slave_goes_on_where_it_was_after_a_stop_and_after_a_kill(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
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


def test_followers_find_what_they_write_to_and_masters_what_they_send(
    opened: Callable[..., MessageStore], replica: Open
) -> None:
    """These are handed on by what types do not tell."""
    slave = replica().replica
    for part, wanted in ((slave, CopyTarget), (slave, FlushedTarget), (opened().log, LogSource)):
        names = {name for each in wanted.__mro__ for name in vars(each) if not name.startswith("_")}
        assert names
        assert [name for name in names if not hasattr(part, name)] == []


async def test_a_copy_is_brought_to_disk(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    master, slave = opened(), replica()
    slave.start()
    (stored,) = put(master, message())
    copy_all(master, slave)
    assert (slave.replica.max_offset, slave.replica.flushed_offset) == (stored.end_offset, 0)
    assert await slave.replica.flush_log()
    assert slave.replica.flushed_offset == stored.end_offset
    await slave.stop()
