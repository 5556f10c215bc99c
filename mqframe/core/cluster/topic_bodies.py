"""JSON bodies about topics, and `config/topics.json` (wire.md §4, store.md §5)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from mqframe.core.parameters import Since
from mqframe.core.wire.bodies import Body, DataVersion


class TopicConfig(Body, gc=False):
    """Configuration of one topic on one broker."""

    attributes: Annotated[dict[str, str], Since("5.0.0")] = {}
    order: bool = False
    perm: int = 6
    read_queue_nums: int = 16
    topic_filter_type: str = "SINGLE_TAG"
    topic_name: str | None = None
    topic_sys_flag: int = 0
    write_queue_nums: int = 16


class TopicConfigTable(Body):
    """All topics of a broker: `config/topics.json`, and what a broker registers."""

    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    mapping_data_version: DataVersion | None = None
    topic_config_table: dict[str, TopicConfig] = {}
    topic_queue_mapping_detail_map: dict[str, Any] | None = None
    topic_queue_mapping_info_map: dict[str, Any] | None = None


class RegisterBrokerBody(Body):
    """Body of a broker's registration at a name server."""

    filter_server_list: list[str] = []
    topic_config_serialize_wrapper: TopicConfigTable = msgspec.field(default_factory=TopicConfigTable)
