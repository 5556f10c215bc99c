"""Send-back of failed messages to retry or dead-letter topics (source: AbstractSendMessageProcessor.java)."""

from __future__ import annotations

from random import randrange
from typing import Final

from mqframe.broker.sending.internal_writer import InternalWriter
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.broker.tables.statistics import SENT_BACK
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_WRITE, ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig, retry_queues
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC, is_closed_topic, retry_topic
from mqframe.core.requests.failures import not_confirmed
from mqframe.core.requests.messages import ConsumerSendMsgBack
from mqframe.core.requests.needs import Action, consumed_need
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.retry.policy import MemberLimits, copied_properties, limit_in_request, verdict
from mqframe.core.retry.redelivery import retry_schedule
from mqframe.core.storage.outcome import Outcome
from mqframe.core.storage.record import decode_record
from mqframe.core.storage.stored import Stored

_UNIT_SUBSCRIPTION: Final = 2  # TopicSysFlag.java


class SendBackProcessor(Processor):
    """Stores failed messages anew: to come again later, or as dead letters. `levels`: the broker's, ms.

    The answer waits until the copy is as durable as the broker is configured, because the consumer commits
    the first copy right after it.
    """

    def __init__(self, shared: Shared, writer: InternalWriter, levels: tuple[int, ...]) -> None:
        super().__init__(shared)
        self._writer = writer
        self._when_decided = shared.store.confirming.when_decided
        self._levels = levels
        self._limits = MemberLimits()

    @serves(ConsumerSendMsgBack)
    def take_back(self, fields: ConsumerSendMsgBack, call: Call) -> Reply | None:
        group = self._groups.need(fields.group, self._live.current.auto_create_groups)
        queues = retry_queues(group)
        if not queues:
            return Reply()  # such a group wants nothing again
        topic = self._retry_topic(group, unit_mode=bool(fields.unit_mode))
        message = self._message(fields.offset)
        call.demand(consumed_need(message.topic, group.group_name, (Action.SUB,)))
        what = verdict(
            message.reconsume_times,
            fields.delay_level,
            self._limit(call, group, limit_in_request(call.frame.version, fields.max_reconsume_times)),
            retry_schedule(group.group_retry_policy),
            self._levels,
        )
        properties = copied_properties(message.properties, message.topic, message.offset_message_id, what)
        stored = self._writer.put(
            self._topics.dead_letters(group.group_name) if what.dead else str(topic.topic_name),
            # Not beyond what the topic was made with: nobody looks there.
            0 if what.dead else randrange(max(1, min(queues, topic.write_queue_nums))),
            message.stored_body,
            properties,
            born_timestamp=message.born_timestamp,
            born_host=encode_host(message.born_host),
            flag=message.flag,
            sys_flag=message.sys_flag,
            reconsume_times=message.reconsume_times + 1,
            # A dead letter is stored at once, whatever delay its properties still name.
            heed_delay=not what.dead,
        )
        if what.dead:
            self._statistics.topic(str(topic.topic_name)).add(1, stored.size)
            self._statistics.given_up(group.group_name, properties[p.RETRY_TOPIC])
        self._statistics.add(SENT_BACK, properties[p.RETRY_TOPIC], group.group_name)
        return self._answer(call, stored)

    def _retry_topic(self, group: SubscriptionGroupConfig, *, unit_mode: bool) -> TopicConfig:
        name = retry_topic(group.group_name)
        topic = self._topics.find(name) or self._topics.ensure(
            name, retry_queues(group), sys_flag=_UNIT_SUBSCRIPTION if unit_mode else 0
        )
        if not topic.perm & PERM_WRITE:
            raise Refusal(ResponseCode.NO_PERMISSION, f"topic {name} may not be written to")
        return topic

    def _message(self, offset: int) -> ReceivedMessage:
        record = self._store.search.record_at(offset) if offset >= 0 else None
        if record is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"no message begins at log offset {offset}")
        message = decode_record(record)
        if is_closed_topic(message.topic) and message.topic != CHECK_MAX_TIME_TOPIC:
            # A half, say, would reach consumers before its end. Operators do read what was given up.
            raise Refusal(ResponseCode.NO_PERMISSION, f"nobody consumes topic {message.topic}")
        return message

    def _limit(self, call: Call, group: SubscriptionGroupConfig, named: int | None) -> int:
        online = self._clients.consumers.get(group.group_name)
        if online is None:
            return group.retry_max_times if named is None else named
        member = online.members.get(call.peer)
        limit = self._limits.limit(
            group.group_name, online.client_ids, member.client_id if member else "", named
        )
        return group.retry_max_times if limit is None else limit

    def _answer(self, call: Call, stored: Stored) -> Reply | None:
        if self._store.log.confirmed_offset >= stored.end_offset:
            return Reply()

        def answer(outcome: Outcome) -> None:
            confirmed = outcome is Outcome.CONFIRMED
            call.reply(Reply() if confirmed else not_confirmed(outcome, "the copy", "it may come twice"))

        self._when_decided(stored.end_offset, answer)
        return None
