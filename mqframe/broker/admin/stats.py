"""Who is there, and how far they are: 202, 203, 204, 208, 300, 328, 343, 345.

Source: AdminBrokerProcessor.java.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.broker.identity import Identity
from mqframe.broker.part import Part
from mqframe.broker.progress import Progress
from mqframe.broker.statistics import Statistics
from mqframe.core.bodies import (
    ConnectionBody,
    ConsumerConnection,
    ConsumeStats,
    GroupList,
    OffsetWrapper,
    ProducerConnection,
    ProducerInfo,
    ProducerTable,
    SubscriptionAnswer,
    TopicList,
    TopicOffset,
    TopicStatsTable,
)
from mqframe.core.client_registry import ClientRegistry, Member
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.loosejson import dumps
from mqframe.core.message import MessageQueue
from mqframe.core.offset_table import OffsetTable
from mqframe.core.requests.admin import (
    GetConsumerConnectionList,
    GetConsumeStats,
    GetProducerConnectionList,
    GetTopicStatsInfo,
    QuerySubscriptionByConsumer,
    QueryTopicConsumeByWho,
    QueryTopicsByConsumer,
)
from mqframe.core.topic_table import TopicTable
from mqframe.net.call import Call, Handler, Reply
from mqframe.net.peer import Peer
from mqframe.store.message_store import MessageStore


class StatsProcessor(Part):
    """Answers operators' questions about topics, groups and members."""

    def __init__(
        self,
        store: MessageStore,
        topics: TopicTable,
        offsets: OffsetTable,
        clients: ClientRegistry[Peer],
        identity: Identity,
        statistics: Statistics,
        progress: Progress,
    ) -> None:
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._clients = clients
        self._identity = identity
        self._statistics = statistics
        self._progress = progress

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {
            202: self._topic_stats,
            203: self._consumers,
            204: self._producers,
            208: self._consume_stats,
            300: self._groups_of,
            328: self._all_producers,
            343: self._topics_of,
            345: self._subscription,
        }

    def _queue(self, topic: str, queue_id: int) -> MessageQueue:
        return MessageQueue(topic, self._identity.name, queue_id)

    def _topic_stats(self, call: Call) -> Reply:
        name = call.fields(GetTopicStatsInfo).topic
        topic = self._topics.find(name)
        if topic is None:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {name} does not exist on this broker")
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
        return Reply(body=dumps(TopicStatsTable(offset_table=table, topic_put_tps=rate)))

    def _consumers(self, call: Call) -> Reply:
        name = call.fields(GetConsumerConnectionList).consumer_group
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
        return Reply(body=dumps(body))

    def _producers(self, call: Call) -> Reply:
        name = call.fields(GetProducerConnectionList).producer_group
        members = self._clients.producers.get(name)
        if members is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"producer group {name} has no member here")
        return Reply(body=dumps(ProducerConnection(connection_set=_connections(members.values()))))

    def _all_producers(self, call: Call) -> Reply:
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
        return Reply(body=dumps(ProducerTable(data=data)))

    def _consume_stats(self, call: Call) -> Reply:
        fields = call.fields(GetConsumeStats)
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
        return Reply(body=dumps(ConsumeStats(consume_tps=round(rate, 2), offset_table=table)))

    def _known_topics(self, group: str) -> list[str]:
        # A group that subscribes but has stored nothing yet has a lag, too.
        found = list(self._offsets.topics_of(group))
        members = self._clients.consumers.get(group)
        if members is not None:
            found += [topic for topic in members.subscriptions if topic not in found]
        return found

    def _groups_of(self, call: Call) -> Reply:
        topic = call.fields(QueryTopicConsumeByWho).topic
        names = dict.fromkeys([*self._clients.groups_of(topic), *self._offsets.groups_of(topic)])
        return Reply(body=dumps(GroupList(group_list=list(names))))

    def _topics_of(self, call: Call) -> Reply:
        topics = self._offsets.topics_of(call.fields(QueryTopicsByConsumer).group)
        return Reply(body=dumps(TopicList(broker_addr=self._identity.address, topic_list=topics)))

    def _subscription(self, call: Call) -> Reply:
        fields = call.fields(QuerySubscriptionByConsumer)
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
