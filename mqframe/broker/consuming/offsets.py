"""Committed offsets of groups; offsets of queues by end and time (source: ConsumerManageProcessor.java)."""

from __future__ import annotations

from typing import Final

from mqframe.broker.service import Processor
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.offset_rules import commit_problem
from mqframe.core.errors import Refusal
from mqframe.core.requests.consumers import (
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.log import get_logger

log: Final = get_logger("broker")

NOTHING_CONSUMED: Final = -1
"""What clients in Go and Node commit, every few seconds, of queues of which they consumed nothing yet."""


class OffsetProcessor(Processor):
    """Serves and stores committed offsets, and the offsets of queues."""

    @serves(QueryConsumerOffset)
    def query_offset(self, fields: QueryConsumerOffset, call: Call) -> OffsetAnswer | Reply:
        offset = self._offsets.query(fields.consumer_group, fields.topic, fields.queue_id)
        if offset is None or offset < 0:
            if fields.set_zero_if_not_found is False or not self._begins_at_zero(fields):
                return Reply(
                    ResponseCode.QUERY_NOT_FOUND,
                    ext={},
                    remark=f"group {fields.consumer_group} has no offset of {fields.topic}/{fields.queue_id}",
                )
            offset = 0
        return OffsetAnswer(offset)

    def _begins_at_zero(self, fields: QueryConsumerOffset) -> bool:
        # A new group on a queue that is short, and still whole, begins at its beginning (wire.md §3.2).
        topic, queue_id = fields.topic, fields.queue_id
        return (
            self._store.queues.min_offset(topic, queue_id) <= 0
            and self._store.queues.max_offset(topic, queue_id) > 0
            and not self._store.reads.is_cold(topic, queue_id, 0)
        )

    @serves(UpdateConsumerOffset)
    def update_offset(self, fields: UpdateConsumerOffset, call: Call) -> Reply:
        group, topic, queue_id = fields.consumer_group, fields.topic, fields.queue_id
        self._groups.need(group)
        self._check_commit(self._topics.need(topic), queue_id, fields.commit_offset, group)
        if self._offsets.reset_pending(group, topic, queue_id):
            return Reply(remark="the offset was reset before; this one is not stored")
        self._offsets.commit(group, topic, queue_id, fields.commit_offset)
        return Reply()

    def _check_commit(self, topic: TopicConfig, queue_id: int, offset: int, group: str) -> None:
        """Raise `Refusal` 29 for a queue that does not exist, and for an offset that nobody can have reached.

        The reference takes them all, and the group passes over what is stored later.
        """
        name = str(topic.topic_name)
        end = self._store.queues.max_offset(name, queue_id)
        # A topic may have had more queues; what they hold is still consumed.
        if not end and not 0 <= queue_id < max(topic.read_queue_nums, topic.write_queue_nums):
            problem = f"the topic has {topic.read_queue_nums} read queues"
        else:
            problem = commit_problem(offset, end)
        if problem:
            tell = log.debug if offset == NOTHING_CONSUMED else log.warning
            tell(
                "offset of a group refused",
                group=group, topic=name, queue=queue_id, offset=offset, reason=problem,
            )  # fmt: skip
            raise Refusal(
                ResponseCode.INVALID_PARAMETER, f"group {group} at {name}/{queue_id}: {problem}; not stored"
            )

    @serves(SearchOffsetByTimestamp)
    def search_offset(self, fields: SearchOffsetByTimestamp, call: Call) -> OffsetAnswer:
        upper = (fields.boundary_type or "").upper() == "UPPER"
        offset = self._store.queues.offset_at(fields.topic, fields.queue_id, fields.timestamp, upper=upper)
        return OffsetAnswer(offset)

    @serves(GetMaxOffset)
    def max_offset(self, fields: GetMaxOffset, call: Call) -> OffsetAnswer:
        return OffsetAnswer(self._store.queues.max_offset(fields.topic, fields.queue_id))

    @serves(GetMinOffset)
    def min_offset(self, fields: GetMinOffset, call: Call) -> OffsetAnswer:
        return OffsetAnswer(self._store.queues.min_offset(fields.topic, fields.queue_id))
