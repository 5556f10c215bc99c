"""Topics that may be made, and those that may not."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.broker.tables.topic_limits import ATTRIBUTES_CHARS_MAX, TopicLimits
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.errors import Refusal


def scene() -> tuple[TopicTable, TopicLimits]:
    """At most 8 queues and 2 attributes."""
    topics = TopicTable(ManualClock())
    return topics, TopicLimits(topics, LiveSettings(BrokerSettings(topic_queues_max=8, attributes_max=2)))


def topic(**fields: Any) -> TopicConfig:
    """Of 8 queues, where `fields` say nothing else."""
    return TopicConfig(**({"topic_name": "new", "read_queue_nums": 8, "write_queue_nums": 8} | fields))


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (TopicConfig(topic_name="no good"), "no good"),
        (topic(read_queue_nums=9), "9 read, 8 write queues; the most is 8"),
        (topic(write_queue_nums=-1), "8 read, -1 write queues; the most is 8"),
        (topic(perm=16), "permission 16 is none"),
        (topic(attributes={"+a": "1", "+b": "2", "+c": "3"}), "3 attributes"),
        (topic(attributes={"+a": "x" * ATTRIBUTES_CHARS_MAX}), "the most is 16384"),
    ],
)
def test_what_is_too_much_is_refused(wanted: TopicConfig, why: str) -> None:
    _, limits = scene()
    with pytest.raises(Refusal, match=why) as refused:
        limits.check(wanted)
    assert refused.value.code == 29


def test_what_a_topic_has_already_it_may_keep() -> None:
    topics, limits = scene()
    topics.ensure("wide", 100)
    limits.check(TopicConfig(topic_name="wide", read_queue_nums=100, write_queue_nums=90))
    with pytest.raises(Refusal, match="101 read"):
        limits.check(TopicConfig(topic_name="wide", read_queue_nums=101, write_queue_nums=90))
