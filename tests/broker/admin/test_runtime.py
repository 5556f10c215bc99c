from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.requests.admin import (
    DeleteTopicInBroker,
    GetAllConsumerOffset,
    GetAllDelayOffset,
    GetBrokerHaStatus,
    GetBrokerRuntimeInfo,
)
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode, loads


async def runtime(world):
    return decode((await world.client.ok(GetBrokerRuntimeInfo())).body, KVTable).table


KEY = "UNIQ_KEY\x01FD00AA\x02"


async def test_counters_tell_what_went_in_and_out():
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        for _ in range(20):
            await world.client.ok_send("t", KEY)
        await world.client.pull("t")
        await world.clock.aadvance(10)
        table = decode((await world.client.ok(GetBrokerRuntimeInfo())).body, KVTable).table
        assert (table["msgPutTotalTodayNow"], table["msgGetTotalTodayNow"]) == ("20", "20")
        assert table["earliestMessageTimeStamp"] == str(start)
        assert table["putTps"] == "2.00 2.00 2.00"
        assert table["getTransferedTps"] == table["getTransferredTps"] == "2.00 2.00 2.00"
        assert table["commitLogMaxOffset"] == str(world.store.log.max_offset)
        assert (table["setAsideMessages"], table["damagedEntries"], table["lostEntries"]) == ("0", "0", "0")
        assert table["runtime"] == "[ 0 days, 0 hours, 0 minutes, 10 seconds ]"


async def test_how_long_puts_took_is_told_of_the_last_whole_minute():
    async with ClusterScene(topics={"t": 2}) as world:
        for _ in range(3):
            await world.client.ok_send("t", KEY)
        table = await runtime(world)
        assert (table["putMessageEntireTimeMax"], table["putMessageFailedTimes"]) == ("0", "0")
        assert table["putMessageDistributeTime"].startswith("[<=0ms]:0 [0~10ms]:0 ")
        await world.clock.aadvance(70)
        table = await runtime(world)
        assert table["putMessageDistributeTime"].startswith("[<=0ms]:3 [0~10ms]:0 ")
        assert table["putLatency99"] == "0.67"
        assert table["getMessageEntireTimeMax"] == "0"


async def test_look_ups_with_and_without_messages_are_counted_apart():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", KEY)
        await world.client.pull("t")
        for _ in range(3):
            await world.client.pull("t", offset=1)
        await world.clock.aadvance(10)
        table = await runtime(world)
        assert [table[f"get{kind}Tps"].split()[0] for kind in ("Found", "Miss", "Total")] == [
            "0.10", "0.30", "0.40",
        ]  # fmt: skip


async def test_sizes_are_those_of_the_records_of_deleted_topics_too():
    async with ClusterScene(topics={"t": 2}) as world:
        before = world.store.log.max_offset
        for topic in ("t", "u"):
            await world.client.ok_send(topic, KEY)
        size = world.store.log.max_offset - before
        await world.client.ok(DeleteTopicInBroker(topic="u"))
        table = await runtime(world)
        keys = ("putMessageTimesTotal", "putMessageSizeTotal", "putMessageAverageSize")
        assert [table[key] for key in keys] == ["2", str(size), str(size / 2)]
        disk = f"commitLogDiskRatio_{world.store.settings.directory / 'commitlog'}"
        assert table["commitLogDiskRatio"] == table["consumeQueueDiskRatio"] == table[disk]
        assert 0 < float(table[disk]) < 1
        assert int(table["totalMemKBytes"]) > 100_000


async def test_a_master_without_replicas_says_so():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", KEY)
        status = loads((await world.client.ok(GetBrokerHaStatus())).body)
        assert (status["master"], status["inSyncSlaveNums"], status["haConnectionInfo"]) == (True, 0, [])
        assert status["masterCommitLogMaxOffset"] == world.store.log.max_offset > 0
        assert status["haClientRuntimeInfo"]["activated"] is False


async def test_progress_is_given_to_a_replica():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        for _ in range(6):
            await world.client.ok_send("t", KEY, queue_id=1)
        await world.client.ok(
            UpdateConsumerOffset(consumer_group="g", topic="t", queue_id=1, commit_offset=6)
        )
        answer = await world.client.ok(GetAllConsumerOffset())
        assert decode(answer.body, ConsumerOffsetTable).offset_table == {"t@g": {1: 6}}
        answer = await world.client.ok(GetAllDelayOffset())
        assert loads(answer.body)["offsetTable"] == {}


async def test_a_disk_that_failed_is_told():
    async with ClusterScene(topics={"t": 2}) as world:

        async def trouble():
            answer = await world.client.ok(GetBrokerRuntimeInfo())
            return decode(answer.body, KVTable).table["storeTrouble"]

        assert await trouble() == ""
        world.store.disk.distrust("consumequeue/t/0", OSError(5, "Input/output error"))
        assert await trouble() == "queues or index could not be flushed; restart the broker"
        world.store.refusals.durability.lost("commitlog/0", OSError(5, "Input/output error"))
        answer = await world.client.send("t", properties=KEY)
        assert answer.code == 14
        assert (await runtime(world))["putMessageFailedTimes"] == "1"
        assert await trouble() == (
            "commitlog/0 could not be flushed: Input/output error; check the disk and restart"
        )
