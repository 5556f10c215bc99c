"""Offsets of groups and queues: 14, 15, 29 to 32 (wire.md §3.2; source: ConsumerManageProcessor.java)."""

from __future__ import annotations

from mqframe.broker.part import Part
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.group_table import GroupTable
from mqframe.core.offset_table import OffsetTable
from mqframe.core.requests.consumers import (
    GetEarliestMsgStoretime,
    GetMaxOffset,
    GetMinOffset,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from mqframe.core.topic_table import TopicTable
from mqframe.net.call import Call, Handler, Reply
from mqframe.store.message_store import MessageStore


class OffsetProcessor(Part):
    """Says and stores how far groups are, and where queues begin and end."""

    def __init__(
        self, store: MessageStore, offsets: OffsetTable, topics: TopicTable, groups: GroupTable
    ) -> None:
        self._store = store
        self._offsets = offsets
        self._topics = topics
        self._groups = groups

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {
            14: self._query,
            15: self._update,
            29: self._search,
            30: self._max,
            31: self._min,
            32: self._earliest,
        }

    def _query(self, call: Call) -> Reply:
        fields = call.fields(QueryConsumerOffset)
        offset = self._offsets.query(fields.consumer_group, fields.topic, fields.queue_id)
        if offset is None or offset < 0:
            if fields.set_zero_if_not_found is False or not self._begins_at_zero(fields):
                return Reply(
                    ResponseCode.QUERY_NOT_FOUND,
                    ext={},
                    remark=f"group {fields.consumer_group} has no offset of {fields.topic}/{fields.queue_id}",
                )
            offset = 0
        return Reply(ext={"offset": str(offset)})

    def _begins_at_zero(self, fields: QueryConsumerOffset) -> bool:
        # A new group on a queue that is short, and still whole, begins at its beginning (observed.md).
        topic, queue_id = fields.topic, fields.queue_id
        return (
            self._store.queue_min(topic, queue_id) <= 0
            and self._store.queue_max(topic, queue_id) > 0
            and not self._store.is_cold(topic, queue_id, 0)
        )

    def _update(self, call: Call) -> Reply:
        fields = call.fields(UpdateConsumerOffset)
        group, topic, queue_id = fields.consumer_group, fields.topic, fields.queue_id
        if group not in self._groups:
            raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"consumer group {group} does not exist")
        if topic not in self._topics:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {topic} does not exist on this broker")
        if self._offsets.reset_pending(group, topic, queue_id):
            return Reply(remark="the offset was reset before; this one is not stored")
        self._offsets.commit(group, topic, queue_id, fields.commit_offset)
        return Reply()

    def _search(self, call: Call) -> Reply:
        fields = call.fields(SearchOffsetByTimestamp)
        upper = (fields.boundary_type or "").upper() == "UPPER"
        offset = self._store.offset_at(fields.topic, fields.queue_id, fields.timestamp, upper=upper)
        return Reply(ext={"offset": str(offset)})

    def _max(self, call: Call) -> Reply:
        fields = call.fields(GetMaxOffset)
        return Reply(ext={"offset": str(self._store.queue_max(fields.topic, fields.queue_id))})

    def _min(self, call: Call) -> Reply:
        fields = call.fields(GetMinOffset)
        return Reply(ext={"offset": str(self._store.queue_min(fields.topic, fields.queue_id))})

    def _earliest(self, call: Call) -> Reply:
        fields = call.fields(GetEarliestMsgStoretime)
        topic, queue_id = fields.topic, fields.queue_id
        stored = self._store.store_time_at(topic, queue_id, self._store.queue_min(topic, queue_id))
        return Reply(ext={"timestamp": str(-1 if stored is None else stored)})
