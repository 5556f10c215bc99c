"""Subscriptions as JSON bodies (wire.md §4), and the objects in `config/consumerFilter.json`.

Source: ConsumerFilterManager.java, ConsumerFilterData.java.
"""

from __future__ import annotations

import msgspec

from mqframe.core.wire.bodies import Body


class SubscriptionData(Body, gc=False):
    """What a group wants of a topic. `sub_version` in ms: the newest one counts."""

    topic: str
    class_filter_mode: bool = False
    code_set: list[int] = []
    expression_type: str | None = "TAG"
    sub_string: str | None = "*"
    sub_version: int = 0
    tags_set: list[str] = []


class BloomFilterData(Body, gc=False):
    """Bits that stand for a group and a topic in a bloom filter of `bit_num` bits."""

    bit_num: int = 0
    bit_pos: list[int] = []


class FilterData(Body, gc=False):
    """A group's expression for a topic. Times in ms; `dead_time` at or after `born_time`: nobody uses it."""

    bloom_filter_data: BloomFilterData | None = None
    born_time: int = 0
    client_version: int = 0
    consumer_group: str = ""
    dead: bool = False
    dead_time: int = 0
    expression: str = ""
    expression_type: str = ""
    topic: str = ""


class TopicFilterData(Body):
    """The expressions for one topic by group."""

    group_filter_data: dict[str, FilterData] = {}
    topic: str = ""


class FilterDataTable(Body):
    """All expressions by topic."""

    filter_data_by_topic: dict[str, TopicFilterData] = msgspec.field(default_factory=dict)
