"""Commits that clients made at a slave, and what becomes of them when the master is back."""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path
from typing import NamedTuple, cast

from mqframe_admin.requests import DeleteSubscriptionGroup
from mqframe_replication.broker.commits import CommitsToTell
from mqframe_replication.rules.slave_offsets import SlaveOffsets
from mqframe_testing.manual_clock import ManualClock
from replicas import Pair, texts

from mqframe.broker.broker import Broker
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.net.client import Client

QUEUE = {"consumer_group": "g", "topic": "t", "queue_id": 0}


async def committed(pair: Pair, broker: Broker) -> int:
    answer = await pair.invoke(broker, QueryConsumerOffset(**QUEUE))  # type: ignore[arg-type]
    assert answer.code == 0, answer.remark
    return int((answer.ext or {})["offset"])


async def commit(pair: Pair, broker: Broker, offset: int) -> None:
    request = UpdateConsumerOffset(**QUEUE, commit_offset=offset)  # type: ignore[arg-type]
    assert (await pair.invoke(broker, request)).code == 0


async def both(pair: Pair) -> tuple[Broker, Broker]:
    """A master whose group `g` is at 5 of 20, and a slave that copied that."""
    master = await pair.start("master", "ASYNC_MASTER")
    await pair.sent(master, *texts(0, 20))
    assert len(await pair.bodies(master)) == 20  # makes the group
    await commit(pair, master, 5)
    slave = await pair.start("slave", "SLAVE")
    await pair.settle(2)
    await pair.follows(master, slave)
    for _ in range(4):  # so long that the master is known to have it on its disk
        await pair.settle(10)
    assert await committed(pair, slave) == 5
    return master, slave


async def back(pair: Pair, slave: Broker) -> Broker:
    master = await pair.start("master", "ASYNC_MASTER")
    await slave.register()  # hears where the master is now
    await pair.settle(6)
    await pair.follows(master, slave)
    return master


async def test_a_master_that_is_back_is_told_what_was_committed_at_its_slave(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        master = await back(pair, slave)
        assert await committed(pair, master) == 12
        assert await committed(pair, slave) == 12
        # From then on the master's word counts again.
        await commit(pair, master, 3)
        await pair.settle(10.1)
        assert await committed(pair, slave) == 3


async def test_it_is_told_so_by_a_slave_that_was_killed_meanwhile(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        await pair.settle(5.1)  # saved
        await pair.stop(slave, kill=True)
        slave = await pair.start("slave", "SLAVE")
        assert await committed(pair, slave) == 12
        master = await back(pair, slave)
        assert await committed(pair, master) == 12


async def test_clients_that_were_back_before_it_count(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        master = await pair.start("master", "ASYNC_MASTER")
        await commit(pair, master, 14)
        await slave.register()
        await pair.settle(6)
        assert await committed(pair, master) == 14
        assert await committed(pair, slave) == 14


async def test_an_operator_who_moves_a_group_back_counts(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        master = await pair.start("master", "ASYNC_MASTER")
        await commit(pair, master, 2)
        await slave.register()
        await pair.settle(6)
        assert await committed(pair, master) == 2
        assert await committed(pair, slave) == 2


async def test_a_master_that_lost_its_progress_gets_it_from_the_slave(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        for name in ("consumerOffset.json", "consumerOffset.json.bak"):
            (tmp_path / "master" / "config" / name).unlink(missing_ok=True)
        master = await back(pair, slave)
        assert await committed(pair, master) == 12


async def test_a_slave_that_became_master_keeps_them_and_tells_nobody_later(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        await pair.stop(slave)
        config = tmp_path / "slave" / "config"
        assert (config / "slaveCommits.json").exists()
        promoted = await pair.start("slave", "ASYNC_MASTER")
        assert await committed(pair, promoted) == 12
        assert not (config / "slaveCommits.json").exists()
        await commit(pair, promoted, 4)
        demoted = await pair.start("master", "SLAVE")
        await pair.settle(2)
        assert await committed(pair, demoted) == 4


class Racing:
    """A master that serves what comes at once in several threads, and makes a table where it finds none."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], dict[int, int]] = {}
        self.serves = self.serves_max = 0

    async def invoke(self, address: str, request: object, *, timeout: float) -> Answered:
        if isinstance(request, QueryConsumerOffset):
            return Answered(22)
        assert isinstance(request, UpdateConsumerOffset)
        key = (request.topic, request.consumer_group)
        table = self.tables.get(key, {})
        self.serves += 1
        self.serves_max = max(self.serves_max, self.serves)
        await asyncio.sleep(0)
        self.serves -= 1
        assert request.commit_offset is not None
        self.tables[key] = {**table, request.queue_id: request.commit_offset}
        return Answered(0)


class Answered(NamedTuple):
    code: int
    remark: str = ""


async def test_a_master_without_a_table_is_told_of_all_queues() -> None:
    offsets = SlaveOffsets(ManualClock())
    for group, topic, queue_id in product("gh", "tu", range(4)):
        offsets.commit(group, topic, queue_id, 7)
    master = Racing()
    await CommitsToTell(offsets, cast("Client", master)).tell("127.0.0.1:1")
    assert master.tables == {key: dict.fromkeys(range(4), 7) for key in product("tu", "gh")}
    assert master.serves_max == 4, "those of different tables go together"
    assert offsets.own.all() == []


async def test_a_master_whose_log_is_another_one_is_told_nothing(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        other = await pair.start("other", "ASYNC_MASTER")
        await pair.sent(other, *texts(100, 30))
        assert len(await pair.bodies(other)) == 30
        await slave.register()
        await pair.settle(20)
        assert (await pair.counters(slave))["replicationFollows"] == "false"
        answer = await pair.invoke(other, QueryConsumerOffset(**QUEUE, set_zero_if_not_found=False))  # type: ignore[arg-type]
        assert answer.code == 22


async def test_a_commit_that_the_master_does_not_take_is_given_up(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        await pair.stop(master)
        await commit(pair, slave, 12)
        master = await pair.start("master", "ASYNC_MASTER")
        assert (await pair.invoke(master, DeleteSubscriptionGroup(group_name="g"))).code == 0
        await slave.register()
        await pair.settle(6)
        await pair.follows(master, slave)
        await pair.stop(master)
        # The group is made anew, and what was given up is not told then.
        master = await back(pair, slave)
        assert len(await pair.bodies(master)) == 20
        await pair.settle(20)
        answer = await pair.invoke(master, QueryConsumerOffset(**QUEUE, set_zero_if_not_found=False))  # type: ignore[arg-type]
        assert answer.ext == {"offset": "5"}
