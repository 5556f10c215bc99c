"""How far groups are, as members and slaves ask for it (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.bodies import ConsumerOffsetTable, ConsumeStats, OffsetWrapper
from mqframe.core.consuming.progress import Progress
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.admin import GetAllConsumerOffset, GetConsumeStats
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.hooks.table_reply import table_reply


class ProgressProcessor(Processor):
    """Serves the progress of one group, by which members share queues, and all stored offsets."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._progress = Progress(self._store.queues, self._offsets)

    @serves(GetAllConsumerOffset)
    async def all_offsets(self, fields: GetAllConsumerOffset, call: Call) -> Reply:
        body = ConsumerOffsetTable(data_version=self._offsets.next_version())
        return await table_reply(body, "offsetTable", self._offsets.committed())

    @serves(GetConsumeStats)
    async def consume_stats(self, fields: GetConsumeStats, call: Call) -> Reply:
        group = fields.consumer_group
        names = list(dict.fromkeys(name for name in (fields.topic_list or "").split(";") if name))
        if not names:
            names = [fields.topic] if fields.topic else self._known_topics(group)
        topics = [topic for topic in map(self._topics.find, names) if topic is not None]
        rate = sum(self._statistics.get_rate(group, str(topic.topic_name)) for topic in topics)
        body = ConsumeStats(consume_tps=round(rate, 2))
        return await table_reply(body, "offsetTable", self._offsets_of(group, topics))

    def _offsets_of(
        self, group: str, topics: Iterable[TopicConfig]
    ) -> Iterator[tuple[MessageQueue, OffsetWrapper]]:
        for topic in topics:
            name = str(topic.topic_name)
            for queue_id in range(topic.read_queue_nums):
                yield self._queue(name, queue_id), self._progress.of_queue(group, name, queue_id)

    def _known_topics(self, group: str) -> list[str]:
        # A group that subscribes but has stored nothing yet has a lag, too.
        members = self._clients.consumers.get(group)
        subscribed = () if members is None else members.subscriptions
        return list(dict.fromkeys([*self._offsets.topics_of(group), *subscribed]))
