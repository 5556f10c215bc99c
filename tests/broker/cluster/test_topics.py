"""Topics as producers and other brokers make and ask for them."""

import pytest

from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.requests.admin import GetAllTopicConfig, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.wire.loose_json import decode

KEY = "UNIQ_KEY\x01FD00AA\x02"


def create(topic, read=2, write=2, perm=6, **fields):
    return UpdateAndCreateTopic(
        topic=topic, read_queue_nums=read, write_queue_nums=write, perm=perm, **fields
    )


async def show(world, topic):
    return decode((await world.talker.ok(GetTopicConfig(topic=topic))).body, TopicConfig)


def test_a_topic_is_made_and_changed(run):
    async def scenario(world):
        await world.talker.ok(create("new", 3, 1, 4, order=True, attributes="+message.type=FIFO"))
        topic = await show(world, "new")
        assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.order) == (3, 1, 4, True)
        assert topic.attributes == {"message.type": "FIFO"}
        await world.talker.ok(create("new", attributes="-message.type"))
        assert (await show(world, "new")).attributes == {}

    run(scenario)


def test_fewer_queues_refuse_what_was_taken_before(run):
    async def scenario(world):
        await world.talker.ok_send("t", KEY, queue_id=1)
        await world.talker.ok(create("t", 1, 1))
        assert (await world.talker.send("t", properties=KEY, queue_id=1)).code == 29
        assert (await world.talker.pull("t", queue_id=1)).code == 29

    run(scenario)


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
def test_what_cannot_be_is_refused(run, request_, code):
    async def scenario(world):
        assert (await world.talker.invoke(request_)).code == code

    run(scenario)


def test_all_topics_are_listed(run):
    async def scenario(world):
        answer = await world.talker.ok(GetAllTopicConfig())
        table = decode(answer.body, TopicConfigTable)
        assert answer.ext == {"totalTopicNum": str(len(table.topic_config_table))}
        assert {"t", "TBW102"} <= table.topic_config_table.keys()

    run(scenario)


@pytest.mark.parametrize(
    ("request_", "remark"),
    [
        (create("new", read=9), "9 read, 2 write queues; the most is 8 (broker.topic_queues_max)"),
        (create("new", write=9), "2 read, 9 write queues; the most is 8 (broker.topic_queues_max)"),
        (create("new", attributes="+a=1,+b=2,+c=3"), "3 attributes; the most is 2 (broker.attributes_max)"),
        (create("new", attributes="+a=" + "x" * 20_000), "attributes of 20012 characters; the most is 16384"),
    ],
)
def test_a_topic_has_only_so_much(run, request_, remark):
    async def scenario(world):
        answer = await world.talker.invoke(request_)
        assert (answer.code, remark in answer.remark) == (29, True), answer.remark
        assert (await world.talker.invoke(GetTopicConfig(topic="new"))).code == 17

    run(scenario, broker={"topic_queues_max": 8, "attributes_max": 2})


def test_attributes_do_not_grow_from_one_change_to_the_next(run):
    async def scenario(world):
        await world.talker.ok(create("new", attributes="+a=1,+b=2"))
        assert (await world.talker.invoke(create("new", attributes="+c=3"))).code == 29
        await world.talker.ok(create("new", attributes="-a"))
        await world.talker.ok(create("new", attributes="+c=3"))
        assert (await show(world, "new")).attributes == {"b": "2", "c": "3"}

    run(scenario, broker={"attributes_max": 2})


def test_a_topic_with_more_queues_than_are_made_today_keeps_them(run):
    async def scenario(world):
        world.cluster.broker.service_port.topics.ensure("wide", 100)
        await world.talker.ok(create("wide", 100, 90, 4))
        assert (await show(world, "wide")).perm == 4
        assert (await world.talker.invoke(create("wide", 101, 90))).code == 29

    run(scenario, broker={"topic_queues_max": 8})
