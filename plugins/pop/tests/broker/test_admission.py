"""What requests about pops are checked for, without a broker and with one."""

from __future__ import annotations

import pytest
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup, UpdateBrokerConfig
from mqframe_pop.broker.admission import EVERYTHING, PopAdmission
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock
from popping import pop_request, popped

from mqframe.broker.consuming.admission import BrokerReadAdmission
from mqframe.broker.consuming.filters import Filters
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.cluster.group_table import GroupTable
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.manager import PluginManager

KEY = "UNIQ_KEY\x01FD00AA\x02"


class Scene:
    """Topic t with 2 queues, group g."""

    def __init__(self, **settings) -> None:
        clock = ManualClock()
        self.topics = TopicTable(clock)
        self.topics.put(TopicConfig(topic_name="t", read_queue_nums=2, write_queue_nums=2))
        self.groups = GroupTable(clock)
        self.groups.put(SubscriptionGroupConfig(group_name="g"))
        live = LiveSettings(BrokerSettings(**settings))
        filters = Filters(live, PluginManager(), clock)
        self.admission = PopAdmission(BrokerReadAdmission(self.topics, self.groups, live, filters))


def refusal(call, *arguments) -> int:
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    return caught.value.code


@pytest.mark.parametrize("queue_id", [-1, 0, 1])
def test_a_queue_of_the_topic_or_any_is_admitted(queue_id):
    scene = Scene()
    assert scene.admission.admit("t", "g", queue_id) == (scene.topics.find("t"), scene.groups.find("g"))


def test_what_may_not_be_read_is_refused():
    scene = Scene(auto_create_groups=False)
    assert refusal(scene.admission.admit, "t", "g", 2) == 29
    assert refusal(scene.admission.admit, "unknown", "g", -1) == 17
    assert refusal(scene.admission.admit, "t", "unknown", 0) == 26
    scene.groups.forbid("g", "t", True)
    assert refusal(scene.admission.admit, "t", "g", 0) == 16


@pytest.mark.parametrize("expression", [None, ""])
def test_a_pop_without_an_expression_wants_everything(expression):
    assert Scene().admission.filter(expression, "TAG") is EVERYTHING


def test_a_pop_with_tags_wants_their_hash_codes():
    wanted = Scene().admission.filter("paid || late", "TAG")
    assert set(wanted.codes) == {java_hash("paid"), java_hash("late")}


def test_an_expression_of_a_type_that_is_not_enabled_is_refused():
    assert refusal(Scene(property_filter=False).admission.filter, "a = 1", "SQL92") == 1


def test_an_expression_that_is_wrong_is_refused():
    assert refusal(Scene().admission.filter, "a = = 1", "SQL92") == 23


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "absent"}, 17),
        ({"consumer_group": "bad group"}, 26),
        ({"consumer_group": "stopped"}, 16),
        ({"topic": "writeonly"}, 16),
        ({"queue_id": 2}, 29),
        ({"max_msg_nums": 33}, 29),
        ({"max_msg_nums": 0}, 29),
        ({"invisible_time": 0}, 29),
        ({"invisible_time": -5}, 29),
        ({"exp": "||"}, 23),
        ({"exp": "a >", "exp_type": "SQL92"}, 23),
    ],
)
async def test_pops_that_cannot_be_served_are_refused(fields, code):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.cluster.create_topic("writeonly", 1, perm=2)
        stopped = dumps({"groupName": "stopped", "consumeEnable": False})
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), stopped)
        await world.client.ok(UpdateBrokerConfig(), b"enablePropertyFilter=true")
        answer = await world.client.invoke(pop_request(**fields))
        assert (answer.code, bool(answer.remark), not answer.ext) == (code, True, True)


async def sent_and_popped(world, count=1, **fields):
    for number in range(count):
        await world.client.ok_send("t", KEY, body=b"%d" % number)
    return popped(await world.client.invoke(pop_request(**fields)))


async def pop(world, **fields):
    return popped(await world.client.invoke(pop_request(**fields)))


BAD = [
    ({"topic": "absent"}, 17),
    ({"queue_id": 2}, 13),
    ({"queue_id": -1}, 13),
    ({"offset": -1}, 208),
    ({"offset": 9}, 208),
    ({"extra_info": "nonsense"}, 13),
    ({"extra_info": "0 1 2 3 0 elsewhere 0 0"}, 13),
    ({"extra_info": "0 1 2 3 0 broker-a 0 0"}, 208),
    ({"consumer_group": "stranger"}, 208),
]


@pytest.mark.parametrize(("fields", "code"), BAD)
async def test_bad_acknowledgements_are_refused_and_lose_nothing(fields, code):
    async with ClusterScene(topics={"t": 2}) as world:
        (message,) = await sent_and_popped(world)
        for request in (message.ack(**fields), message.hide(1000, **fields)):
            answer = await world.client.invoke(request)
            assert (answer.code, bool(answer.remark), not answer.ext) == (code, True, True)
        await world.clock.aadvance(60)
        assert [m.body for m in await pop(world)] == [b"0"]
