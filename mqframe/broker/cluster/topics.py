"""Topics that producers and other brokers make and ask for (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.broker.tables.topic_limits import TopicLimits
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import parse_attributes
from mqframe.core.requests.admin import GetAllTopicConfig, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.bodies import DataVersion
from mqframe.hooks.table_reply import table_reply


class TopicProcessor(Processor):
    """Makes and shows topics.

    `announced`: waits until name servers know of a change, and returns those that do not yet.
    """

    def __init__(self, shared: Shared, announced: Callable[[], Awaitable[list[str]]]) -> None:
        super().__init__(shared)
        self._announced = announced
        self._limits = TopicLimits(self._topics, self._live)

    @serves(UpdateAndCreateTopic)
    def put_topic(self, fields: UpdateAndCreateTopic, call: Call) -> Awaitable[Reply]:
        topic = TopicConfig(
            topic_name=fields.topic,
            read_queue_nums=fields.read_queue_nums,
            write_queue_nums=fields.write_queue_nums,
            perm=fields.perm,
            topic_filter_type=fields.topic_filter_type,
            topic_sys_flag=fields.topic_sys_flag or 0,
            order=fields.order,
            attributes=parse_attributes(fields.attributes),
        )
        self._limits.check(topic)
        self._topics.put(topic)
        return self._done()

    async def _done(self) -> Reply:
        unaware = await self._announced()
        # A success to every client, whatever its remark says.
        return Reply(
            remark=f"name servers that do not know of it yet: {', '.join(unaware)}" if unaware else None
        )

    @serves(GetTopicConfig)
    def show_topic(self, fields: GetTopicConfig, call: Call) -> TopicConfig:
        return self._topics.need(fields.topic)

    @serves(GetAllTopicConfig)
    async def all_topics(self, fields: GetAllTopicConfig, call: Call) -> Reply:
        table = self._topics.dump()
        body = msgspec.structs.replace(
            table,
            mapping_data_version=DataVersion(),
            topic_config_table={},
            topic_queue_mapping_detail_map={},
            topic_queue_mapping_info_map={},
        )
        topics = table.topic_config_table
        ext = {"totalTopicNum": str(len(topics))}
        return await table_reply(body, "topicConfigTable", topics.items(), ext=ext)
