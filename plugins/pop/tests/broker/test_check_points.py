"""What was popped, and who comes when, around orderly stops."""

import asyncio
import threading

import pytest
from mqframe_pop.settings import PopSettings
from mqframe_testing.cluster_scene import ClusterScene
from popping import pop_request, popped

from mqframe.core.storage.found import GetStatus
from mqframe.store.files.log_file import LogFile
from mqframe.store.reading.reads import QueueReads

KEY = "UNIQ_KEY\x01FD00AA\x02"
REVIVE = "rmq_sys_REVIVE_LOG_DefaultCluster"


async def send(world, count):
    for number in range(count):
        await world.client.ok_send("t", KEY, body=b"%d" % number)


async def pop(talker, **fields):
    return popped(await talker.invoke(pop_request(**fields)))


async def bodies(talker, pops=4, **fields):
    return sorted([message.body for _ in range(pops) for message in await pop(talker, **fields)])


async def fill_memory(world):
    """Take up the one place that memory has for a check point, with one of another group."""
    await pop(world.client, consumer_group="other", max_msg_nums=1, invisible_time=3_600_000)


def records(world):
    return sum(world.store.queues.max_offset(REVIVE, queue_id) for queue_id in range(8))


@pytest.mark.parametrize("down", [0, 0.4, 2, 300])
async def test_acknowledgements_that_the_timer_keeps_come_first_after_a_restart(down):
    """The timer delivers a check point a second before its acknowledgements; the broker stops in between."""

    async with ClusterScene(topics={"t": 2}, sections=[PopSettings(check_points_max=1)]) as world:
        await send(world, 3)
        await fill_memory(world)
        await world.clock.aadvance(0.5)
        messages = await pop(world.client, invisible_time=30_000)
        await world.clock.aadvance(1)
        await world.client.ok(messages[0].ack())
        await world.client.ok(messages[2].ack())
        await world.clock.aadvance(28.6)
        assert records(world) == 2  # the one in memory, and the one that the timer delivered
        await world.cluster.stop_broker()
        await world.clock.aadvance(down)
        await world.cluster.start_broker()
        talker = world.connect()
        assert records(world) == 2
        await world.clock.aadvance(4)
        assert await bodies(talker, invisible_time=600_000) == [b"1"]
        assert records(world) >= 4
        await world.clock.aadvance(60)
        assert await bodies(talker) == []


async def test_all_that_the_timer_keeps_comes_in_order_after_a_long_stop(monkeypatch):
    records_at = QueueReads.records_at

    async def slow(self, wanted):
        for _ in range(40):  # more turns than the clock gives between two calls
            await asyncio.sleep(0)
        return await records_at(self, wanted)

    monkeypatch.setattr(QueueReads, "records_at", slow)

    async with ClusterScene(topics={"t": 2}, sections=[PopSettings(check_points_max=1)]) as world:
        await send(world, 40)
        await fill_memory(world)
        await world.clock.aadvance(0.5)
        wanted = []
        for number in range(10):
            messages = await pop(world.client, max_msg_nums=4, invisible_time=3_000 + 2_000 * number)
            for message in messages[1:]:
                await world.client.ok(message.ack())
            wanted.append(messages[0].body)
        await world.clock.aadvance(0.1)  # all is in the wheel now
        await world.cluster.stop_broker()
        await world.clock.aadvance(600)
        await world.cluster.start_broker()
        talker = world.connect()
        await world.clock.aadvance(10)
        assert await bodies(talker, pops=8, invisible_time=600_000) == sorted(wanted)


async def test_a_broker_that_stopped_in_good_order_acts_on_nothing_any_more(caplog):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 4)
        await pop(world.client, max_msg_nums=2, invisible_time=20_000)
        await pop(world.client, max_msg_nums=2, invisible_time=40_000)
        await world.clock.aadvance(1)
        await world.cluster.restart_broker()
        talker = world.connect()
        await world.clock.aadvance(19)
        assert await bodies(talker, invisible_time=600_000) == [b"0", b"1"]
        await world.clock.aadvance(20)
        assert await bodies(talker, invisible_time=600_000) == [b"2", b"3"]
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text for text in told if "popped" in text or "brought back" in text] == []


