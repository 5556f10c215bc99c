"""A closer look at queues, groups and counts: 303, 315, 317, 321, 353, and cleaning up: 306, 316, 329."""

from __future__ import annotations

import pytest
from mqframe_admin.bodies import (
    BrokerStatsData,
    ConsumeStatsList,
    ConsumeTimeSpans,
    GroupForbidden,
    QueueEntries,
)
from mqframe_admin.requests import (
    CleanExpiredConsumeQueue,
    CleanUnusedTopic,
    DeleteExpiredCommitLog,
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    GetBrokerConsumeStats,
    GetEarliestMsgStoretime,
    QueryConsumeQueue,
    QueryConsumeTimeSpan,
    UpdateAndGetGroupForbidden,
    ViewBrokerStatsData,
)
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.consuming.bodies import ConsumeStats
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.wire.loose_json import decode, dumps, loads

KEY = "UNIQ_KEY\x01FD00AA\x02"
QUEUE = MessageQueue("t", "broker-a", 0)


async def fill(world, count=3, **fields):
    for _ in range(count):
        await world.client.ok_send("t", KEY, **fields)
        await world.clock.aadvance(1)


async def ask(world, request, kind):
    return decode((await world.client.ok(request)).body, kind)


async def commit(world, offset, group="g"):
    await world.client.ok(UpdateConsumerOffset(group, "t", 0, offset))


async def test_times_of_queues():
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        await fill(world)
        await world.client.heartbeat("g")
        await commit(world, 2)
        await world.clock.aadvance(10)
        spans = (await ask(world, QueryConsumeTimeSpan("t", "g"), ConsumeTimeSpans)).consume_time_span_set
        first, empty = spans
        assert first.message_queue.queue == QUEUE
        assert (first.min_time_stamp, first.max_time_stamp) == (start, start + 2000)
        assert (first.consume_time_stamp, first.delay_time) == (start + 1000, 11_000)
        assert (empty.min_time_stamp, empty.max_time_stamp, empty.consume_time_stamp) == (-1, -1, -1)
        assert empty.delay_time == 0
        await commit(world, 3)
        spans = (await ask(world, QueryConsumeTimeSpan("t", "g"), ConsumeTimeSpans)).consume_time_span_set
        assert (spans[0].delay_time, spans[0].consume_time_stamp) == (0, start + 2000)
        assert (await world.client.invoke(QueryConsumeTimeSpan("absent", "g"))).code == 17


async def test_entries_of_a_queue():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        found = await ask(world, QueryConsumeQueue("t", 0, 1, 5, "g"), QueueEntries)
        assert (found.min_queue_index, found.max_queue_index, len(found.queue_data)) == (0, 3, 2)
        assert found.filter_data == "g@t is not online!"
        first, second = found.queue_data
        assert second.physic_offset == first.physic_offset + first.physic_size
        assert (first.tags_code, world.store.search.record_at(first.physic_offset) is not None) == (0, True)
        await world.client.heartbeat("g", SubscriptionData(topic="t", sub_string="a"))
        found = await ask(world, QueryConsumeQueue("t", 0, 0, 1, "g"), QueueEntries)
        assert (len(found.queue_data), found.subscription_data.sub_string) == (1, "a")


@pytest.mark.parametrize(
    ("fields", "code"),
    [(("absent", 0, 0, 1), 17), (("t", 9, 0, 1), 1), (("t", -1, 0, 1), 1)],
)
async def test_queues_that_there_are_not(fields, code):
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await world.client.invoke(QueryConsumeQueue(*fields))).code == code


@pytest.mark.parametrize(("index", "count"), [(3, 5), (-1, 5), (99, 1), (0, -4)])
async def test_entries_that_there_are_not(index, count):
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        answer = await world.client.ok(QueryConsumeQueue("t", 0, index, count))
        assert decode(answer.body, QueueEntries).queue_data == []
        assert bool(answer.remark) == (index != 0)


async def test_all_groups_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await world.client.pull("t", max_msg_nums=2)
        await commit(world, 1)
        found = await ask(world, GetBrokerConsumeStats(), ConsumeStatsList)
        assert (found.total_diff, found.total_inflight_diff) == (2, 1)
        assert found.broker_addr == world.client.address
        groups = {name: stats for each in found.consume_stats_list for name, stats in each.items()}
        (stats,) = groups["g"]
        assert isinstance(stats, ConsumeStats)
        assert stats.offset_table[QUEUE].consumer_offset == 1
        assert groups["TOOLS_CONSUMER"] == []
        ordered = await ask(world, GetBrokerConsumeStats(True), ConsumeStatsList)
        assert (ordered.total_diff, ordered.consume_stats_list[-1]) == (0, {"g": []})
        await world.client.heartbeat("g", SubscriptionData(topic="elsewhere"))
        assert (await ask(world, GetBrokerConsumeStats(), ConsumeStatsList)).total_diff == 0


