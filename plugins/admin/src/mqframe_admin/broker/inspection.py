"""Inspection by operators: time spans, statistics, queue entries, forbidden topics, and clean-up at once.

Source: AdminBrokerProcessor.java.
"""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumeStats, QueueBody
from mqframe.core.consuming.progress import Progress
from mqframe.core.errors import Refusal
from mqframe.core.measuring.sampled import SampleSnapshot
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import BrokerPort
from mqframe.hooks.table_reply import table_reply
from mqframe.turns import Pace
from mqframe_admin.bodies import (
    BrokerStatsData,
    ConsumeStatsList,
    ConsumeTimeSpans,
    GroupForbidden,
    QueueEntries,
    QueueEntry,
    QueueTimeSpan,
    StatsItem,
)
from mqframe_admin.broker.processor import AdminProcessor
from mqframe_admin.requests import (
    CleanExpiredConsumeQueue,
    CleanUnusedTopic,
    DeleteExpiredCommitLog,
    GetBrokerConsumeStats,
    GetEarliestMsgStoretime,
    QueryConsumeQueue,
    QueryConsumeTimeSpan,
    TimestampAnswer,
    UpdateAndGetGroupForbidden,
    ViewBrokerStatsData,
)

ENTRIES_MAX: Final = 1024
"""Most queue entries in one answer."""
QUEUES_OF_TURN: Final = 512
"""Queues whose progress is looked at in one turn of the loop."""
TOPICS_OF_TURN: Final = 16
"""Topics that are looked at for clean-up in one turn of the loop."""


