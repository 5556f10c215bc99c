"""A master and its slaves in one process: what is copied, what is refused, what senders are told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from replicas import FILE_BYTES, Pair, texts

from mqframe.core.requests.admin import (
    GetAllConsumerOffset,
    GetTopicConfig,
    UpdateAndCreateTopic,
)
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.loose_json import loads


async def test_a_slave_has_what_its_master_has_and_serves_it(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 100))  # two files and more
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.sent(master, *texts(100, 20))
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 120) == await pair.bodies(master)
        end = master.store.log.max_offset
        assert end > 2 * FILE_BYTES
        assert pair.log("slave")[:end] == pair.log("master")[:end]
        assert (await pair.counters(master))["replicationSlaves"] == "1"
        assert (await pair.counters(slave))["replicationFollows"] == "true"


@pytest.mark.parametrize("kill", [False, True])
async def test_a_slave_that_was_away_goes_on_where_it_was(kill: bool, tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 40))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(slave, kill=kill)
        await pair.sent(master, *texts(40, 70))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 110)


async def test_a_slave_follows_its_master_again_when_that_comes_back(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        slave = await pair.start("slave", "SLAVE")
        await pair.sent(master, *texts(0, 10))
        await pair.follows(master, slave)
        await pair.stop(master)
        assert await pair.bodies(slave) == texts(0, 10)
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(10, 10))
        await pair.settle(60)
        await pair.follows(master, slave)
        assert await pair.bodies(slave) == texts(0, 20)


async def test_topics_groups_and_progress_come_from_the_master(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.invoke(
            master, UpdateAndCreateTopic(topic="made", read_queue_nums=3, write_queue_nums=3, perm=6)
        )
        await pair.sent(master, *texts(0, 5))
        assert await pair.bodies(master) == texts(0, 5)  # makes the group
        place = {"consumer_group": "g", "topic": "t", "queue_id": 0}
        assert (await pair.invoke(master, UpdateConsumerOffset(**place, commit_offset=3))).code == 0
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        assert (
            loads(bytes((await pair.invoke(slave, GetTopicConfig(topic="made"))).body))["readQueueNums"] == 3
        )
        assert (await pair.invoke(slave, QueryConsumerOffset(**place))).ext == {"offset": "3"}
        assert (await pair.invoke(master, UpdateConsumerOffset(**place, commit_offset=5))).code == 0
        await pair.settle(10.1)
        assert (await pair.invoke(slave, QueryConsumerOffset(**place))).ext == {"offset": "5"}
        table = loads(bytes((await pair.invoke(slave, GetAllConsumerOffset())).body))
        assert table["offsetTable"] == {"t@g": {"0": 5}}


async def test_a_slave_refuses_writes_and_says_why(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        await pair.start("master", "ASYNC_MASTER")
        slave = await pair.start("slave", "SLAVE")
        answer = await pair.send(slave, b"x")
        assert answer.code == 14
        assert "slave" in (answer.remark or "")
        request = UpdateAndCreateTopic(topic="made", read_queue_nums=3, write_queue_nums=3, perm=6)
        assert (await pair.invoke(slave, request)).code == 1
        assert slave.store.log.max_offset == 0


async def test_the_route_has_the_slave_under_its_number(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, b"x")
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await slave.register()
        answer = await pair.client.invoke(pair.names.address, GetRouteinfoByTopic(topic="t"), timeout=3600)
        addresses = loads(bytes(answer.body))["brokerDatas"][0]["brokerAddrs"]
        assert {int(key): value for key, value in addresses.items()} == {0: master.address, 1: slave.address}


async def test_a_sync_master_answers_when_a_slave_has_the_message(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "SYNC_MASTER")
        alone = await pair.send(master, b"alone")
        assert (alone.code, alone.ext and alone.ext["queueOffset"]) == (11, "0")
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(master, slave)
        await pair.settle(1)
        answer = await pair.send(master, b"both")
        assert (answer.code, answer.ext and answer.ext["queueOffset"]) == (0, "1")
        assert slave.store.log.max_offset == master.store.log.max_offset
        await pair.stop(slave)
        assert (await pair.send(master, b"alone again")).code == 11
        assert await pair.bodies(master) == [b"alone", b"both", b"alone again"]


async def test_a_sync_master_tells_of_slaves_that_take_too_long(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "SYNC_MASTER", in_sync=2)
        port = int((await pair.counters(master)).get("replicationPort", "0"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(bytes(8))  # a slave that never reports more
        await pair.settle()
        asked = asyncio.ensure_future(pair.send(master, b"slow"))
        await pair.settle(2.9)
        assert not asked.done()
        await pair.settle(0.2)
        answer = await asked
        assert (answer.code, answer.ext and answer.ext["queueOffset"]) == (12, "0")
        writer.close()
        assert (await reader.read(12))[:8] == bytes(8)


async def test_logs_that_differ_are_not_joined(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        other = await pair.start("other", "ASYNC_MASTER")
        await pair.sent(other, *texts(500, 10))
        slave = await pair.start("slave", "SLAVE")
        await pair.follows(other, slave)
        await pair.stop(slave)
        await pair.stop(other)
        before = pair.log("slave")[: slave.store.log.max_offset]
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 5))
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(2)
        assert "they differ" in (await pair.counters(slave))["replicationTrouble"]
        await pair.sent(master, *texts(5, 20))
        await pair.settle(10)
        assert "is another one at the master" in (await pair.counters(slave))["replicationTrouble"]
        assert pair.log("slave")[: len(before)] == before
        assert slave.store.log.max_offset == len(before)


async def test_a_slave_becomes_master_with_all_messages(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("one", "ASYNC_MASTER")
        await pair.sent(master, *texts(0, 30))
        slave = await pair.start("two", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(master)
        await pair.stop(slave)
        promoted = await pair.start("two", "ASYNC_MASTER")
        answer = await pair.send(promoted, texts(30, 1)[0])
        assert answer.ext is not None
        assert answer.ext["queueOffset"] == "30"
        demoted = await pair.start("one", "SLAVE")
        await pair.follows(promoted, demoted)
        assert await pair.bodies(demoted) == texts(0, 31)


@pytest.mark.parametrize("wait", ["DELAY\x014\x02", "TIMER_DELAY_SEC\x0130\x02"])
async def test_a_delayed_message_is_delivered_by_the_slave_that_became_master(
    wait: str, tmp_path: Path
) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("one", "ASYNC_MASTER")
        await pair.sent(master, b"at once")
        assert (await pair.send(master, b"later", properties=wait)).code == 0
        slave = await pair.start("two", "SLAVE")
        await pair.follows(master, slave)
        await pair.stop(master)
        await pair.stop(slave)
        promoted = await pair.start("two", "ASYNC_MASTER")
        await pair.settle(20)
        assert await pair.bodies(promoted) == [b"at once"]
        await pair.settle(20)
        assert await pair.bodies(promoted) == [b"at once", b"later"]
