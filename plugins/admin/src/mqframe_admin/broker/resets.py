"""Offsets that operators set: INVOKE_BROKER_TO_RESET_OFFSET, CLONE_GROUP_OFFSET, QUERY_CORRECTION_OFFSET.

A reset is kept here and handed out with the group's next pull; pulls that wait are woken for it, so members
that run go on from there at once. With `server_side_reset` off, members are sent request 220 instead, and
nothing is stored here; so are always the members of a broadcasting group, which keep offsets of their own.
Source: AdminBrokerProcessor.java, Broker2Client.java.
"""

from __future__ import annotations

from typing import Final

from mqframe.core.cluster.broker_info import PushedOffset, PushedOffsets
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import OffsetTableBody
from mqframe.core.errors import ConnectionLost, Refusal, TooMuchInFlight
from mqframe.core.requests.insight import ResetConsumerClientOffset
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import BrokerPort
from mqframe.log import get_logger
from mqframe_admin.bodies import CorrectionOffsets
from mqframe_admin.broker.processor import AdminProcessor
from mqframe_admin.requests import CloneGroupOffset, InvokeBrokerToResetOffset, QueryCorrectionOffset
from mqframe_admin.rules.offset_rules import correction_offsets, reset_target, topics_to_clone

log = get_logger("broker")

PUSH_VERSION_MIN: Final = 28
"""Members of versions before this one know no reset (V3_0_7_SNAPSHOT)."""
_C_PLUS_PLUS: Final = "CPP"


class ResetProcessor(AdminProcessor):
    """Sets offsets of groups."""

    def __init__(self, port: BrokerPort) -> None:
        super().__init__(port)
        self._reader = port.reader

    # Reset

    @serves(InvokeBrokerToResetOffset)
    def reset(self, fields: InvokeBrokerToResetOffset, call: Call) -> OffsetTableBody:
        topic = self._topics.need(fields.topic)
        self._groups.need(fields.group)
        members = self._clients.consumers.get(fields.group)
        broadcasting = members is not None and members.broadcasting
        if self._settings.server_side_reset and not broadcasting:
            targets = self._targets(fields, topic)
            for queue_id, offset in targets.items():
                if fields.is_force or offset != self._offsets.query(fields.group, fields.topic, queue_id):
                    self._administration.reset_offset(fields.group, fields.topic, queue_id, offset)
        else:
            targets = self._push(fields, topic, call.frame.language)
        table = {self._queue(fields.topic, queue_id): offset for queue_id, offset in targets.items()}
        log.info("offsets reset", group=fields.group, topic=fields.topic, offsets=targets)
        return OffsetTableBody(offset_table=table)

    def _targets(self, fields: InvokeBrokerToResetOffset, topic: TopicConfig) -> dict[int, int]:
        queue_id = -1 if fields.queue_id is None else fields.queue_id
        if queue_id >= topic.read_queue_nums:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"queue id {queue_id}: topic {fields.topic} has {topic.read_queue_nums} read queues",
            )
        if queue_id >= 0 and fields.offset is not None and fields.offset != -1:
            asked = {queue_id: self._within(fields.topic, queue_id, fields.offset)}
        else:
            queue_ids = [queue_id] if queue_id >= 0 else range(topic.read_queue_nums)
            asked = {each: self._at_time(fields.topic, each, fields.timestamp) for each in queue_ids}
        if not asked:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"topic {fields.topic} has no queue to reset")
        query = self._offsets.query
        return {
            each: reset_target(query(fields.group, fields.topic, each), offset, force=fields.is_force)
            for each, offset in asked.items()
        }

    def _push(
        self, fields: InvokeBrokerToResetOffset, topic: TopicConfig, language: str | None
    ) -> dict[int, int]:
        targets = self._targets(fields, topic)
        group = self._clients.consumers.get(fields.group)
        known = (self._offsets.query(fields.group, fields.topic, each) for each in targets)
        if all(offset is None for offset in known) and (group is None or not group.broadcasting):
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"consumer group {fields.group} has no offset of topic {fields.topic} to reset",
            )
        if group is None:
            raise Refusal(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"consumer group {fields.group} has no member here that could be told",
            )
        request = ResetConsumerClientOffset(fields.topic, fields.group, fields.timestamp, fields.is_force)
        body = self._pushed(fields.topic, targets, language)
        for member in tuple(group.members.values()):
            if member.version < PUSH_VERSION_MIN:
                raise Refusal(
                    ResponseCode.SYSTEM_ERROR,
                    f"member {member.client_id} of version {member.version} cannot be told of a reset",
                )
            try:
                member.channel.oneway(request, body)
            except (ConnectionLost, TooMuchInFlight) as problem:
                log.warning("member was not told of a reset", client=member.client_id, reason=str(problem))
        return targets

    def _pushed(self, topic: str, targets: dict[int, int], language: str | None) -> bytes:
        name = self._identity.name
        if language == _C_PLUS_PLUS:
            # Whoever asks is believed to have members of its own language.
            offsets = [PushedOffset(name, offset, queue_id, topic) for queue_id, offset in targets.items()]
            return dumps(PushedOffsets(offsets))
        return dumps(OffsetTableBody({self._queue(topic, each): offset for each, offset in targets.items()}))

    def _within(self, topic: str, queue_id: int, offset: int) -> int:
        low, high = self._store.queues.bounds(topic, queue_id)
        if not low <= offset <= high:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"offset {offset} of {topic}/{queue_id} is not within {low}..{high}",
            )
        return offset

    def _at_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        if timestamp_ms < 0:
            return self._store.queues.max_offset(topic, queue_id)
        return self._reader.offset_at(topic, queue_id, timestamp_ms)

    # Between groups

    @serves(QueryCorrectionOffset)
    def correct(self, fields: QueryCorrectionOffset, call: Call) -> CorrectionOffsets:
        without = [name for name in (fields.filter_groups or "").split(",") if name]
        offsets = correction_offsets(
            self._offsets.by_group(fields.topic),
            lambda queue_id: self._store.queues.min_offset(fields.topic, queue_id),
            without,
            fields.compare_group,
        )
        return CorrectionOffsets(offsets)

    @serves(CloneGroupOffset)
    def clone(self, fields: CloneGroupOffset, call: Call) -> Reply:
        source, target = fields.src_group, fields.dest_group
        if source == target:
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"{source} would be cloned onto itself")
        if fields.topic:
            self._topics.need(fields.topic)
        known = [fields.topic] if fields.topic else self._offsets.topics_of(source)
        if not any(self._offsets.offsets_of(source, topic) for topic in known):
            raise Refusal(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"consumer group {source} has no offsets{f' of {fields.topic}' if fields.topic else ''}",
            )
        self._groups.need(target, self._settings.auto_create_groups)
        members = self._clients.consumers.get(source)
        subscribed = None if members is None else members.subscriptions
        for topic in topics_to_clone(known, subscribed, offline=fields.offline):
            if topic in self._topics:
                self._clone_topic(source, target, topic)
        return Reply()

    def _clone_topic(self, source: str, target: str, topic: str) -> None:
        online = target in self._clients.consumers
        for queue_id, offset in self._offsets.offsets_of(source, topic).items():
            if online:  # members that run would soon overwrite what is only stored
                self._administration.reset_offset(target, topic, queue_id, offset)
            else:
                self._offsets.commit(target, topic, queue_id, offset)
