"""How far groups are, as their members ask, and slaves."""

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.consuming.bodies import ConsumerOffsetTable, ConsumeStats
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.admin import GetAllConsumerOffset, GetConsumeStats
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.wire.loose_json import decode

KEY = "UNIQ_KEY\x01FD00AA\x02"
QUEUES = [MessageQueue("t", "broker-a", number) for number in (0, 1)]


async def fill(world, count=3):
    for _ in range(count):
        await world.client.ok_send("t", KEY)
        await world.clock.aadvance(1)


async def commit(world, offset, group="g", topic="t"):
    request = UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=0, commit_offset=offset)
    return await world.client.ok(request)


async def test_a_group_shows_how_far_it_is():
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await world.client.pull("t", max_msg_nums=2)
        await commit(world, 1)
        stats = decode((await world.client.ok(GetConsumeStats(consumer_group="g"))).body, ConsumeStats)
        queue = stats.offset_table[QUEUES[0]]
        assert (queue.broker_offset, queue.consumer_offset, queue.pull_offset) == (3, 1, 2)
        assert queue.last_timestamp == start
        for fields in ({"topic": "t"}, {"topic_list": "t;absent"}):
            answer = await world.client.ok(GetConsumeStats(consumer_group="g", **fields))
            assert list(decode(answer.body, ConsumeStats).offset_table) == QUEUES


async def test_all_offsets_are_shown_with_their_version():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await commit(world, 2)
        table = decode((await world.client.ok(GetAllConsumerOffset())).body, ConsumerOffsetTable)
        assert table.offset_table == {"t@g": {0: 2}}
        version = table.data_version
        await commit(world, 3)
        table = decode((await world.client.ok(GetAllConsumerOffset())).body, ConsumerOffsetTable)
        assert table.offset_table == {"t@g": {0: 3}}
        assert table.data_version != version
