import pytest
from mqframe_admin.bodies import GroupList, SubscriptionAnswer, TopicStatsTable, TopicTotal, TopicTotals
from mqframe_admin.requests import (
    GetTopicStatsInfo,
    GetTopicTotals,
    InvokeBrokerToResetOffset,
    QuerySubscriptionByConsumer,
    QueryTopicConsumeByWho,
    QueryTopicsByConsumer,
)
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.consuming.bodies import OffsetTableBody
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.wire.loose_json import decode

KEY = "UNIQ_KEY\x01FD00AA\x02"
QUEUES = [MessageQueue("t", "broker-a", number) for number in (0, 1)]


async def fill(world, count=3):
    for _ in range(count):
        await world.client.ok_send("t", KEY)
        await world.clock.aadvance(1)


def reset(**fields):
    values = {"topic": "t", "group": "g", "timestamp": -1, "is_force": True}
    return InvokeBrokerToResetOffset(**(values | fields))


async def commit(world, offset, group="g", topic="t"):
    request = UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=0, commit_offset=offset)
    return await world.client.ok(request)


async def test_a_topic_shows_what_its_queues_hold():
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        await fill(world)
        table = decode((await world.client.ok(GetTopicStatsInfo(topic="t"))).body, TopicStatsTable)
        assert list(table.offset_table) == QUEUES
        first, second = table.offset_table.values()
        assert (first.min_offset, first.max_offset, first.last_update_timestamp) == (0, 3, start + 2000)
        assert (second.min_offset, second.max_offset, second.last_update_timestamp) == (0, 0, 0)
        assert table.topic_put_tps == pytest.approx(1.0, abs=0.1)
        assert (await world.client.invoke(GetTopicStatsInfo(topic="absent"))).code == 17


async def test_all_topics_tell_what_they_hold_in_one_answer():
    async with ClusterScene(topics={"t": 2, "empty": 3}) as world:
        await fill(world)
        totals = decode((await world.client.ok(GetTopicTotals())).body, TopicTotals).topics
        assert (totals["t"], totals["empty"]) == (TopicTotal(2, 3, 3), TopicTotal(3, 0, 0))
        assert {"SCHEDULE_TOPIC_XXXX", "TBW102"} <= totals.keys()


async def test_a_reset_by_time_moves_the_next_pull_of_each_queue():
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await commit(world, 3)
        answer = await world.client.ok(reset(timestamp=start + 500))
        assert decode(answer.body, OffsetTableBody).offset_table == {QUEUES[0]: 1, QUEUES[1]: 0}
        ignored = await commit(world, 3)
        assert ignored.remark
        query = QueryConsumerOffset(consumer_group="g", topic="t", queue_id=0)
        assert (await world.client.ok(query)).ext == {"offset": "1"}
        answer = await world.client.pull("t", 3)
        assert (answer.code, answer.remark, answer.ext["nextBeginOffset"]) == (21, "OFFSET_RESET", "1")
        assert (await world.client.pull("t", 1)).code == 0
        await commit(world, 2)
        assert (await world.client.ok(query)).ext == {"offset": "2"}


async def test_a_reset_of_one_queue_to_one_offset():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("g")
        answer = await world.client.ok(reset(queue_id=0, offset=2))
        assert decode(answer.body, OffsetTableBody).offset_table == {QUEUES[0]: 2}
        answer = await world.client.ok(reset())
        assert decode(answer.body, OffsetTableBody).offset_table == {QUEUES[0]: 3, QUEUES[1]: 0}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "absent"}, 17),
        ({"group": "absent"}, 26),
        ({"queue_id": 0, "offset": 9}, 1),
        ({"queue_id": 5}, 29),
    ],
)
async def test_resets_that_make_no_sense_are_refused(fields, code):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        assert (await world.client.invoke(reset(**fields))).code == code


async def test_who_consumes_what():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t", sub_string="a"))
        await world.client.heartbeat("h")
        await fill(world, 1)
        await commit(world, 1, "h")
        answer = await world.client.ok(QueryTopicConsumeByWho(topic="t"))
        assert decode(answer.body, GroupList).group_list == ["g", "h"]
        answer = await world.client.ok(QueryTopicsByConsumer(group="h"))
        assert decode(answer.body, TopicList).topic_list == ["t"]
        answer = await world.client.ok(QuerySubscriptionByConsumer(group="g", topic="t"))
        assert decode(answer.body, SubscriptionAnswer).subscription_data.sub_string == "a"
        answer = await world.client.ok(QuerySubscriptionByConsumer(group="g", topic="u"))
        assert decode(answer.body, SubscriptionAnswer).subscription_data is None
