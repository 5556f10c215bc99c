import pytest

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.requests.admin import (
    GetAllConsumerOffset,
    GetAllDelayOffset,
    GetBrokerConfig,
    GetBrokerRuntimeInfo,
    GetTopicConfig,
    UpdateBrokerConfig,
)
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode, loads

KEY = "UNIQ_KEY\x01FD00AA\x02"


def test_counters_tell_what_went_in_and_out(run):
    async def scenario(world):
        start = world.clock.now_ms()
        for _ in range(20):
            await world.talker.ok_send("t", KEY)
        await world.talker.pull("t")
        await world.clock.aadvance(10)
        table = decode((await world.talker.ok(GetBrokerRuntimeInfo())).body, KVTable).table
        assert (table["msgPutTotalTodayNow"], table["msgGetTotalTodayNow"]) == ("20", "20")
        assert table["earliestMessageTimeStamp"] == str(start)
        assert table["putTps"] == "2.00 2.00 2.00"
        assert table["getTransferedTps"] == table["getTransferredTps"] == "2.00 2.00 2.00"
        assert table["commitLogMaxOffset"] == str(world.store.max_offset)
        assert (table["setAsideMessages"], table["damagedEntries"], table["lostEntries"]) == ("0", "0", "0")
        assert table["runtime"] == "[ 0 days, 0 hours, 0 minutes, 10 seconds ]"

    run(scenario)


def test_settings_are_shown_and_changed(run):
    async def scenario(world):
        await world.talker.ok(UpdateBrokerConfig(), b"# comment\nautoCreateTopicEnable = false\n\n")
        answer = await world.talker.ok(GetBrokerConfig())
        lines = bytes(answer.body).decode().splitlines()
        assert "autoCreateTopicEnable=false" in lines
        assert "brokerName=broker-a" in lines
        assert "flushDiskType=ASYNC_FLUSH" in lines
        assert loads(answer.ext["version"])["counter"] == 1
        assert (await world.talker.send("fresh", properties=KEY)).code == 17

    run(scenario)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (b"brokerName=x", 16),
        (b"nonsense=1", 29),
        (b"autoCreateTopicEnable=perhaps", 29),
        (b"brokerPermission=99", 29),
        (b"\xff", 1),
    ],
)
def test_settings_that_cannot_be_changed_stay(run, lines, code):
    async def scenario(world):
        body = b"autoCreateTopicEnable=false\n" + lines
        assert (await world.talker.invoke(UpdateBrokerConfig(), body)).code == code
        await world.talker.ok_send("fresh", KEY)

    run(scenario)


def test_a_changed_permission_reaches_the_name_server(run):
    async def scenario(world):
        await world.talker.ok(UpdateBrokerConfig(), b"brokerPermission=4")
        await world.settle()
        request = GetRouteinfoByTopic(topic="t")
        answer = await world.talker.client.invoke(world.cluster.nameserver, request)
        assert loads(answer.body)["queueDatas"][0]["perm"] == 4
        assert loads((await world.talker.ok(GetTopicConfig(topic="t"))).body)["perm"] == 6

    run(scenario)


def test_progress_is_given_to_a_replica(run):
    async def scenario(world):
        await world.talker.beat("g")
        for _ in range(6):
            await world.talker.ok_send("t", KEY, queue_id=1)
        await world.talker.ok(
            UpdateConsumerOffset(consumer_group="g", topic="t", queue_id=1, commit_offset=6)
        )
        answer = await world.talker.ok(GetAllConsumerOffset())
        assert decode(answer.body, ConsumerOffsetTable).offset_table == {"t@g": {1: 6}}
        answer = await world.talker.ok(GetAllDelayOffset())
        assert loads(answer.body)["offsetTable"] == {}

    run(scenario)


def test_a_disk_that_failed_is_told(run):
    async def scenario(world):
        async def trouble():
            answer = await world.talker.ok(GetBrokerRuntimeInfo())
            return decode(answer.body, KVTable).table["storeTrouble"]

        assert await trouble() == ""
        world.store.distrust("consumequeue/t/0", OSError(5, "Input/output error"))
        assert await trouble() == "queues or index could not be flushed; restart the broker"
        world.store._durability.lost("commitlog/0", OSError(5, "Input/output error"))
        assert await trouble() == (
            "commitlog/0 could not be flushed: Input/output error; check the disk and restart"
        )

    run(scenario)
