"""A consumer that has joined its group: its parts, and what they tell each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import attrs

from mqframe.client.beginning import Beginning
from mqframe.client.consume_service import ConsumeService
from mqframe.client.consumer_settings import ConsumerSettings
from mqframe.client.filter_check import check_filters
from mqframe.client.group_interval import group_interval
from mqframe.client.hook_port import AttachedHooks
from mqframe.client.instance import ClientInstance, Member
from mqframe.client.listener import Subscription
from mqframe.client.lock_keeper import LockKeeper
from mqframe.client.member_report import MemberReport
from mqframe.client.offset_saver import OffsetSaver
from mqframe.client.ordered_service import OrderedService
from mqframe.client.pull_service import PullService
from mqframe.client.queue_locks import QueueLocker
from mqframe.client.rebalance_service import RebalanceService
from mqframe.client.returned import RetryRoute, returned_messages
from mqframe.client.send_back import SendBack
from mqframe.client.topic_lookup import look_up
from mqframe.core.consume_rules import ConsumeFrom, MessageModel
from mqframe.core.consumer_statistics import ConsumerStatistics
from mqframe.core.errors import MqframeError
from mqframe.core.message import MessageQueue
from mqframe.core.process_queue import ProcessQueue
from mqframe.core.sampled import SAMPLE_SECONDS
from mqframe.hooks.interfaces import AllocationStrategy, ConsumeHook, OffsetStore, ReadFrom
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock

log = get_logger("client")


@attrs.frozen(kw_only=True)
class ConsumerPlan:
    """What a consumer was made with. `subscriptions` by topic changes while it runs."""

    group: str
    model: MessageModel
    begin: tuple[ConsumeFrom, int]
    settings: ConsumerSettings
    persist_seconds: float
    clock: LoopClock
    strategy: AllocationStrategy
    hooks: Sequence[ConsumeHook]
    make_store: Callable[[ClientInstance], OffsetStore]
    subscriptions: Mapping[str, Subscription]
    ordered: bool = False

    @property
    def returns(self) -> bool:
        """Whether failed messages come back: in broadcasting they do not."""
        return self.model is MessageModel.CLUSTERING


class Membership:
    """Pulls, consumes, balances and commits for one group on `instance`, which is started already."""

    def __init__(self, plan: ConsumerPlan, instance: ClientInstance) -> None:
        self.instance = instance
        self._plan = plan
        self._store = plan.make_store(instance)
        self._returned: Subscription | None = None
        self._retry_route = RetryRoute(plan.group, instance, plan.clock)
        if plan.returns:
            self._returned = returned_messages(
                plan.group, plan.clock.now_ms(), plan.subscriptions.get, asyncio.get_running_loop()
            )
        self.statistics = ConsumerStatistics(plan.clock)
        self._locks: LockKeeper | None = None
        self._ordered = self._order() if plan.ordered else None
        self._service: ConsumeService | OrderedService = self._ordered or ConsumeService(
            plan.group,
            instance.client_id,
            plan.model,
            plan.clock,
            plan.settings,
            plan.hooks,
            self.find,
            self.progress,
            SendBack(plan.group, instance, plan.clock, plan.settings.returns_max),
            self.statistics,
        )
        limits = plan.settings.ordered_queue_limits if plan.ordered else None
        self.pulls = PullService(
            plan.group, instance, plan.clock, plan.settings, self, self.statistics, limits
        )
        self.rebalance = RebalanceService(
            plan.group,
            instance.client_id,
            plan.model,
            instance,
            plan.clock,
            plan.strategy,
            self._store,
            self.pulls,
            self,
            Beginning(instance, self._store, plan.begin),
            plan.settings.rebalance_seconds,
            self._ordered,
        )
        self._persist: Every | None = None
        self._saver = OffsetSaver(self._store)
        self._sample: Every | None = None
        self._attached: AttachedHooks | None = None
        self._report = MemberReport(
            plan,
            instance.client_id,
            self.pulls,
            self._store,
            self.statistics,
            self.persist,
            self.wanted,
            self._locks,
            ordered=plan.ordered,
        )
        self._telling: asyncio.Task[None] | None = None

    async def join(self, member: Member) -> None:
        """Enter the group.

        Raises `RouteError` when no name server answers, `AnswerError` when a broker refuses an expression.
        """
        plan = self._plan
        await self._store.load()
        await look_up(self.instance, plan.group, sorted(plan.subscriptions))
        await check_filters(self.instance, plan.group, plan.subscriptions.values())
        self.instance.register_consumer(plan.group, member)
        # Brokers refuse pulls of a group whose subscription they have not heard of.
        await self.instance.heartbeat_now()
        if self._ordered is not None:
            interval = await group_interval(self.instance, plan.group, self.instance.broker_versions)
            if interval is not None:
                self._ordered.retry_after(interval)
        self._service.start()
        self._persist = Every(plan.clock, plan.persist_seconds, self._persist_now, name="persist offsets")
        self._sample = Every(plan.clock, SAMPLE_SECONDS, self._sample_now, name="statistics")
        self._attached = AttachedHooks(plan.hooks, self.instance, plan.clock, plan.group, "CONSUME")
        self.instance.inspection.add(plan.group, self._report)
        self.rebalance.start()
        self._look_for_retry_route()

    async def leave(self, seconds: float) -> None:
        """Pull nothing more, wait up to `seconds` for running listeners, commit, leave the group."""
        self.instance.inspection.remove(self._plan.group)
        if self._sample is not None:
            self._sample.stop()
        await self._retry_route.stop()
        await self.rebalance.stop()
        await self.pulls.stop()
        if not await self._service.stop(seconds):
            log.warning("listeners still run after the time for stopping", group=self._plan.group)
        if self._persist is not None:
            self._persist.stop()
        try:
            await self._persist_now()
        except MqframeError as problem:
            log.error("progress was not committed", group=self._plan.group, reason=str(problem))
        queues = self.pulls.queues
        for queue in queues:
            self.pulls.give_up(queue)
        if self._ordered is not None:
            await self._ordered.release(queues)
        if self._attached is not None:
            await self._attached.stop()
        if self._telling is not None:
            self._telling.cancel()
        await self.instance.unregister_consumer(self._plan.group)
        await self._store.close()

    def _order(self) -> OrderedService:
        plan, instance = self._plan, self.instance
        if plan.model is MessageModel.CLUSTERING:
            locker = QueueLocker(plan.group, instance.client_id, instance, self._tell_soon)
            self._locks = LockKeeper(plan.group, locker, plan.clock, self.lock_lost)
        return OrderedService(
            plan.group,
            instance.client_id,
            plan.clock,
            plan.settings,
            plan.hooks,
            self.find,
            self.progress,
            self._locks,
            SendBack(plan.group, instance, plan.clock, plan.settings.max_reconsume_times),
            self.statistics,
        )

    def subscriptions_changed(self) -> None:
        """Topics came or went, or are wanted by other tags."""
        self._tell_soon()
        self.rebalance.soon()

    # What the pull service needs

    def find(self, topic: str) -> Subscription | None:
        """The subscription of `topic`."""
        found = self._plan.subscriptions.get(topic)
        if found is None and self._returned is not None and topic == self._returned.topic:
            return self._returned
        return found

    def arrived(self, held: ProcessQueue) -> None:
        """Messages wait in `held`."""
        self._service.submit(held)

    def pulled_past(self, queue: MessageQueue, offset: int) -> None:
        """Nothing before `offset` is left to be consumed."""
        self._store.update(queue, offset, increase_only=True)

    async def committable(self, queue: MessageQueue) -> int | None:
        """The offset that may ride on a pull: what the store remembers, in clustering only."""
        if self._plan.model is not MessageModel.CLUSTERING:
            return None
        return await self._store.read(queue, ReadFrom.MEMORY) or None

    async def correct(self, queue: MessageQueue, offset: int) -> None:
        """The offset of `queue` did not exist; remember `offset` instead, durably."""
        self._store.update(queue, offset, increase_only=False)
        await self._persist_now()

    def subscription_unknown(self) -> None:
        """A broker does not know the group's subscription."""
        self._tell_soon()

    def broker_lost(self, queue: MessageQueue) -> None:
        """The connection to the broker of `queue` broke, or none could be made."""
        if self._locks is not None:
            self._locks.doubt(queue)

    # What the other parts need

    def lock_lost(self, queues: list[MessageQueue]) -> None:
        """Another member has the lock of `queues`, and how far the group is in them is its to say."""
        for queue in queues:
            self.pulls.give_up(queue)
            self._store.forget(queue)
        self.rebalance.soon()

    def progress(self, held: ProcessQueue, offset: int) -> None:
        """Everything before `offset` of `held`, which is still owned, was done with."""
        self._store.update(held.queue, offset, increase_only=True)
        self.pulls.settled(held.queue)

    def topics(self) -> Sequence[str]:
        """The topics that are subscribed, sorted, the retry topic among them."""
        return sorted(each.topic for each in self.wanted())

    def wanted(self) -> list[Subscription]:
        """What brokers are told that the group wants."""
        own = list(self._plan.subscriptions.values())
        return own if self._returned is None else [*own, self._returned]

    def routes_changed(self) -> None:
        """Queues or brokers of a topic in use changed."""
        self.rebalance.soon()
        self._look_for_retry_route()

    async def told(self) -> None:
        """Tell brokers what the group wants, and return once they know."""
        await self.instance.heartbeat_now()

    async def persist(self, queues: Sequence[MessageQueue]) -> None:
        """Make durable how far we are in `queues`. One at a time, and never broken off half-way."""
        await self._saver.save(queues)

    def _sample_now(self) -> None:
        self.statistics.keep(self.topics())
        self.statistics.sample()

    def _look_for_retry_route(self) -> None:
        if self._returned is not None:
            self._retry_route.look(sorted(self._plan.subscriptions))

    async def _persist_now(self) -> None:
        queues = self.pulls.queues
        if queues:
            await self.persist(queues)

    def _tell_soon(self) -> None:
        if self._telling is None or self._telling.done():
            self._telling = asyncio.ensure_future(self.instance.heartbeat_now())
