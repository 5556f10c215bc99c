"""Administration: queues for a topic whose order is kept (docs/howto/ordered.md)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.client.admin_groups import GroupAdmin
from mqframe.client.admin_topics import TopicAdmin
from mqframe.core.bodies import TopicConfig
from mqframe.core.errors import FixError
from mqframe.core.message import MessageQueue
from mqframe.core.order_config import parse_order
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.topic_growth import TopicGrowth


class GrowthAdmin(TopicAdmin, GroupAdmin):
    """Growth in three steps, with a wait after each of the first two. Each may be repeated."""

    async def begin_growth(self, topic: str, queues: int) -> TopicGrowth:
        """Give `topic` `queues` queues on each of its brokers that producers see, and consumers not yet.

        The fixed queue list of the topic, where an operator made one, grows along. Producers know of it with
        their next look at the route (30 s). Begun before, it goes on. Raises `FixError` when the topic would
        shrink, or a broker of its fixed list is away.
        """
        configs = await self.topic_config(topic)
        for name, config in sorted(configs.items()):
            if queues < config.write_queue_nums:
                raise FixError(
                    f"topic {topic} has {config.write_queue_nums} queues on {name}; "
                    f"it can only grow, not shrink to {queues}"
                )
        made = await self.order_config(topic)
        known = (await self.topic_route(topic)).order_topic_conf
        away = sorted({*made, *parse_order(topic, known or "")} - set(configs))
        if away:
            raise FixError(
                f"brokers {', '.join(away)} of the ordered topic {topic} are away; start them first"
            )
        before = {name: config.read_queue_nums for name, config in configs.items()}
        for name, config in configs.items():
            await self._resize(name, config, config.read_queue_nums, queues)
        if made:
            await self.set_order_config(topic, dict.fromkeys(made, queues))
        return TopicGrowth(topic, queues, before)

    async def mark_growth(self, growth: TopicGrowth) -> TopicGrowth:
        """Note where the old queues end. To be called when all producers know the new queues."""
        stats = await self.topic_stats(growth.topic)
        return attrs.evolve(growth, ends={queue: stats[queue].max_offset for queue in growth.old_queues})

    async def growth_left(self, growth: TopicGrowth, groups: Sequence[str] | None = None) -> dict[str, int]:
        """Messages in the old queues that each group has yet to consume; `groups`: all of the topic."""
        return growth.left(await self._reached(growth, groups))

    async def finish_growth(
        self, growth: TopicGrowth, groups: Sequence[str] | None = None, *, force: bool = False
    ) -> None:
        """Let consumers see the new queues. Raises `FixError` while the old ones have not drained, unless
        `force`."""
        if not force:
            if growth.ends is None:
                raise FixError(f"topic {growth.topic}: mark the ends of the old queues first (mark_growth)")
            left = {
                group: count for group, count in (await self.growth_left(growth, groups)).items() if count
            }
            if left:
                raise FixError(f"topic {growth.topic}: old queues have not drained, messages left: {left}")
        for name, config in (await self.topic_config(growth.topic)).items():
            await self._resize(name, config, growth.queues, growth.queues)

    async def _reached(
        self, growth: TopicGrowth, groups: Sequence[str] | None
    ) -> dict[str, dict[MessageQueue, int]]:
        names = await self.groups_of_topic(growth.topic) if groups is None else groups
        reached = {}
        for group in names:
            stats = await self.consume_stats(group, growth.topic)
            reached[group] = {queue: each.consumer_offset for queue, each in stats.items()}
        return reached

    async def _resize(self, broker: str, config: TopicConfig, read: int, write: int) -> None:
        if (config.read_queue_nums, config.write_queue_nums) == (read, write):
            return
        request = UpdateAndCreateTopic(
            str(config.topic_name),
            read,
            write,
            config.perm,
            topic_filter_type=config.topic_filter_type,
            topic_sys_flag=config.topic_sys_flag,
            order=config.order,
        )
        await self._call_all(list((await self.masters(broker=broker)).values()), request)
