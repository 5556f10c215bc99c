"""Administration of topics: create, change, show, delete (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigList
from mqframe.core.cluster.topic_table import QUEUES_MAX, parse_attributes
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MessageError, Refusal
from mqframe.core.messages.names import check_topic, is_path_part
from mqframe.core.requests.admin import (
    DeleteTopicInBroker,
    GetAllTopicConfig,
    GetSystemTopicListFromBroker,
    GetTopicConfig,
    UpdateAndCreateTopic,
    UpdateAndCreateTopicList,
)
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.loose_json import dumps


class TopicProcessor(Processor):
    """Makes, changes, shows and deletes topics. `announced`: waits until name servers know of a change."""

    def __init__(self, shared: Shared, announced: Callable[[], Awaitable[None]]) -> None:
        super().__init__(shared)
        self._announced = announced
        self._delete_queues = shared.store.delete_topic

    @serves(UpdateAndCreateTopic)
    def put_topic(self, fields: UpdateAndCreateTopic, call: Call) -> Awaitable[Reply]:
        self._check(fields.topic, fields.read_queue_nums, fields.write_queue_nums, fields.perm)
        self._topics.put(
            TopicConfig(
                topic_name=fields.topic,
                read_queue_nums=fields.read_queue_nums,
                write_queue_nums=fields.write_queue_nums,
                perm=fields.perm,
                topic_filter_type=fields.topic_filter_type,
                topic_sys_flag=fields.topic_sys_flag or 0,
                order=fields.order,
                attributes=parse_attributes(fields.attributes),
            )
        )
        return self._done()

    async def _done(self) -> Reply:
        await self._announced()
        return Reply()

    @serves(UpdateAndCreateTopicList)
    def put_topics(self, fields: UpdateAndCreateTopicList, call: Call) -> Awaitable[Reply]:
        topics = call.body(TopicConfigList).topic_config_list
        for topic in topics:
            self._check(topic.topic_name or "", topic.read_queue_nums, topic.write_queue_nums, topic.perm)
        for topic in topics:
            self._topics.put(topic)
        return self._done()

    def _check(self, name: str, read_queues: int, write_queues: int, perm: int) -> None:
        try:
            check_topic(name)
        except MessageError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        if self._topics.is_system(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name} is the system's own")
        if not (0 <= read_queues <= QUEUES_MAX and 0 <= write_queues <= QUEUES_MAX):
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"topic {name}: {read_queues} read, {write_queues} write queues; the most is {QUEUES_MAX}",
            )
        if not 0 <= perm <= 15:
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name}: permission {perm} is none")

    @serves(DeleteTopicInBroker)
    def delete_topic(self, fields: DeleteTopicInBroker, call: Call) -> Reply:
        name = fields.topic
        if not name.strip():
            raise Refusal(ResponseCode.INVALID_PARAMETER, "topic name is empty")
        if not is_path_part(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic name {name[:40]!r} is none")
        if self._topics.is_system(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name} is the system's own")
        self._topics.remove(name)
        self._offsets.remove_topic(name)
        self._statistics.forget_topic(name)
        self._delete_queues(name)
        return Reply()

    @serves(GetAllTopicConfig)
    def all_topics(self, fields: GetAllTopicConfig, call: Call) -> Reply:
        table = msgspec.structs.replace(
            self._topics.dump(),
            mapping_data_version=DataVersion(),
            topic_queue_mapping_detail_map={},
            topic_queue_mapping_info_map={},
        )
        return Reply(ext={"totalTopicNum": str(len(self._topics))}, body=dumps(table))

    @serves(GetTopicConfig)
    def show_topic(self, fields: GetTopicConfig, call: Call) -> TopicConfig:
        return self._topics.need(fields.topic)

    @serves(GetSystemTopicListFromBroker)
    def system_topics(self, fields: GetSystemTopicListFromBroker, call: Call) -> Reply:
        return Reply(
            body=dumps(TopicList(broker_addr=self._identity.address, topic_list=self._topics.system_topics))
        )
