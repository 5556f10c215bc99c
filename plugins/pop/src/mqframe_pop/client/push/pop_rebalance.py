"""Which topics and brokers a push consumer pops: all of them. Nothing is shared out among the members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.group_offsets import GroupOffsets
from mqframe.client.consuming.group.rebalance_service import RebalanceService
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.consuming.consume_rules import ConsumeFrom
from mqframe.core.messages.message import MessageQueue
from mqframe_pop.client.pop_beginnings import PopBeginnings
from mqframe_pop.client.push.pop_fetcher import PopFetcher, source
from mqframe_pop.client.push.retry_times import RetryTimes


class PopOffsets(GroupOffsets):
    """Brokers keep the offsets; they are told where the group begins, before it pops."""

    def __init__(self, plan: ConsumerPlan, instance: ClientInstance) -> None:
        super().__init__(plan.group, plan.store.make(instance, plan.group), instance, plan.begin)
        self._pop_beginnings = PopBeginnings(plan.group, instance, last=plan.begin[0] is ConsumeFrom.LAST)

    async def begin(self, topics: Iterable[str], *, late: bool = False) -> None:
        """Look where the group begins in those of `topics` that it is new to, or that are; once for each."""
        await self._pop_beginnings.find(topics, late=late)

    async def keep_begun(self, owned: Sequence[MessageQueue]) -> None:
        """Have brokers hold what `begin` found; returns when they do."""
        await self._pop_beginnings.keep()


class PopRebalance(RebalanceService):
    """Looks at the routes of all topics, and has each of their brokers popped."""

    def __init__(
        self,
        plan: ConsumerPlan,
        instance: ClientInstance,
        pops: PopFetcher,
        offsets: GroupOffsets,
        times: RetryTimes,
    ) -> None:
        super().__init__(plan, instance, pops, offsets)
        self._pops = pops
        self._times = times
        self._sources: dict[str, list[MessageQueue]] = {}

    async def rebalance(self) -> None:
        """One round over all topics."""
        await self._times.refresh(self._instance)
        await super().rebalance()
        topics = self._plan.subscriptions.topics()
        self._sources = {topic: self._sources[topic] for topic in topics if topic in self._sources}
        self._pops.pop_from(each for sources in self._sources.values() for each in sources)

    async def _rebalance(self, topic: str) -> bool:
        await self._offsets.begin([topic])
        await self._offsets.keep_begun(())
        route = await self._instance.route(topic)
        if self._missing.pop(topic, None) is not None:
            await self._instance.heartbeat_now()  # its brokers do not know us
        brokers = sorted({queue.broker_name for queue in route.read_queues()})
        self._sources[topic] = [source(topic, name) for name in brokers]
        return True
