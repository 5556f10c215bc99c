"""Who may read which queue: the checks that pulls and pops share, without a broker."""

from __future__ import annotations

import attrs
import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.consuming.admission import BrokerReadAdmission
from mqframe.broker.consuming.filters import Filters
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.cluster.group_table import GroupTable
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.hooks.manager import PluginManager

READ, WRITE = 4, 2


class Scene:
    """Topic t with 2 read and 8 write queues, topic w that may only be written to, group g."""

    def __init__(self, **settings) -> None:
        clock = ManualClock()
        self.topics = TopicTable(clock)
        self.topics.put(TopicConfig(topic_name="t", read_queue_nums=2, write_queue_nums=8, perm=READ | WRITE))
        self.topics.put(TopicConfig(topic_name="w", read_queue_nums=2, write_queue_nums=2, perm=WRITE))
        self.groups = GroupTable(clock)
        self.groups.put(SubscriptionGroupConfig(group_name="g"))
        self.live = LiveSettings(BrokerSettings(**settings))
        filters = Filters(self.live, PluginManager(), clock)
        self.admission = BrokerReadAdmission(self.topics, self.groups, self.live, filters)


def refusal(call, *arguments) -> tuple[int, str]:
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    return caught.value.code, caught.value.remark


class TestTopic:
    @pytest.mark.parametrize("queue_id", [0, 1, None])
    def test_a_queue_that_it_has_or_any(self, queue_id):
        scene = Scene()
        assert scene.admission.topic("t", queue_id) is scene.topics.find("t")

    @pytest.mark.parametrize("queue_id", [-1, 2, 7])
    def test_only_read_queues_count(self, queue_id):
        code, remark = refusal(Scene().admission.topic, "t", queue_id)
        assert (code, remark) == (
            29, f"queue id {queue_id} of topic t does not exist: it has 2 read queues"
        )  # fmt: skip

    def test_an_unknown_topic_is_refused_and_not_made(self):
        scene = Scene()
        code, remark = refusal(scene.admission.topic, "unknown", 0)
        assert (code, remark) == (17, "topic unknown does not exist on this broker")
        assert "unknown" not in scene.topics

    def test_a_topic_may_be_closed_to_readers(self):
        assert refusal(Scene().admission.topic, "w", 0) == (16, "topic w may not be read from")


class TestGroup:
    def test_a_known_group(self):
        scene = Scene(auto_create_groups=False)
        assert scene.admission.group("g") is scene.groups.find("g")

    def test_a_new_group_is_made_where_that_is_allowed(self):
        scene = Scene(auto_create_groups=True)
        assert scene.admission.group("new").group_name == "new"
        assert "new" in scene.groups
        assert refusal(scene.admission.group, "no such/group")[0] == 26

    def test_and_refused_elsewhere(self):
        scene = Scene(auto_create_groups=False)
        assert refusal(scene.admission.group, "new") == (26, "consumer group new does not exist")
        assert "new" not in scene.groups

    def test_a_group_may_be_switched_off(self):
        scene = Scene()
        scene.groups.put(SubscriptionGroupConfig(group_name="g", consume_enable=False))
        assert refusal(scene.admission.group, "g") == (16, "consumer group g may not consume")


def test_a_group_may_be_kept_from_a_topic():
    scene = Scene()
    scene.admission.check_allowed("g", "t")
    scene.groups.forbid("g", "t", True)
    assert refusal(scene.admission.check_allowed, "g", "t") == (16, "group g may not read topic t")
    scene.admission.check_allowed("g", "w")


def test_a_broker_that_may_not_be_read_refuses_before_it_looks_for_anything():
    scene = Scene()
    scene.live.current = attrs.evolve(scene.live.current, permission=WRITE)
    expected = (16, f"broker {scene.live.current.name} may not be read from")
    assert refusal(scene.admission.topic, "unknown", 0) == expected
    assert refusal(scene.admission.group, "new") == expected
    assert "new" not in scene.groups
