"""Failed messages that consumers hand back: 36."""

import pytest
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup, UpdateBrokerConfig
from mqframe_testing.cluster_scene import ClusterScene
from recorded import FRAMES, Recorded

from mqframe.core.codes import SysFlag
from mqframe.core.consuming.group_config import SubscriptionGroupConfig, SubscriptionGroupTable
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.requests.admin import GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import ConsumerSendMsgBack
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps, loads

KEY = "UNIQ_KEY\x01FD00AA\x02"
SELDOM = {"flush_interval_ms": 600_000, "queue_flush_interval_ms": 600_000, "cleanup_interval_ms": 600_000}
"""Hours on the manual clock take as long as the timers that fire in them."""


def lying(world, topic, queue_id=0):
    """What lies in a queue of the store, whoever may read it."""
    parts = world.store.reads.get(topic, queue_id, 0, 1000).parts
    return [message for part in parts for message in decode_records(part)]


async def sent(world, properties=KEY, **fields):
    """Send one message; gives its log offset."""
    answer = await world.client.ok_send("t", properties, **fields)
    return parse_offset_id(answer.ext["msgId"])[1]


async def back(world, offset, level=0, group="g", *, talker=None, **fields) -> Frame:
    request = ConsumerSendMsgBack(offset, group, level, **fields)
    answer: Frame = await (talker or world.client).invoke(request)
    return answer


async def ok_back(world, offset, level=0, **fields):
    answer = await back(world, offset, level, **fields)
    assert (answer.code, answer.remark) == (0, None)


async def make_group(world, **settings):
    body = dumps({"groupName": "g", **settings})
    await world.client.ok(UpdateAndCreateSubscriptionGroup(), body)


async def test_a_copy_waits_at_level_three_and_comes_to_the_retry_topic():
    async with ClusterScene(topics={"t": 2}) as world:
        properties = f"KEYS\x01k1 k2\x02TAGS\x01paid\x02colour\x01red\x02{KEY}WAIT\x01true\x02"
        offset = await sent(world, properties, flag=7, sys_flag=SysFlag.MULTI_TAGS, queue_id=1)
        (first,) = lying(world, "t", 1)
        await world.clock.aadvance(60.0)
        await ok_back(world, offset, origin_msg_id="x", origin_topic="t")
        (waiting,) = lying(world, "SCHEDULE_TOPIC_XXXX", 2)
        assert waiting.properties["DELAY"] == "3"
        assert (waiting.properties["REAL_TOPIC"], waiting.properties["REAL_QID"]) == ("%RETRY%g", "0")
        await world.clock.aadvance(9.9)
        assert lying(world, "%RETRY%g") == []
        await world.clock.aadvance(0.2)
        (again,) = lying(world, "%RETRY%g")
        assert (again.body, again.flag, again.tag, again.keys) == (b"body", 7, "paid", ["k1", "k2"])
        assert again.properties["colour"] == "red"
        assert again.reconsume_times == 1
        assert (again.born_timestamp, again.born_host) == (first.born_timestamp, first.born_host)
        assert again.sys_flag == first.sys_flag
        assert again.properties["RETRY_TOPIC"] == "t"
        assert again.properties["ORIGIN_MESSAGE_ID"] == first.offset_message_id
        assert again.properties["UNIQ_KEY"] == "FD00AA"
        assert again.properties["WAIT"] == "false"
        assert again.offset_message_id != first.offset_message_id


async def test_each_return_takes_the_next_level_and_keeps_what_names_the_first_copy():
    waits = [10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]

    async with ClusterScene(
        topics={"t": 2}, store=SELDOM, broker={"offsets_save_interval_ms": 600_000}
    ) as world:
        offset = await sent(world)
        (first,) = lying(world, "t")
        for times, wait in enumerate(waits, 1):
            before = world.clock.now_ms()
            await ok_back(world, offset)
            await world.clock.aadvance(wait - 0.2)
            assert len(lying(world, "%RETRY%g")) == times - 1
            await world.clock.aadvance(0.4)
            again = lying(world, "%RETRY%g")[-1]
            assert again.reconsume_times == times
            assert wait * 1000 <= again.store_timestamp - before <= wait * 1000 + 200
            assert again.properties["ORIGIN_MESSAGE_ID"] == first.offset_message_id
            assert (again.properties["RETRY_TOPIC"], again.properties["UNIQ_KEY"]) == ("t", "FD00AA")
            offset = again.commit_log_offset
        await ok_back(world, offset)
        await world.clock.aadvance(10.0)
        (dead,) = lying(world, "%DLQ%g")
        assert (dead.body, dead.reconsume_times, dead.topic) == (b"body", 17, "%DLQ%g")
        assert dead.properties["ORIGIN_MESSAGE_ID"] == first.offset_message_id
        assert dead.properties["RETRY_TOPIC"] == "t"
        assert len(lying(world, "%RETRY%g")) == 16


