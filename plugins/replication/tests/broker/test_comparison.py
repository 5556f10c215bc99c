"""What a slave lacks, and logs that part: found before it follows, whenever that came about."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from mqframe_admin.requests import DeleteTopicInBroker
from mqframe_replication.broker.tables import CopiedTables
from replicas import FILE_BYTES, Pair, spoil, texts

from mqframe.broker.broker import Broker


async def twins(pair: Pair, count: int = 100) -> tuple[Broker, Broker]:
    """A master with `count` messages, some files of them, and a slave that has all."""
    master = await pair.start("master", "ASYNC_MASTER")
    await pair.sent(master, *texts(0, count))
    slave = await pair.start("slave", "SLAVE")
    await pair.follows(master, slave)
    return master, slave


def assert_same(pair: Pair, master: Broker) -> None:
    end = master.store.log.max_offset
    assert pair.log("slave")[:end] == pair.log("master")[:end]


@pytest.mark.parametrize("number", [90, 99, 95])
async def test_what_a_start_took_out_of_a_slaves_log_is_fetched_again(tmp_path: Path, number: int) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await twins(pair)
        await pair.stop(slave, kill=True)
        spoil(pair, "slave", texts(number, 1)[0])
        await pair.sent(master, *texts(100, 5))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 105)
        assert_same(pair, master)
        assert (await pair.counters(slave))["replicationMissing"] == "0"
        await pair.stop(slave)
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 105)


async def test_a_slave_that_lacks_something_reports_nothing_until_it_has_it(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await twins(pair)
        await pair.stop(slave, kill=True)
        spoil(pair, "slave", texts(90, 1)[0])
        await pair.stop(master)
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(2)
        counters = await pair.counters(slave)
        assert (counters["replicationFollows"], counters["replicationMissing"]) == ("false", "1")
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.settle(60)
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 100)
        assert_same(pair, master)


async def test_what_a_read_finds_damaged_while_a_slave_follows_is_fetched_again(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await twins(pair)
        await pair.stop(slave)
        slave = await pair.start("slave", "SLAVE")  # entries that a start finds are looked at
        await pair.follows(master, slave)
        spoil(pair, "slave", texts(50, 1)[0], -86)  # in its head, which reads look at
        with contextlib.suppress(AssertionError):
            await pair.bodies(slave)
        assert (await pair.counters(slave))["replicationMissing"] == "1"
        await pair.settle(1.1)
        assert (await pair.counters(slave))["replicationMissing"] == "0"
        await pair.sent(master, *texts(100, 5))
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 105)
        assert_same(pair, master)


async def test_what_its_master_does_not_keep_any_more_holds_no_slave_up(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await twins(pair)
        await pair.stop(slave, kill=True)
        spoil(pair, "slave", texts(2, 1)[0])
        (pair.directory / "slave" / "checkpoint").unlink()  # so that all is looked at
        await pair.stop(master)
        (pair.directory / "master" / "commitlog" / f"{0:020d}").unlink()
        master = await pair.start("master", "ASYNC_MASTER")
        assert master.store.log.min_offset == FILE_BYTES
        await pair.sent(master, *texts(100, 5))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert (await pair.counters(slave))["replicationMissing"] == "1"


async def test_a_master_that_changed_since_it_was_asked_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs are compared, then tables copied: meanwhile the master comes back with another disk."""
    copy = CopiedTables.copy

    async with Pair(tmp_path) as pair:
        master, slave = await twins(pair, 20)
        await pair.stop(slave)
        end = master.store.log.max_offset
        running = [master]

        async def change(tables: CopiedTables, address: str) -> None:
            await copy(tables, address)
            if len(running) == 1:
                port = int(running[0].address.rpartition(":")[2])
                await pair.stop(running[0])
                shutil.rmtree(pair.directory / "master")
                running.append(await pair.start("master", "ASYNC_MASTER", port=port))
                await pair.sent(running[1], *texts(500, 30))

        monkeypatch.setattr(CopiedTables, "copy", change)
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(20)
        assert len(running) == 2
        assert running[1].store.log.max_offset > end
        assert slave.store.log.max_offset == end
        assert await pair.bodies(slave) == texts(0, 20)
        await pair.settle(40)
        assert slave.store.log.max_offset == end
        assert "is another one at the master" in (await pair.counters(slave))["replicationTrouble"]


async def test_logs_are_compared_when_no_queue_lists_anything(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        other, slave = await twins(pair, 3)
        await pair.invoke(other, DeleteTopicInBroker(topic="t"))
        await pair.settle(11)
        await pair.stop(slave)
        await pair.stop(other)
        shutil.rmtree(pair.directory / "slave" / "consumequeue")
        (pair.directory / "slave" / "queue-ends").unlink()
        shutil.rmtree(pair.directory / "master")
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(500, 30))
        slave = await pair.start("slave", "SLAVE")
        end = slave.store.log.max_offset
        await pair.settle(10)
        assert "is another one at the master" in (await pair.counters(slave))["replicationTrouble"]
        assert slave.store.log.max_offset == end
