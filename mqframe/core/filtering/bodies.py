"""The objects in `config/consumerFilter.json`.

Source: ConsumerFilterManager.java, ConsumerFilterData.java.
"""

from __future__ import annotations

import msgspec

from mqframe.core.bodies import Body


class BloomFilterData(Body):
    """Bits that stand for a group and a topic in a bloom filter of `bit_num` bits."""

    bit_num: int = 0
    bit_pos: list[int] = []


class FilterData(Body):
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
