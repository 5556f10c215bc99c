"""Statistics of topics, progress of groups, connections of clients (GET_TOPIC_STATS_INFO, …).

Source: AdminBrokerProcessor.java.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.broker.admin.progress import Progress
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.client_bodies import (
    ConnectionBody,
    ConsumerConnection,
    ProducerConnection,
    ProducerInfo,
    ProducerTable,
)
from mqframe.core.cluster.client_registry import Member
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper, TopicOffset, TopicStatsTable
from mqframe.core.consuming.group_config import GroupList
from mqframe.core.errors import Refusal
from mqframe.core.filtering.bodies import SubscriptionAnswer
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.admin import (
    GetAllProducerInfo,
    GetConsumerConnectionList,
    GetConsumeStats,
    GetProducerConnectionList,
    GetTopicStatsInfo,
    QuerySubscriptionByConsumer,
    QueryTopicConsumeByWho,
    QueryTopicsByConsumer,
)
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Answer, Call, Reply, serves
from mqframe.core.wire.loose_json import dumps


class StatsProcessor(Processor):
    """Serves statistics of topics, progress of groups, and connections of clients."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._progress = Progress(self._store, self._offsets, self._identity)

    @serves(GetTopicStatsInfo)
    def topic_stats(self, fields: GetTopicStatsInfo, call: Call) -> TopicStatsTable:
        name = fields.topic
        topic = self._topics.need(name)
        table: dict[MessageQueue, TopicOffset] = {}
        for queue_id in range(max(topic.read_queue_nums, topic.write_queue_nums)):
            high = self._store.queue_max(name, queue_id)
            stored = self._store.store_time_at(name, queue_id, high - 1) if high else None
            table[self._queue(name, queue_id)] = TopicOffset(
                last_update_timestamp=stored or 0,
                max_offset=high,
                min_offset=self._store.queue_min(name, queue_id),
            )
        rate = self._statistics.put_rate(name)
        return TopicStatsTable(offset_table=table, topic_put_tps=rate)

    @serves(GetConsumerConnectionList)
    def consumers(self, fields: GetConsumerConnectionList, call: Call) -> Answer:
        name = fields.consumer_group
        group = self._clients.consumers.get(name)
        if group is None:
            raise Refusal(ResponseCode.CONSUMER_NOT_ONLINE, f"consumer group {name} has no member here")
        body = ConsumerConnection(
            connection_set=_connections(group.members.values()),
            consume_from_where=group.from_where,
            consume_type=group.consume_type,
            message_model=group.message_model,
            subscription_table={topic: item.data for topic, item in group.subscriptions.items()},
        )
        return body

    @serves(GetProducerConnectionList)
    def producers(self, fields: GetProducerConnectionList, call: Call) -> ProducerConnection:
        name = fields.producer_group
        members = self._clients.producers.get(name)
        if members is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"producer group {name} has no member here")
        return ProducerConnection(connection_set=_connections(members.values()))

    @serves(GetAllProducerInfo)
    def all_producers(self, fields: GetAllProducerInfo, call: Call) -> ProducerTable:
        data = {
            group: [
                ProducerInfo(
                    client_id=member.client_id,
                    language=member.language,
                    last_update_timestamp=member.seen_ms,
                    version=member.version,
                    remote_ip=member.address,
                )
                for member in members.values()
            ]
            for group, members in self._clients.producers.items()
        }
        return ProducerTable(data=data)

    @serves(GetConsumeStats)
    def consume_stats(self, fields: GetConsumeStats, call: Call) -> ConsumeStats:
        group = fields.consumer_group
        names = [name for name in (fields.topic_list or "").split(";") if name]
        if not names:
            names = [fields.topic] if fields.topic else self._known_topics(group)
        table: dict[MessageQueue, OffsetWrapper] = {}
        rate = 0.0
        for name in names:
            topic = self._topics.find(name)
            if topic is None:
                continue
            table |= self._progress.of_topic(group, name, topic.read_queue_nums)
            rate += self._statistics.get_rate(group, name)
        return ConsumeStats(consume_tps=round(rate, 2), offset_table=table)

    def _known_topics(self, group: str) -> list[str]:
        # A group that subscribes but has stored nothing yet has a lag, too.
        found = list(self._offsets.topics_of(group))
        members = self._clients.consumers.get(group)
        if members is not None:
            found += [topic for topic in members.subscriptions if topic not in found]
        return found

    @serves(QueryTopicConsumeByWho)
    def groups_of(self, fields: QueryTopicConsumeByWho, call: Call) -> GroupList:
        topic = fields.topic
        names = dict.fromkeys([*self._clients.groups_of(topic), *self._offsets.groups_of(topic)])
        return GroupList(group_list=list(names))

    @serves(QueryTopicsByConsumer)
    def topics_of(self, fields: QueryTopicsByConsumer, call: Call) -> TopicList:
        topics = self._offsets.topics_of(fields.group)
        return TopicList(broker_addr=self._identity.address, topic_list=topics)

    @serves(QuerySubscriptionByConsumer)
    def subscription(self, fields: QuerySubscriptionByConsumer, call: Call) -> Reply:
        group = self._clients.consumers.get(fields.group)
        found = group.subscriptions.get(fields.topic) if group is not None else None
        data = found.data if found is not None else None
        return Reply(
            body=dumps(SubscriptionAnswer(group=fields.group, topic=fields.topic, subscription_data=data))
        )


def _connections(members: Iterable[Member[Peer]]) -> list[ConnectionBody]:
    return [
        ConnectionBody(
            client_addr=member.address,
            client_id=member.client_id,
            language=member.language,
            version=member.version,
        )
        for member in members
    ]