class InspectionProcessor(AdminProcessor):
    """Serves the queries by which operators look for faults."""

    def __init__(self, port: BrokerPort) -> None:
        super().__init__(port)
        self._files = port.administration.store
        self._progress = Progress(self._store.queues, self._offsets)

    # Queues

    @serves(GetEarliestMsgStoretime)
    def earliest_store_time(self, fields: GetEarliestMsgStoretime, call: Call) -> TimestampAnswer:
        topic, queue_id = fields.topic, fields.queue_id
        stored = self._store.queues.store_time_at(
            topic, queue_id, self._store.queues.min_offset(topic, queue_id)
        )
        return TimestampAnswer(-1 if stored is None else stored)

    @serves(QueryConsumeTimeSpan)
    async def time_spans(self, fields: QueryConsumeTimeSpan, call: Call) -> Reply:
        name, group, count = fields.topic, fields.group, self._topics.need(fields.topic).write_queue_nums
        spans = ((None, self._time_span(name, queue_id, group)) for queue_id in range(count))
        return await table_reply(ConsumeTimeSpans(), "consumeTimeSpanSet", spans)

    def _time_span(self, topic: str, queue_id: int, group: str) -> QueueTimeSpan:
        low, high = self._store.queues.bounds(topic, queue_id)
        oldest = self._stored(topic, queue_id, low)
        offset = self._offsets.query(group, topic, queue_id) or 0
        consumed = self._stored(topic, queue_id, offset - 1) if offset > 0 else oldest
        delay = 0
        if offset < high:
            waiting_since = self._stored(topic, queue_id, max(offset, low))
            delay = max(0, self._clock.now_ms() - waiting_since) if waiting_since >= 0 else 0
        return QueueTimeSpan(
            message_queue=QueueBody(self._identity.name, queue_id, topic),
            consume_time_stamp=consumed,
            delay_time=delay,
            max_time_stamp=self._stored(topic, queue_id, high - 1),
            min_time_stamp=oldest,
        )

    def _stored(self, topic: str, queue_id: int, offset: int) -> int:
        found = self._store.queues.store_time_at(topic, queue_id, offset) if offset >= 0 else None
        return -1 if found is None else found

    @serves(QueryConsumeQueue)
    def entries(self, fields: QueryConsumeQueue, call: Call) -> Reply:
        name, queue_id = fields.topic, fields.queue_id
        topic = self._topics.need(name)
        if not 0 <= queue_id < max(topic.read_queue_nums, topic.write_queue_nums):
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"queue {queue_id} of topic {name} does not exist")
        body = QueueEntries(
            max_queue_index=self._store.queues.max_offset(name, queue_id),
            min_queue_index=self._store.queues.min_offset(name, queue_id),
        )
        if fields.consumer_group:
            group = self._clients.consumers.get(fields.consumer_group)
            found = None if group is None else group.subscriptions.get(name)
            if found is None:
                body.filter_data = f"{fields.consumer_group}@{name} is not online!"
            else:
                body.subscription_data = found.data
                body.filter_data = "null"  # what an expression other than tags was compiled to
        remark = None
        if body.min_queue_index <= fields.index < body.max_queue_index:
            count = min(fields.count, ENTRIES_MAX, body.max_queue_index - fields.index)
            entries = self._store.reads.entries(name, queue_id, fields.index, max(count, 0))
            body.queue_data = [QueueEntry(*entry) for entry in entries]
        else:
            remark = f"index {fields.index} of {queue_id}@{name} does not exist"
        return Reply(remark=remark, body=dumps(body))

    # Groups

    @serves(GetBrokerConsumeStats)
    async def all_groups(self, fields: GetBrokerConsumeStats, call: Call) -> Reply:
        ordered_only = fields.is_order
        listed: list[bytes] = []
        behind = in_flight = 0
        pace = Pace(QUEUES_OF_TURN)
        for group in self._groups:
            await pace.step()
            stats = []
            for name in self._offsets.topics_of(group):
                topic = self._topics.find(name)
                if topic is None or (ordered_only and not topic.order) or self._given_up(group, name):
                    continue
                progress, queues = self._progress, range(topic.write_queue_nums)
                broker = self._identity.name
                table = {
                    MessageQueue(name, broker, each): progress.of_queue(group, name, each) for each in queues
                }
                rate = self._traffic.get_rate(group, name)
                stats.append(dumps(ConsumeStats(consume_tps=rate, offset_table=table)))
                behind += sum(each.broker_offset - each.consumer_offset for each in table.values())
                in_flight += sum(each.pull_offset - each.consumer_offset for each in table.values())
                await pace.step(len(table))
            listed.append(b"{%b:[%b]}" % (dumps(group), b",".join(stats)))
        before = dumps(ConsumeStatsList(self._identity.address, [], behind, in_flight))
        head, name_of_list, tail = before.partition(b'"consumeStatsList":[')
        return Reply(body=[head + name_of_list, b",".join(listed), tail])

    def _given_up(self, group: str, topic: str) -> bool:
        """Whether the members of `group` that are online do not want `topic`."""
        members = self._clients.consumers.get(group)
        return members is not None and bool(members.subscriptions) and topic not in members.subscriptions

    @serves(UpdateAndGetGroupForbidden)
    def forbidden(self, fields: UpdateAndGetGroupForbidden, call: Call) -> Reply:
        if fields.readable is not None:
            self._groups.forbid(fields.group, fields.topic, not fields.readable)
        readable = self._groups.may_read(fields.group, fields.topic)
        return Reply(remark="", body=dumps(GroupForbidden(fields.group, readable, fields.topic)))

    # The broker

    @serves(ViewBrokerStatsData)
    def statistic(self, fields: ViewBrokerStatsData, call: Call) -> BrokerStatsData:
        found = self._traffic.count(fields.stats_name, fields.stats_key)
        if found is None:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"there is no statistic {fields.stats_name} of {fields.stats_key}",
            )
        now = self._clock.monotonic()
        return BrokerStatsData(_item(found.day(now)), _item(found.hour(now)), _item(found.minute(now)))

    @serves(CleanExpiredConsumeQueue, DeleteExpiredCommitLog)
    def clean(self, fields: CleanExpiredConsumeQueue | DeleteExpiredCommitLog, call: Call) -> Reply:
        self._files.clean()
        return Reply()

    @serves(CleanUnusedTopic)
    async def clean_unused(self, fields: CleanUnusedTopic, call: Call) -> Reply:
        pace = Pace(TOPICS_OF_TURN)
        for topic in sorted(self._files.topics()):
            await pace.step()
            if topic not in self._topics and not self._topics.is_system(topic):
                await self._files.delete_queues(topic)
        return Reply()


def _item(snapshot: SampleSnapshot) -> StatsItem:
    return StatsItem(avgpt=round(snapshot.per_call, 2), sum=snapshot.sum, tps=round(snapshot.per_second, 2))
