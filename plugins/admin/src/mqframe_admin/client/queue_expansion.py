"""Administration: queues for a topic whose order is kept (docs/howto/ordered.md)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from msgspec.structs import replace

from mqframe.core.cluster.order_config import parse_order
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.groups import AsyncGroupAdmin
from mqframe_admin.client.topics import AsyncTopicAdmin, topic_request
from mqframe_admin.rules.queue_expansion import QueueExpansion


class AsyncQueueExpansionAdmin:
    """Expansion in three steps, with a wait after each of the first two. Each may be repeated."""

    def __init__(self, calls: AdminCalls, topics: AsyncTopicAdmin, groups: AsyncGroupAdmin) -> None:
        self._calls = calls
        self._topics = topics
        self._groups = groups

    async def begin(self, topic: str, queues: int) -> QueueExpansion:
        """Give `topic` `queues` queues on each of its brokers that producers see, and consumers not yet.

        The fixed queue list of the topic, where an operator made one, grows along. Producers know of it with
        their next look at the route (30 s). Begun before, it goes on. Raises `FixError` when the topic would
        shrink, or a broker of its fixed list is away.
        """
        configs = await self._topics.config(topic)
        for name, config in sorted(configs.items()):
            if queues < config.write_queue_nums:
                raise FixError(
                    f"topic {topic} has {config.write_queue_nums} queues on {name}; "
                    f"it can only grow, not shrink to {queues}"
                )
        made = await self._topics.order_config(topic)
        known = (await self._topics.route(topic)).order_topic_conf
        away = sorted({*made, *parse_order(topic, known or "")} - set(configs))
        if away:
            raise FixError(
                f"brokers {', '.join(away)} of the ordered topic {topic} are away; start them first"
            )
        before = {name: config.read_queue_nums for name, config in configs.items()}
        for name, config in configs.items():
            await self._resize(name, config, config.read_queue_nums, queues)
        if made:
            await self._topics.set_order_config(topic, dict.fromkeys(made, queues))
        return QueueExpansion(topic, queues, before)

    async def mark(self, expansion: QueueExpansion) -> QueueExpansion:
        """Note where the old queues end. To be called when all producers know the new queues."""
        stats = await self._topics.stats(expansion.topic)
        return attrs.evolve(
            expansion, ends={queue: stats[queue].max_offset for queue in expansion.old_queues}
        )

    async def left(self, expansion: QueueExpansion, groups: Sequence[str] | None = None) -> dict[str, int]:
        """Messages in the old queues that each group has yet to consume; `groups`: all of the topic."""
        return expansion.left(await self._reached(expansion, groups))

    async def finish(
        self, expansion: QueueExpansion, groups: Sequence[str] | None = None, *, force: bool = False
    ) -> None:
        """Let consumers see the new queues. Raises `FixError` while the old ones have not drained, unless
        `force`."""
        if not force:
            if expansion.ends is None:
                raise FixError(
                    f"topic {expansion.topic}: mark the ends of the old queues first, "
                    "by admin.queue_expansion.mark"
                )
            left = {group: count for group, count in (await self.left(expansion, groups)).items() if count}
            if left:
                raise FixError(f"topic {expansion.topic}: old queues have not drained, messages left: {left}")
        for name, config in (await self._topics.config(expansion.topic)).items():
            await self._resize(name, config, expansion.queues, expansion.queues)

    async def _reached(
        self, expansion: QueueExpansion, groups: Sequence[str] | None
    ) -> dict[str, dict[MessageQueue, int]]:
        names = await self._topics.groups(expansion.topic) if groups is None else groups
        reached = {}
        for group in names:
            stats = await self._groups.stats(group, expansion.topic)
            reached[group] = {queue: each.consumer_offset for queue, each in stats.items()}
        return reached

    async def _resize(self, broker: str, config: TopicConfig, read: int, write: int) -> None:
        if (config.read_queue_nums, config.write_queue_nums) == (read, write):
            return
        request = topic_request(replace(config, read_queue_nums=read, write_queue_nums=write))
        await self._calls.call_all((await self._calls.masters(broker=broker)).values(), request)
