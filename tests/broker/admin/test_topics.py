import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.admin.topics import LIST_MAX
from mqframe.broker.tables.long_bodies import SLICE
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigList, TopicConfigTable
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import (
    DeleteTopicInBroker,
    GetAllTopicConfig,
    GetSystemTopicListFromBroker,
    GetTopicConfig,
    UpdateAndCreateTopic,
    UpdateAndCreateTopicList,
)
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.wire.loose_json import decode, dumps

WAITS, COMMITS = 6, 5
KEY = "UNIQ_KEY\x01FD00AA\x02"


def create(topic, read=2, write=2, perm=6, **fields):
    return UpdateAndCreateTopic(
        topic=topic, read_queue_nums=read, write_queue_nums=write, perm=perm, **fields
    )


async def show(world, topic):
    return decode((await world.client.ok(GetTopicConfig(topic=topic))).body, TopicConfig)


async def test_a_topic_is_made_and_changed():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(create("new", 3, 1, 4, order=True, attributes="+message.type=FIFO"))
        topic = await show(world, "new")
        assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.order) == (3, 1, 4, True)
        assert topic.attributes == {"message.type": "FIFO"}
        await world.client.ok(create("new", attributes="-message.type"))
        assert (await show(world, "new")).attributes == {}


async def test_fewer_queues_refuse_what_was_taken_before():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", KEY, queue_id=1)
        await world.client.ok(create("t", 1, 1))
        assert (await world.client.send("t", properties=KEY, queue_id=1)).code == 29
        assert (await world.client.pull("t", queue_id=1)).code == 29


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (create("no good"), 29),
        (create("TBW102"), 29),
        (create("DefaultCluster"), 29),
        (create("rmq_sys_x"), 29),
        (create("new", read=-1), 29),
        (create("new", write=1 << 20), 29),
        (create("new", perm=99), 29),
        (create("new", attributes="a=b"), 1),
        (DeleteTopicInBroker(topic=" "), 29),
        (DeleteTopicInBroker(topic="SELF_TEST_TOPIC"), 29),
        (DeleteTopicInBroker(topic=".."), 29),
        (DeleteTopicInBroker(topic="x" * 300), 29),
        (GetTopicConfig(topic="absent"), 17),
    ],
)
async def test_what_cannot_be_is_refused(request_, code):
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await world.client.invoke(request_)).code == code


async def test_a_deleted_topic_is_gone_with_its_messages_and_offsets():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", KEY)
        await world.client.ok(DeleteTopicInBroker(topic="t"))
        assert (await world.client.pull("t")).code == 17
        await world.client.ok(create("t"))
        assert (await world.client.pull("t")).code == 19
        answer = await world.client.ok_send("t", KEY)
        assert answer.ext["queueOffset"] == "0"


async def test_a_pull_that_waits_is_told_at_once_that_its_topic_was_deleted():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(create("other"))
        for topic in ("t", "other"):
            await world.client.ok_send(topic, KEY)
        waiting = world.client.pull("t", 1, sys_flag=WAITS)
        elsewhere = world.client.pull("other", 1, sys_flag=WAITS)
        await world.settle()
        assert not waiting.done()
        await world.client.ok(DeleteTopicInBroker(topic="t"))
        answer = await waiting
        assert (answer.code, answer.remark) == (17, "topic t was deleted")
        assert not elsewhere.done()
        await world.clock.aadvance(21)
        assert (await elsewhere).code == 19


@pytest.mark.parametrize("count", [3, 12])
async def test_members_of_a_deleted_topic_are_sent_to_the_beginning_of_the_new_one(count):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        for _ in range(10):
            await world.client.ok_send("t", KEY)
        await world.client.pull("t", consumer_group="offline")
        for group in ("g", "offline"):
            await world.client.ok(UpdateConsumerOffset(group, "t", 0, 10))
        await world.client.ok(DeleteTopicInBroker(topic="t"))
        await world.client.ok(create("t"))
        for _ in range(count):
            await world.client.ok_send("t", KEY)
        if count > 10:  # what a member holds of the old topic is not stored
            await world.client.ok(UpdateConsumerOffset("g", "t", 0, 10))
        answer = await world.client.pull("t", 10, consumer_group="g", commit_offset=10, sys_flag=COMMITS)
        assert (answer.code, answer.ext["nextBeginOffset"]) == (21, "0")
        assert (await world.client.pull("t", 0, consumer_group="g")).code == 0
        query = QueryConsumerOffset("offline", "t", 0, set_zero_if_not_found=False)
        assert (await world.client.invoke(query)).code == 22


async def test_several_topics_are_made_at_once_or_none():
    async with ClusterScene(topics={"t": 2}) as world:
        good = [TopicConfig(topic_name=name, read_queue_nums=1, write_queue_nums=1) for name in ("x", "y")]
        await world.client.ok(UpdateAndCreateTopicList(), dumps(TopicConfigList(topic_config_list=good)))
        assert (await show(world, "y")).read_queue_nums == 1
        bad = [TopicConfig(topic_name="z"), TopicConfig(topic_name="no good")]
        body = dumps(TopicConfigList(topic_config_list=bad))
        assert (await world.client.invoke(UpdateAndCreateTopicList(), body)).code == 29
        assert (await world.client.invoke(GetTopicConfig(topic="z"))).code == 17


