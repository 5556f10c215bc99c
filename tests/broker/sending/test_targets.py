"""Which topics may be sent to, and which are made by a send; without a broker."""

from __future__ import annotations

import attrs
import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.sending.targets import SendTargets
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.broker.tables.statistics import Statistics
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable, system_topics
from mqframe.core.errors import Refusal
from mqframe.core.requests.messages import SendMessageV2


class Scene:
    def __init__(self) -> None:
        clock = ManualClock()
        self.topics = TopicTable(clock, system_topics("C", "b"))
        self.topics.put(TopicConfig(topic_name="t", read_queue_nums=2, write_queue_nums=4))
        self.live = LiveSettings(BrokerSettings())
        self.targets = SendTargets(self.topics, self.live, Statistics(clock))

    def find(self, topic: str, queue_id: int = 0, **fields):
        request = SendMessageV2(
            "p", topic, fields.pop("model", "TBW102"), fields.pop("queues", 4), queue_id, 0, 0, 0, **fields
        )
        return self.targets.find(request)

    def code(self, *arguments, **fields) -> int:
        with pytest.raises(Refusal) as caught:
            self.find(*arguments, **fields)
        return caught.value.code


def test_queues_of_both_kinds_are_taken_and_write_queues_chosen_from():
    scene = Scene()
    target = scene.find("t", 3)
    assert (target.queues, target.write_queues, target.is_retry) == (4, 4, False)
    assert scene.code("t", 4) == 29
    scene.topics.put(TopicConfig(topic_name="t", read_queue_nums=8, write_queue_nums=4))
    target = scene.find("t", 7)
    assert (target.queues, target.write_queues) == (8, 4)


def test_a_target_is_kept_until_topics_change():
    scene = Scene()
    first = scene.find("t")
    assert scene.find("t") is first
    scene.topics.put(TopicConfig(topic_name="other", read_queue_nums=1, write_queue_nums=1))
    assert scene.find("t") is not first
    scene.topics.remove("t")
    scene.live.current = attrs.evolve(scene.live.current, auto_create_topics=False)
    assert scene.code("t") == 17


@pytest.mark.parametrize(("topic", "code"), [("no/such", 29), ("", 29), ("SCHEDULE_TOPIC_XXXX", 16)])
def test_topics_that_take_no_messages(topic, code):
    assert Scene().code(topic) == code


def test_a_topic_is_made_with_the_queues_that_are_wished_for():
    scene = Scene()
    assert scene.find("fresh", queues=3).queues == 3
    assert scene.topics.find("fresh").write_queue_nums == 3
    assert scene.find("wide", queues=100).queues == 8


def test_a_retry_topic_is_made_with_one_queue_even_where_others_are_not():
    scene = Scene()
    scene.live.current = attrs.evolve(scene.live.current, auto_create_topics=False)
    target = scene.find("%RETRY%g")
    assert (target.queues, target.is_retry) == (1, True)
    assert scene.code("fresh") == 17


@pytest.mark.parametrize(("topic", "flag"), [("fresh", 1), ("%RETRY%g", 2)])
def test_the_topics_of_units_say_so(topic, flag):
    scene = Scene()
    scene.find(topic, unit_mode=True)
    assert scene.topics.find(topic).topic_sys_flag == flag


def test_the_target_of_the_last_send_is_known_until_topics_change():
    scene = Scene()
    assert scene.targets.known("t") is None
    target = scene.find("t")
    assert scene.targets.known("t") is target
    assert scene.targets.known("other") is None
    scene.topics.put(TopicConfig(topic_name="other"))
    assert scene.targets.known("t") is None