@pytest.mark.parametrize(("level", "queue_id"), [(1, 0), (5, 4), (18, 17), (99, 17)])
async def test_a_consumer_may_name_the_level(level, queue_id):
    async with ClusterScene(topics={"t": 2}) as world:
        await ok_back(world, await sent(world), level)
        (waiting,) = lying(world, "SCHEDULE_TOPIC_XXXX", queue_id)
        assert (waiting.reconsume_times, waiting.properties["DELAY"]) == (1, str(queue_id + 1))


async def test_a_negative_level_gives_a_message_up_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        await ok_back(world, await sent(world, f"DELAY\x010\x02{KEY}"), -1)
        (dead,) = lying(world, "%DLQ%g")
        assert (dead.reconsume_times, dead.body) == (1, b"body")
        topic = loads((await world.client.ok(GetTopicConfig(topic="%DLQ%g"))).body)
        assert (topic["perm"], topic["writeQueueNums"], topic["readQueueNums"]) == (6, 1, 1)
        assert (await world.client.pull("%DLQ%g")).code == 0


async def test_a_dead_letter_topic_that_was_closed_to_readers_stays_so():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(
            UpdateAndCreateTopic(topic="%DLQ%g", read_queue_nums=1, write_queue_nums=1, perm=2)
        )
        await ok_back(world, await sent(world), -1)
        assert (await world.client.pull("%DLQ%g")).code == 16
        assert [message.body for message in lying(world, "%DLQ%g")] == [b"body"]


async def test_the_maximum_of_the_group_counts_unless_the_request_names_one():
    async with ClusterScene(topics={"t": 2}) as world:
        await make_group(world, retryMaxTimes=0)
        offset = await sent(world)
        await ok_back(world, offset)
        assert len(lying(world, "%DLQ%g")) == 1
        await ok_back(world, offset, max_reconsume_times=1)
        assert len(lying(world, "%DLQ%g")) == 1
        await world.clock.aadvance(11.0)
        (again,) = lying(world, "%RETRY%g")
        await ok_back(world, again.commit_log_offset, max_reconsume_times=1)
        assert len(lying(world, "%DLQ%g")) == 2


async def test_the_maximum_of_the_member_that_started_last_wins():
    async with ClusterScene(topics={"t": 2}) as world:
        old, new = world.connect(), world.connect()
        data = SubscriptionData("t")
        await old.heartbeat("g", data, client_id="old")
        await new.heartbeat("g", data, client_id="new")
        offset = await sent(world)
        # Nobody has heard of the newer member's maximum yet.
        await ok_back(world, offset, talker=old, max_reconsume_times=0)
        assert len(lying(world, "%DLQ%g")) == 1
        await ok_back(world, offset, talker=new, max_reconsume_times=1)
        assert len(lying(world, "%DLQ%g")) == 1
        await ok_back(world, offset, talker=old, max_reconsume_times=0)
        assert len(lying(world, "%DLQ%g")) == 1
        await new.client.close()
        await world.settle()
        await ok_back(world, offset, talker=old, max_reconsume_times=0)
        assert len(lying(world, "%DLQ%g")) == 2


async def test_a_group_without_retry_queues_wants_nothing_again():
    async with ClusterScene(topics={"t": 2}) as world:
        await make_group(world, retryQueueNums=0)
        await ok_back(world, await sent(world))
        await world.clock.aadvance(60.0)
        assert (
            lying(world, "SCHEDULE_TOPIC_XXXX", 2) == lying(world, "%RETRY%g") == lying(world, "%DLQ%g") == []
        )