async def test_all_topics_are_listed():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.ok(GetAllTopicConfig())
        table = decode(answer.body, TopicConfigTable)
        assert answer.ext == {"totalTopicNum": str(len(table.topic_config_table))}
        assert {"t", "TBW102"} <= table.topic_config_table.keys()
        answer = await world.client.ok(GetSystemTopicListFromBroker())
        names = decode(answer.body, TopicList).topic_list
        assert "TBW102" in names
        assert "t" not in names


async def test_a_deletion_touches_no_folder_but_the_topics_own(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()

    async with ClusterScene(topics={"t": 2}) as world:
        for name in (str(outside), f"../../{outside.name}", "../config/empty"):
            (world.store.settings.directory / "config" / "empty").mkdir(exist_ok=True)
            assert (await world.client.invoke(DeleteTopicInBroker(topic=name))).code == 29
            assert outside.is_dir()
            assert (world.store.settings.directory / "config" / "empty").is_dir()


@pytest.mark.parametrize(
    ("request_", "remark"),
    [
        (create("new", read=9), "9 read, 2 write queues; the most is 8 (broker.topic_queues_max)"),
        (create("new", write=9), "2 read, 9 write queues; the most is 8 (broker.topic_queues_max)"),
        (create("new", attributes="+a=1,+b=2,+c=3"), "3 attributes; the most is 2 (broker.attributes_max)"),
        (create("new", attributes="+a=" + "x" * 20_000), "attributes of 20012 characters; the most is 16384"),
    ],
)
async def test_a_topic_has_only_so_much(request_, remark):
    async with ClusterScene(topics={"t": 2}, broker={"topic_queues_max": 8, "attributes_max": 2}) as world:
        answer = await world.client.invoke(request_)
        assert (answer.code, remark in answer.remark) == (29, True), answer.remark
        assert (await world.client.invoke(GetTopicConfig(topic="new"))).code == 17


async def test_attributes_do_not_grow_from_one_change_to_the_next():
    async with ClusterScene(topics={"t": 2}, broker={"attributes_max": 2}) as world:
        await world.client.ok(create("new", attributes="+a=1,+b=2"))
        assert (await world.client.invoke(create("new", attributes="+c=3"))).code == 29
        await world.client.ok(create("new", attributes="-a"))
        await world.client.ok(create("new", attributes="+c=3"))
        assert (await show(world, "new")).attributes == {"b": "2", "c": "3"}


async def test_a_topic_with_more_queues_than_are_made_today_keeps_them():
    async with ClusterScene(topics={"t": 2}, broker={"topic_queues_max": 8}) as world:
        world.cluster.broker.service_port.topics.ensure("wide", 100)
        await world.client.ok(create("wide", 100, 90, 4))
        assert (await show(world, "wide")).perm == 4
        assert (await world.client.invoke(create("wide", 101, 90))).code == 29


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (TopicConfig(topic_name="no/name"), 29),
        (TopicConfig(topic_name="bad", attributes={"unsigned": "1"}), 1),
        (TopicConfig(topic_name="one-too-many"), 2),
    ],
)
async def test_of_a_list_with_a_bad_topic_none_is_made_or_changed(bad, code):
    async with ClusterScene(topics={"t": 2}, broker={"topics_max": 64}) as world:
        topics = world.cluster.broker.service_port.topics
        while len(topics) < 62:
            topics.ensure(f"filler-{len(topics)}", 1)
        before = topics.dump()
        wanted = [TopicConfig(topic_name=name) for name in ("a", "b", "a")]
        wanted += [TopicConfig(topic_name="t", read_queue_nums=7, write_queue_nums=7), bad]
        body = dumps(TopicConfigList(wanted))
        assert (await world.client.invoke(UpdateAndCreateTopicList(), body)).code == code
        assert topics.dump() == before
        await world.client.ok(UpdateAndCreateTopicList(), dumps(TopicConfigList(wanted[:-1])))
        assert {"a", "b"} <= set(topics)
        assert topics.need("t").read_queue_nums == 7


async def test_many_topics_are_made_and_shown_in_slices():
    async with ClusterScene(topics={"t": 2}) as world:
        count = 2 * SLICE + 7
        topics = [TopicConfig(topic_name=f"null-{number}") for number in range(count)]
        await world.client.ok(UpdateAndCreateTopicList(), dumps(TopicConfigList(topics)))
        answer = await world.client.ok(GetAllTopicConfig())
        table = decode(answer.body, TopicConfigTable).topic_config_table
        assert [table[f"null-{number}"] for number in range(count)] == topics
        assert answer.ext["totalTopicNum"] == str(len(table))
        saved = (world.cluster.directory / "broker-a/config/topics.json").read_bytes()
        assert decode(saved, TopicConfigTable).topic_config_table == table
        many = dumps(TopicConfigList([TopicConfig(topic_name="t")] * (LIST_MAX + 1)))
        answer = await world.client.invoke(UpdateAndCreateTopicList(), many)
        assert (answer.code, "5001 topics at once, at most 5000" in answer.remark) == (29, True)