async def test_an_orderly_stop_while_messages_come_back_brings_none_back_twice(monkeypatch):
    get_cold, get_now = QueueReads.get_cold, QueueReads.get_now
    asked = []
    gate = asyncio.Event()

    def nothing_at_once(self, topic, queue_id, offset, *arguments, **fields):
        found = get_now(self, topic, queue_id, offset, *arguments, **fields)
        return None if closed and offset and found.status is GetStatus.FOUND else found

    async def held_back(self, topic, queue_id, offset, *arguments, **fields):
        asked.append(offset)
        await gate.wait()
        return await get_cold(self, topic, queue_id, offset, *arguments, **fields)

    closed = []
    monkeypatch.setattr(QueueReads, "get_now", nothing_at_once)
    monkeypatch.setattr(QueueReads, "get_cold", held_back)

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 3)
        await pop(world.client, invisible_time=20_000)
        closed.append(True)
        await world.clock.aadvance(20)
        assert asked == [1]  # message 0 is stored again, message 1 is being read
        stopping = asyncio.ensure_future(world.cluster.stop_broker())
        await world.settle()
        gate.set()
        await stopping
        closed.clear()
        await world.cluster.start_broker()
        talker = world.connect()
        await world.clock.aadvance(20)
        assert await bodies(talker, invisible_time=600_000) == [b"0", b"1", b"2"]


@pytest.fixture
def disk(monkeypatch):
    """Syncs of log files wait while this is not set."""
    gate, real = threading.Event(), LogFile.sync
    gate.set()

    def sync(file):
        assert gate.wait(120)
        real(file)

    monkeypatch.setattr(LogFile, "sync", sync)
    return gate


async def flushed(world, end):
    async with asyncio.timeout(120):
        while world.store.log.flushed_offset < end:
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("way", ["stop", "kill"])
async def test_a_check_point_that_waits_for_the_disk_is_not_passed_over(disk, way):
    async with ClusterScene(topics={"t": 2}, store={"flush": "SYNC_FLUSH"}) as world:
        await send(world, 1)
        assert len(await pop(world.client, invisible_time=60_000)) == 1
        if way == "kill":
            await world.clock.aadvance(9)
            disk.clear()
            await world.clock.aadvance(3)  # written after 10 s; the revive log's offsets move each second
            disk.set()
            await flushed(world, world.store.log.max_offset)
            for _ in range(3):
                await world.clock.aadvance(3)  # offsets are saved every 5 s, by a thread
                await world.settle()
            await world.cluster.kill_broker()
        else:
            await world.cluster.stop_broker()
        await world.cluster.start_broker()
        talker = world.connect()
        assert await bodies(talker) == []
        for _ in range(65):
            end = world.store.log.max_offset
            await world.clock.aadvance(1)
            await flushed(world, end)
        assert await bodies(talker, pops=1) == [b"0"]


async def test_what_is_acknowledged_while_it_is_handed_over_does_not_come_again(disk):
    """With a synchronous flush the disk is waited for before the timer is left alone with a check point."""

    async with ClusterScene(
        topics={"t": 2}, sections=[PopSettings(check_points_max=1)], store={"flush": "SYNC_FLUSH"}
    ) as world:
        await send(world, 3)
        await fill_memory(world)
        disk.clear()
        for message in await pop(world.client, max_msg_nums=2, invisible_time=30_000):
            await world.client.ok(message.ack())
        disk.set()
        for _ in range(80):
            end = world.store.log.max_offset
            await world.clock.aadvance(0.5)
            await flushed(world, end)
        assert await bodies(world.client, pops=1) == [b"2"]


async def test_an_acknowledgement_that_the_timer_is_to_keep_waits_for_the_disk(monkeypatch):
    def fail(file):
        raise OSError(5, "Input/output error")

    async with ClusterScene(
        topics={"t": 2}, sections=[PopSettings(check_points_max=1)], store={"flush": "SYNC_FLUSH"}
    ) as world:
        await send(world, 4)
        await fill_memory(world)
        await world.clock.aadvance(0.5)
        messages = await pop(world.client, invisible_time=30_000)
        await flushed(world, world.store.log.max_offset)
        await world.clock.aadvance(1)
        await world.client.ok(messages[0].ack())
        assert world.store.log.flushed_offset == world.store.log.max_offset
        with monkeypatch.context() as broken:
            broken.setattr(LogFile, "sync", fail)
            answer = await world.client.invoke(messages[1].ack())
            assert (answer.code, "not on disk in time" in answer.remark) == (10, True)
