"""Messages in and out, as a broker shows them after real requests."""

import asyncio

from mqframe_metrics.broker.traffic import dead_letters, messages_in, messages_out
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock
from popping import KEY
from scrapes import of_broker

from mqframe.broker.tables.statistics import DEAD, Statistics


def rows(table):
    async def gather():
        return [row async for row in table.rows]

    return asyncio.run(gather())


async def test_what_comes_in_counts_by_topic_and_type():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", KEY)
        await world.client.send("t", b"x" * 3000, KEY)
        await world.client.ok_send("t", f"{KEY}__SHARDINGKEY\x01k\x02")
        await world.client.ok_send("t", f"{KEY}DELAY\x011\x02")
        await world.client.ok_send("t", f"{KEY}TRAN_MSG\x01true\x02PGROUP\x01p\x02")
        shown = await of_broker(world)
        for topic, kind, count, system in (
            ("t", "normal", 2, "false"),
            ("t", "fifo", 1, "false"),
            ("t", "delay", 1, "false"),
            ("RMQ_SYS_TRANS_HALF_TOPIC", "transaction", 1, "true"),
        ):
            labels = {"topic": topic, "message_type": kind, "is_system": system}
            assert shown.value("rocketmq_messages_in_total", **labels) == count, kind
            assert shown.value("rocketmq_message_size_count", **labels) == count
            size = shown.value("rocketmq_throughput_in_total", **labels)
            assert size == shown.value("rocketmq_message_size_sum", **labels)
            assert size > 100 * count
        sizes = {"topic": "t", "message_type": "normal"}
        assert shown.value("rocketmq_message_size_bucket", **sizes, le="1024.0") == 1
        assert shown.value("rocketmq_message_size_bucket", **sizes, le="4096.0") == 2
        total = sum(count.size.total for count in world.cluster.broker.service_port.counts.puts.values())
        assert total == world.store.log.max_offset, "every byte of the log is counted once"


async def test_what_goes_out_counts_by_topic_and_group():
    async with ClusterScene(topics={"t": 2}) as world:
        for _ in range(3):
            await world.client.ok_send("t", KEY)
        await world.client.pull("t")
        shown = await of_broker(world)
        labels = {"topic": "t", "consumer_group": "g", "is_retry": "false", "is_system": "false"}
        assert shown.value("rocketmq_messages_out_total", **labels) == 3
        assert shown.value("rocketmq_throughput_out_total", **labels) == world.store.log.max_offset


def test_retry_topics_of_both_forms_are_one_series():
    statistics = Statistics(ManualClock())
    statistics.got("g", "%RETRY%g_t", 1, 10)
    statistics.got("g", "%RETRY%g+t", 2, 20)
    statistics.got("g", "%RETRY%g", 4, 40)
    assert rows(messages_out(statistics)) == [
        (("t", "g", "true", "false"), (3, 30)),
        (("%RETRY%g", "g", "true", "false"), (4, 40)),
    ]


async def test_a_topic_that_is_deleted_while_metrics_are_written_is_left_out():
    statistics = Statistics(ManualClock())
    for topic in ("a", "b"):
        statistics.topic(topic).add(1, 10)
        statistics.got("g", topic, 1)

    async def topics(table):
        found = []
        async for labels, _ in table.rows:
            found.append(labels[0])
            statistics.forget_topic("b")
        return found

    assert await topics(messages_in(statistics)) == ["a"]
    statistics.got("g", "b", 1)
    assert await topics(messages_out(statistics)) == ["a"]


def test_dead_letters_count_by_group_and_first_topic():
    statistics = Statistics(ManualClock())
    statistics.add(DEAD, "t", "g")
    statistics.add(DEAD, "t", "g")
    statistics.add("SNDBCK_PUT_NUMS", "t", "g")
    assert rows(dead_letters(statistics)) == [(("g", "t", "false"), (2,))]


async def test_a_message_that_its_sender_gave_up_is_a_dead_letter():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        await world.client.ok_send(
            "%RETRY%g", f"{KEY}RETRY_TOPIC\x01t\x02", reconsume_times=17, max_reconsume_times=16
        )
        shown = await of_broker(world)
        assert shown.value("rocketmq_send_to_dlq_messages_total", consumer_group="g", topic="t") == 1
