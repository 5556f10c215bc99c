"""Topics as producers and other brokers make and ask for them."""

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.requests.admin import GetAllTopicConfig, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.wire.loose_json import decode

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
        (GetTopicConfig(topic="absent"), 17),
    ],
)
async def test_what_cannot_be_is_refused(request_, code):
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await world.client.invoke(request_)).code == code


async def test_all_topics_are_listed():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.ok(GetAllTopicConfig())
        table = decode(answer.body, TopicConfigTable)
        assert answer.ext == {"totalTopicNum": str(len(table.topic_config_table))}
        assert {"t", "TBW102"} <= table.topic_config_table.keys()


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
