"""Topics by hand: 17, 18, 21, 215, 351, 305 (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from mqframe.broker.identity import Identity
from mqframe.broker.part import Part
from mqframe.broker.statistics import Statistics
from mqframe.core.bodies import DataVersion, TopicConfig, TopicConfigList, TopicList
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MessageError, Refusal
from mqframe.core.loosejson import decode, dumps
from mqframe.core.offset_table import OffsetTable
from mqframe.core.requests.admin import DeleteTopicInBroker, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.topic_table import TopicTable, parse_attributes
from mqframe.core.topics import check_topic
from mqframe.net.call import Call, Handler, Reply
from mqframe.store.message_store import MessageStore

QUEUES_MAX = 65_535
"""Most queues of a topic on one broker."""


class TopicProcessor(Part):
    """Makes, changes, shows and deletes topics. `told`: waits until the name servers know of a change."""

    def __init__(
        self,
        topics: TopicTable,
        store: MessageStore,
        offsets: OffsetTable,
        identity: Identity,
        statistics: Statistics,
        told: Callable[[], Awaitable[None]],
    ) -> None:
        self._told = told
        self._topics = topics
        self._store = store
        self._offsets = offsets
        self._identity = identity
        self._statistics = statistics

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {
            17: self._put,
            18: self._put_list,
            21: self._all,
            215: self._delete,
            305: self._system,
            351: self._show,
        }

    def _put(self, call: Call) -> Awaitable[Reply]:
        fields = call.fields(UpdateAndCreateTopic)
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
        await self._told()
        return Reply()

    def _put_list(self, call: Call) -> Awaitable[Reply]:
        topics = decode(memoryview(call.frame.body), TopicConfigList).topic_config_list
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

    def _delete(self, call: Call) -> Reply:
        name = call.fields(DeleteTopicInBroker).topic
        if not name.strip():
            raise Refusal(ResponseCode.INVALID_PARAMETER, "topic name is empty")
        if self._topics.is_system(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name} is the system's own")
        self._topics.remove(name)
        self._offsets.remove_topic(name)
        self._statistics.forget_topic(name)
        self._store.delete_topic(name)
        return Reply()

    def _all(self, call: Call) -> Reply:
        table = msgspec.structs.replace(
            self._topics.dump(),
            mapping_data_version=DataVersion(),
            topic_queue_mapping_detail_map={},
            topic_queue_mapping_info_map={},
        )
        return Reply(ext={"totalTopicNum": str(len(self._topics))}, body=dumps(table))

    def _show(self, call: Call) -> Reply:
        name = call.fields(GetTopicConfig).topic
        topic = self._topics.find(name)
        if topic is None:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {name} does not exist on this broker")
        return Reply(body=dumps(topic))

    def _system(self, call: Call) -> Reply:
        return Reply(
            body=dumps(TopicList(broker_addr=self._identity.address, topic_list=self._topics.system_topics))
        )
