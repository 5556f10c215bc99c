"""Administration of topics: create, change, show, delete (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from mqframe.broker.admin.saved_changes import not_saved
from mqframe.broker.service import Processor
from mqframe.broker.tables.long_bodies import table_reply
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigList
from mqframe.core.cluster.topic_table import parse_attributes
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
from mqframe.turns import in_turns

LIST_MAX: Final = 5000
"""Topics in one request: all that are new are written down together."""
TURN_TOPICS: Final = 256
"""Topics that are made or changed in one turn of the loop."""
ATTRIBUTES_CHARS_MAX: Final = 16_384
"""Longest names and values of all attributes of a topic together."""


class TopicProcessor(Processor):
    """Makes, changes, shows and deletes topics.

    `announced`: waits until name servers know of a change, and returns those that do not yet; `save`: saves
    what was changed in later turns; `deleted`: notified of each topic that was deleted.
    """

    def __init__(
        self,
        shared: Shared,
        announced: Callable[[], Awaitable[list[str]]],
        save: Callable[[], Awaitable[bool]],
        deleted: Callable[[str], None],
    ) -> None:
        super().__init__(shared)
        self._deleted = deleted
        self._announced = announced
        self._save = save
        self._delete_queues = shared.store.delete_topic

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
        self._check(topic)
        self._topics.put(topic)
        return self._done()

    async def _done(self) -> Reply:
        unaware = await self._announced()
        # A success to every client, whatever its remark says.
        return Reply(
            remark=f"name servers that do not know of it yet: {', '.join(unaware)}" if unaware else None
        )

    @serves(UpdateAndCreateTopicList)
    async def put_topics(self, fields: UpdateAndCreateTopicList, call: Call) -> Reply:
        topics = call.body(TopicConfigList).topic_config_list
        if len(topics) > LIST_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"{len(topics)} topics at once, at most {LIST_MAX} are taken; send them in parts",
            )
        async for some in in_turns(topics, TURN_TOPICS):
            for topic in some:
                self._check(topic)
                self._topics.check(topic)
        names = {str(topic.topic_name) for topic in topics}
        self._topics.admit(sum(name not in self._topics for name in names))
        async for some in in_turns(topics, TURN_TOPICS):
            for topic in some:
                self._topics.put(topic)
        if not await self._save():
            raise not_saved()
        return await self._done()

    def _check(self, topic: TopicConfig) -> None:
        name, perm = topic.topic_name or "", topic.perm
        read_queues, write_queues = topic.read_queue_nums, topic.write_queue_nums
        try:
            check_topic(name)
        except MessageError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        if self._topics.is_system(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name} is the system's own")
        most = self._live.current.topic_queues_max
        old = self._topics.find(name)
        if old is not None:
            most = max(most, old.read_queue_nums, old.write_queue_nums)
        if not (0 <= read_queues <= most and 0 <= write_queues <= most):
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"topic {name}: {read_queues} read, {write_queues} write queues; the most is {most} "
                "(broker.topic_queues_max)",
            )
        self._check_attributes(topic)
        if not 0 <= perm <= 15:
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name}: permission {perm} is none")

    def _check_attributes(self, topic: TopicConfig) -> None:
        old = self._topics.find(topic.topic_name or "")
        names = {name.lstrip("+-") for name in topic.attributes} | set(old.attributes if old else ())
        limit = self._live.current.attributes_max
        if len(names) > limit:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"topic {topic.topic_name}: {len(names)} attributes; the most is {limit} "
                "(broker.attributes_max)",
            )
        size = sum(len(name) + len(value) for name, value in topic.attributes.items())
        size += len(topic.topic_filter_type)
        if size > ATTRIBUTES_CHARS_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"topic {topic.topic_name}: attributes of {size} characters; the most is "
                f"{ATTRIBUTES_CHARS_MAX}",
            )

    @serves(DeleteTopicInBroker)
    async def delete_topic(self, fields: DeleteTopicInBroker, call: Call) -> Reply:
        name = fields.topic
        if not name.strip():
            raise Refusal(ResponseCode.INVALID_PARAMETER, "topic name is empty")
        if not is_path_part(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic name {name[:40]!r} is none")
        if self._topics.is_system(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name} is the system's own")
        try:
            await self._delete_queues(name)
        except OSError:
            raise not_saved() from None
        self._topics.remove(name)
        self._offsets.remove_topic(name, self._clients.consumers.keys())
        self._deleted(name)
        self._statistics.forget_topic(name)
        if not await self._save():
            raise not_saved()
        return Reply()

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

    @serves(GetTopicConfig)
    def show_topic(self, fields: GetTopicConfig, call: Call) -> TopicConfig:
        return self._topics.need(fields.topic)

    @serves(GetSystemTopicListFromBroker)
    def system_topics(self, fields: GetSystemTopicListFromBroker, call: Call) -> Reply:
        return Reply(
            body=dumps(TopicList(broker_addr=self._identity.address, topic_list=self._topics.system_topics))
        )