async def test_copies_spread_over_the_retry_queues():
    async with ClusterScene(topics={"t": 2}) as world:
        await make_group(world, retryQueueNums=3)
        offset = await sent(world)
        for _ in range(60):
            await ok_back(world, offset, 1)
        await world.clock.aadvance(1.5)
        counts = [len(lying(world, "%RETRY%g", queue_id)) for queue_id in range(3)]
        assert sum(counts) == 60
        assert min(counts) > 0


async def test_an_exponential_policy_replaces_the_levels():
    policy = {
        "type": "EXPONENTIAL",
        "exponentialRetryPolicy": {"initial": 5000, "max": 60_000, "multiplier": 3},
    }

    async with ClusterScene(topics={"t": 2}) as world:
        await make_group(world, groupRetryPolicy=policy)
        offset = await sent(world)
        await ok_back(world, offset)
        (waiting,) = lying(world, "SCHEDULE_TOPIC_XXXX", 1)  # 5 s are a level of their own
        assert waiting.properties["DELAY"] == "2"
        assert "TIMER_DELAY_MS" not in waiting.properties
        await world.clock.aadvance(6.0)
        (again,) = lying(world, "%RETRY%g")
        before = world.clock.now_ms()
        await ok_back(world, again.commit_log_offset)  # 15 s are none
        await world.clock.aadvance(20.0)
        again = lying(world, "%RETRY%g")[1]
        assert again.reconsume_times == 2
        assert 15_000 <= again.store_timestamp - before <= 16_200
        assert again.properties["RETRY_TOPIC"] == "t"


