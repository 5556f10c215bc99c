"""Puts a push consumer together, and says what its pulls do differently from those of lite pull consumers."""

from __future__ import annotations

import asyncio

import attrs

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.joining import group_interval
from mqframe.client.consuming.group.queue_fetcher import FetchStrategy, QueueFetcher
from mqframe.client.consuming.group.queue_locks import LockKeeper, QueueLocker
from mqframe.client.consuming.group.rebalance_service import RebalanceService
from mqframe.client.consuming.group.runtime import ConsumerParts, ConsumerRuntime, Listening
from mqframe.client.consuming.push.answering.answers import Answers
from mqframe.client.consuming.push.answering.expired_requests import ExpiredRequests
from mqframe.client.consuming.push.consume_service import ConsumeService
from mqframe.client.consuming.push.failure_log import FailureLog
from mqframe.client.consuming.push.listener_parts import ListenerParts
from mqframe.client.consuming.push.ordered_service import OrderedService
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.client.consuming.push.retry_topic import RetryTopicSubscription, retry_subscription
from mqframe.client.consuming.push.running_info import PushInfo
from mqframe.client.consuming.push.send_back import SendBack
from mqframe.client.consuming.push.watched_call import ListenerHooks
from mqframe.core.consuming.consume_rules import MessageModel
from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.consuming.group_member import GroupMember, MemberKind
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore, ReadFrom


class BroadcastingStrategy(FetchStrategy):
    """Pulls commit nothing on their way; what the filter drops counts as consumed."""

    def skipped(self, queue: MessageQueue, offset: int) -> None:
        """Count it as consumed."""
        self.offsets.store.update(queue, offset, increase_only=True)


class ClusteringStrategy(BroadcastingStrategy):
    """Pulls commit on their way."""

    async def committable(self, queue: MessageQueue) -> int | None:
        """The offset in memory."""
        return await self.offsets.store.read(queue, ReadFrom.MEMORY) or None


def push_runtime(plan: ConsumerPlan, instance: ClientInstance) -> ConsumerRuntime:
    """A push consumer on `instance`, which is started already; not joined yet."""
    offsets = plan.offsets(instance)
    clustering = plan.model is MessageModel.CLUSTERING
    subscriptions = plan.subscriptions
    if clustering:  # in broadcasting, failed messages do not come back
        subscriptions.retry = retry_subscription(
            plan.group, plan.clock.now_ms(), subscriptions.by_topic.get, asyncio.get_running_loop()
        )
    parts = listener_parts(plan, instance, offsets.store)

    def assemble(runtime: ConsumerRuntime) -> ConsumerParts:
        locks = _locks(plan, instance, runtime) if plan.ordered else None
        answers = answers_of(plan, instance)
        service = _service(parts, instance, locks, answers)
        kind = ClusteringStrategy if clustering else BroadcastingStrategy
        strategy = kind(subscriptions.find, offsets, runtime.pull_failed)
        options = plan.settings.fetch_options(plan.group, plan.clock, ordered=plan.ordered)
        queues = QueueFetcher(instance, options, strategy, service, parts.statistics)
        ordered = service if isinstance(service, OrderedService) else None
        rebalance = RebalanceService(plan, instance, queues, offsets, ordered)
        rebalance.collect = service.collect
        return ConsumerParts(
            offsets=offsets,
            queues=queues,
            rebalance=rebalance,
            running_info=PushInfo(plan, runtime, parts.statistics, parts.expired, locks),
            listening=_listening(plan, instance, service, locks, answers),
            statistics=parts.statistics,
            save_seconds=plan.persist_seconds,
        )

    member = GroupMember(MemberKind(listens=True, ordered=plan.ordered, retries=clustering))
    return ConsumerRuntime(plan, instance, member, assemble)


def listener_parts(plan: ConsumerPlan, instance: ClientInstance, store: OffsetStore) -> ListenerParts:
    """What listeners of the member `instance` are called with, and what is known of how they do."""
    clock, settings = plan.clock, plan.settings
    hooks = ListenerHooks(
        hooks=tuple(plan.hooks),
        group=plan.group,
        client_id=instance.client_id,
        broadcasting=plan.model is not MessageModel.CLUSTERING,
        ordered=plan.ordered,
    )
    now_ms = clock.now_ms if settings.answers_requests else None
    return ListenerParts(
        plan,
        plan.caller(plan.group, hooks, clock.monotonic, settings.consume_timeout_seconds, now_ms),
        plan.subscriptions.find,
        store,
        ConsumerStatistics(clock),
        FailureLog(plan.group, clock.monotonic),
        ExpiredRequests(plan.group, clock.monotonic, clock.now_ms),
    )


def _locks(plan: ConsumerPlan, instance: ClientInstance, runtime: ConsumerRuntime) -> LockKeeper | None:
    if plan.model is not MessageModel.CLUSTERING:
        return None
    locker = QueueLocker(plan.group, instance.client_id, instance, runtime.subscription_unknown)
    return LockKeeper(plan.group, locker, plan.clock, runtime.locks_lost, plan.settings.lock_times)


def answers_of(plan: ConsumerPlan, instance: ClientInstance) -> Answers:
    """What tells those who wait for replies."""
    replies = plan.settings.answers_requests
    # In broadcasting another member may have answered what fails here.
    tells = replies and plan.model is MessageModel.CLUSTERING
    return Answers(plan.group, instance, plan.clock, replies=replies, tells=tells)


def _service(
    parts: ListenerParts, instance: ClientInstance, locks: LockKeeper | None, answers: Answers
) -> ConsumeService | OrderedService:
    plan = parts.plan
    if plan.ordered:
        dead = SendBack(plan.group, instance, plan.clock, plan.settings.max_reconsume_times)
        return OrderedService(parts, locks, dead, answers)
    back = SendBack(plan.group, instance, plan.clock, plan.settings.returns_max)
    return ConsumeService(parts, back, answers)


def _listening(
    plan: ConsumerPlan,
    instance: ClientInstance,
    service: ConsumeService | OrderedService,
    locks: LockKeeper | None,
    answers: Answers,
) -> Listening:
    retry_topic = RetryTopicSubscription(plan.group, instance, plan.clock)

    async def stop(seconds: float) -> bool:
        ended = await service.stop(seconds)
        await answers.stop()
        return ended

    listening = Listening(
        start=service.start, stop=stop, find_retry_route=retry_topic.look, stop_retry_route=retry_topic.stop
    )
    if not isinstance(service, OrderedService):
        return listening

    async def read_group_config() -> None:
        interval = await group_interval(instance, plan.group, instance.broker_versions)
        if interval is not None:
            service.retry_after(interval)

    listening = attrs.evolve(listening, read_group_config=read_group_config, release=service.release)
    return listening if locks is None else attrs.evolve(listening, doubt_lock=locks.doubt)