async def test_a_group_is_forbidden_a_topic_and_allowed_again():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        ask_only = UpdateAndGetGroupForbidden("g", "t")
        assert (await ask(world, ask_only, GroupForbidden)).readable is True
        changed = await ask(world, UpdateAndGetGroupForbidden("g", "t", False), GroupForbidden)
        assert (changed.group, changed.topic, changed.readable) == ("g", "t", False)
        assert (await world.client.pull("t", sys_flag=0)).code == 16
        await ask(world, UpdateAndGetGroupForbidden("g", "t", True), GroupForbidden)
        assert (await world.client.pull("t", sys_flag=0)).code == 0


async def counted(world, name, key):
    return await ask(world, ViewBrokerStatsData(name, key), BrokerStatsData)


async def test_counts_of_puts_and_gets():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world, 6)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await world.client.pull("t", max_msg_nums=4)
        await world.clock.aadvance(54)
        size = world.store.log.max_offset // 6
        puts = await counted(world, "TOPIC_PUT_NUMS", "t")
        assert (puts.stats_minute.sum, puts.stats_minute.tps, puts.stats_minute.avgpt) == (6, 0.1, 1.0)
        assert (puts.stats_hour.sum, puts.stats_day.sum) == (6, 6)
        assert (await counted(world, "TOPIC_PUT_SIZE", "t")).stats_minute.sum == 6 * size
        gets = await counted(world, "GROUP_GET_NUMS", "t@g")
        assert (gets.stats_minute.sum, gets.stats_minute.avgpt) == (4, 4.0)
        assert (await counted(world, "GROUP_GET_SIZE", "t@g")).stats_minute.sum == 4 * size
        for key in ("t@g", "0@t@g"):
            assert (await counted(world, "GROUP_GET_LATENCY", key)).stats_minute.sum == 0
        assert (await counted(world, "BROKER_PUT_NUMS", "DefaultCluster")).stats_minute.sum == 6
        assert (await counted(world, "BROKER_GET_NUMS", "DefaultCluster")).stats_minute.sum == 4
        await world.clock.aadvance(120)
        puts = await counted(world, "TOPIC_PUT_NUMS", "t")
        assert (puts.stats_minute.sum, puts.stats_hour.sum) == (0, 6)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("TOPIC_PUT_NUMS", "u"),
        ("GROUP_GET_NUMS", "t"),
        ("BROKER_PUT_NUMS", "elsewhere"),
        ("NO_SUCH_COUNT", "t"),
        ("", ""),
    ],
)
async def test_counts_that_there_are_not(name, key):
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world, 1)
        answer = await world.client.invoke(ViewBrokerStatsData(name, key))
        assert (answer.code, "no statistic" in answer.remark) == (1, True)


async def test_counts_go_with_their_topic_and_group():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await world.client.pull("t")
        await world.client.ok(DeleteSubscriptionGroup("g"))
        assert (await world.client.invoke(ViewBrokerStatsData("GROUP_GET_NUMS", "t@g"))).code == 1
        await counted(world, "TOPIC_PUT_NUMS", "t")
        await world.client.ok(DeleteTopicInBroker("t"))
        assert (await world.client.invoke(ViewBrokerStatsData("TOPIC_PUT_NUMS", "t"))).code == 1


async def test_cleaning_up_now_leaves_what_is_used():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        for request in (CleanExpiredConsumeQueue(), CleanUnusedTopic(), DeleteExpiredCommitLog()):
            await world.client.ok(request)
        assert (world.store.queues.min_offset("t", 0), world.store.queues.max_offset("t", 0)) == (0, 3)


async def test_queues_of_topics_that_are_not_there_any_more_are_cleaned_away():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.cluster.create_topic("gone", 1)
        await world.client.ok_send("gone", KEY)
        await world.cluster.stop_broker()
        file = world.cluster.directory / "broker-a" / "config" / "topics.json"
        saved = loads(file.read_bytes())
        del saved["topicConfigTable"]["gone"]
        file.write_bytes(dumps(saved))
        await world.cluster.start_broker()
        await world.disconnect(world.client)
        assert ("gone", 0) in set(world.store.queues)
        await world.client.ok(CleanUnusedTopic())
        assert {topic for topic, _ in world.store.queues} == {"t"}
        assert world.store.queues.max_offset("t", 0) == 3


async def test_queues_say_when_their_oldest_message_was_stored() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        await fill(world)
        earliest = await world.client.ok(GetEarliestMsgStoretime(topic="t", queue_id=0))
        assert earliest.ext == {"timestamp": str(start)}
        absent = await world.client.ok(GetEarliestMsgStoretime(topic="absent", queue_id=3))
        assert absent.ext == {"timestamp": "-1"}
