"""Statistics of topics, connections of clients, who consumes what (GET_TOPIC_STATS_INFO, …).

Source: AdminBrokerProcessor.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mqframe.core.cluster.client_registry import Member
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Answer, Call, Reply, serves
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.table_reply import table_reply
from mqframe.turns import Pace
from mqframe_admin.bodies import (
    ConnectionBody,
    ConsumerConnection,
    GroupList,
    ProducerConnection,
    ProducerInfo,
    ProducerTable,
    SubscriptionAnswer,
    TopicOffset,
    TopicStatsTable,
)
from mqframe_admin.broker.processor import AdminProcessor
from mqframe_admin.requests import (
    GetAllProducerInfo,
    GetConsumerConnectionList,
    GetProducerConnectionList,
    GetTopicStatsInfo,
    GetTopicTotals,
    QuerySubscriptionByConsumer,
    QueryTopicConsumeByWho,
    QueryTopicsByConsumer,
)

QUEUES_OF_TURN: Final = 512
"""Queues that are looked at in one turn of the loop, of all topics together."""


class StatsProcessor(AdminProcessor):
    """Serves statistics of topics, connections of clients, and who consumes what."""

    @serves(GetTopicStatsInfo)
    async def topic_stats(self, fields: GetTopicStatsInfo, call: Call) -> Reply:
        name = fields.topic
        topic = self._topics.need(name)
        queues = range(max(topic.read_queue_nums, topic.write_queue_nums))
        body = TopicStatsTable(topic_put_tps=self._traffic.put_rate(name))
        return await table_reply(body, "offsetTable", (self._topic_offset(name, each) for each in queues))

    def _topic_offset(self, name: str, queue_id: int) -> tuple[MessageQueue, TopicOffset]:
        high = self._store.queues.max_offset(name, queue_id)
        stored = self._store.queues.store_time_at(name, queue_id, high - 1) if high else None
        return self._queue(name, queue_id), TopicOffset(
            last_update_timestamp=stored or 0,
            max_offset=high,
            min_offset=self._store.queues.min_offset(name, queue_id),
        )

    @serves(GetTopicTotals)
    async def topic_totals(self, fields: GetTopicTotals, call: Call) -> Reply:
        pace, parts = Pace(QUEUES_OF_TURN), []
        for name in list(self._topics):
            topic = self._topics.find(name)
            if topic is None:
                continue  # it went while others were served
            queues = max(topic.read_queue_nums, topic.write_queue_nums)
            stored = held = 0
            for each in range(queues):
                low, high = self._store.queues.bounds(name, each)
                stored, held = stored + high, held + high - low
            parts.append(b"%b:[%d,%d,%d]" % (dumps(name), queues, stored, held))
            await pace.step(queues)
        return Reply(body=b'{"topics":{%b}}' % b",".join(parts))

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
    async def all_producers(self, fields: GetAllProducerInfo, call: Call) -> Reply:
        groups = tuple(self._clients.producers.items())
        return await table_reply(
            ProducerTable(), "data", ((name, _infos(members)) for name, members in groups)
        )

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


def _infos(members: Mapping[Peer, Member[Peer]]) -> list[ProducerInfo]:
    return [
        ProducerInfo(
            client_id=member.client_id,
            language=member.language,
            last_update_timestamp=member.seen_ms,
            version=member.version,
            remote_ip=member.address,
        )
        for member in members.values()
    ]


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