async def test_a_customized_policy_counts_from_its_third_wait():
    policy = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000, 1000, 30_000, 2000]}}

    async with ClusterScene(topics={"t": 2}) as world:
        await make_group(world, groupRetryPolicy=policy)
        await ok_back(world, await sent(world))
        (waiting,) = lying(world, "SCHEDULE_TOPIC_XXXX", 3)
        assert waiting.properties["DELAY"] == "4"


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ({"type": "LINEAR"}, "LINEAR"),
        ({"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": []}}, "empty"),
        ({"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000, -1]}}, "-1 ms"),
        ({"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [259_200_001]}}, "259200001"),
        ({"type": "EXPONENTIAL", "exponentialRetryPolicy": {"multiplier": 0}}, "multiplier 0"),
        ({"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 0}}, "initial 0"),
        ({"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 9, "max": 8}}, "max 8"),
    ],
)
async def test_a_policy_that_cannot_be_kept_is_refused(policy, word):
    async with ClusterScene(topics={"t": 2}) as world:
        body = dumps({"groupName": "g", "groupRetryPolicy": policy})
        answer = await world.client.invoke(UpdateAndCreateSubscriptionGroup(), body)
        assert answer.code == 29
        assert word in answer.remark


@pytest.mark.parametrize("offset", [-1, 5, 10_000_000])
async def test_an_offset_without_message_is_refused(offset):
    async with ClusterScene(topics={"t": 2}) as world:
        await sent(world)
        answer = await back(world, offset)
        assert answer.code == 1
        assert str(offset) in answer.remark
        assert lying(world, "SCHEDULE_TOPIC_XXXX", 2) == []


async def test_an_unknown_group_is_refused_where_none_is_made():
    async with ClusterScene(topics={"t": 2}, broker={"auto_create_groups": False}) as world:
        answer = await back(world, await sent(world))
        assert (answer.code, "g does not exist" in answer.remark) == (26, True)
        assert (await back(world, 0, group="no such/group")).code == 26


async def test_a_topic_that_takes_nothing_refuses_and_a_broker_that_takes_nothing_new_does_not():
    async with ClusterScene(topics={"t": 2}) as world:
        offset = await sent(world)
        await world.client.ok(
            UpdateAndCreateTopic(topic="%RETRY%g", read_queue_nums=1, write_queue_nums=1, perm=4)
        )
        answer = await back(world, offset)
        assert (answer.code, "%RETRY%g" in answer.remark) == (16, True)
        await world.client.ok(UpdateBrokerConfig(), b"brokerPermission=4\n")
        assert (await back(world, offset, group="other")).code == 0


async def test_what_a_message_said_of_its_first_delivery_time_does_not_count_again():
    async with ClusterScene(topics={"t": 2}) as world:
        await ok_back(world, await sent(world, f"TIMER_OUT_MS\x015\x02TIMER_ROLL_TIMES\x011\x02{KEY}"), 1)
        (waiting,) = lying(world, "SCHEDULE_TOPIC_XXXX", 0)
        assert not [name for name in waiting.properties if name.startswith("TIMER_")]


async def test_with_synchronous_flush_the_answer_waits_for_the_disk():
    async with ClusterScene(topics={"t": 2}, store={"flush": "SYNC_FLUSH"}) as world:
        offset = await sent(world)
        assert (await back(world, offset, -1)).code == 0
        assert world.store.log.flushed_offset >= lying(world, "%DLQ%g")[0].commit_log_offset


RECORDED = [frame for frame in FRAMES if frame.side == "request" and frame.request_code == 36]


@pytest.mark.parametrize("frame", RECORDED, ids=lambda frame: frame.name)
async def test_recorded_requests_get_the_recorded_answer(frame: Recorded):
    (answer,) = [each for each in FRAMES if each.name == frame.name and each.side == "response"]

    assert len(RECORDED) == 8
    async with ClusterScene(topics={"t": 2}) as world:
        # The recorded offset is one of another log.
        ext = {**frame.facts["extFields"], "offset": str(await sent(world))}
        got = await world.client.invoke(decode_fields(ext, ConsumerSendMsgBack))
        facts = answer.facts
        assert (got.code, got.remark, got.ext) == (facts["code"], facts["remark"], facts["extFields"])
        level = int(ext["delayLevel"]) or 3
        (waiting,) = lying(world, "SCHEDULE_TOPIC_XXXX", level - 1)
        assert waiting.properties["REAL_TOPIC"] == f"%RETRY%{ext['group']}"


async def test_a_stored_group_with_absurdly_many_retry_queues_stops_nobody():
    async with ClusterScene(topics={"t": 2}, store=SELDOM) as world:
        groups = world.cluster.broker.service_port.groups
        groups.load(
            SubscriptionGroupTable(
                subscription_group_table={
                    "g": SubscriptionGroupConfig(group_name="g", retry_queue_nums=10**12)
                }
            )
        )
        offset = await sent(world)
        await ok_back(world, offset, level=1)
        topic = loads((await world.client.ok(GetTopicConfig(topic="%RETRY%g"))).body)
        assert topic["writeQueueNums"] == 65_535
        await world.client.ok_send("t", f"DELAY\x011\x02{KEY}", queue_id=1)
        await world.clock.aadvance(1.0)
        assert len(lying(world, "t", 1)) == 1
        came = [message for n in range(65_535) for message in lying(world, "%RETRY%g", n)]
        assert [message.body for message in came] == [b"body"]


async def test_a_copy_goes_to_no_queue_that_the_retry_topic_lacks():
    async with ClusterScene(topics={"t": 2}, store=SELDOM) as world:
        await make_group(world, retryQueueNums=1)
        offset = await sent(world)
        await ok_back(world, offset, level=1)
        await make_group(world, retryQueueNums=1000)
        for _ in range(5):
            await ok_back(world, offset, level=1)
        await world.clock.aadvance(1.0)
        assert len(lying(world, "%RETRY%g")) == 6


@pytest.mark.parametrize("topic", ["RMQ_SYS_TRANS_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer"])
async def test_what_waits_in_the_brokers_own_topics_is_not_handed_back(topic):
    wishes = {
        "RMQ_SYS_TRANS_HALF_TOPIC": "TRAN_MSG\x01true\x02PGROUP\x01p\x02",
        "SCHEDULE_TOPIC_XXXX": "DELAY\x011\x02",
        "rmq_sys_wheel_timer": "TIMER_DELAY_SEC\x01100\x02",
    }

    async with ClusterScene(topics={"t": 2}, store=SELDOM) as world:
        await make_group(world)
        offset = await sent(world, KEY + wishes[topic])
        await world.settle()
        assert world.store.queues.max_offset(topic, 0) == 1
        answer = await back(world, offset)
        assert (answer.code, answer.remark) == (16, f"nobody consumes topic {topic}")
