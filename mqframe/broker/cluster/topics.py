"""Topics that producers and other brokers make and ask for (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec

from mqframe.broker.administration import Administration
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import parse_attributes
from mqframe.core.requests.admin import GetAllTopicConfig, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.requests.lasting import unaware_remark
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.bodies import DataVersion
from mqframe.hooks.table_reply import table_reply


class TopicProcessor(Processor):
    """Makes and shows topics."""

    def __init__(self, shared: Shared, administration: Administration) -> None:
        super().__init__(shared)
        self._administration = administration

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
        self._administration.check_topic(topic)
        self._topics.put(topic)
        return self._done()

    async def _done(self) -> Reply:
        return Reply(remark=unaware_remark(await self._administration.announced()))

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
