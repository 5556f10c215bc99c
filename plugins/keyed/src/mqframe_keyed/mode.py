"""The mode "keyed" of push consumers: what it takes, what it refuses, how such a consumer is put together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import attrs

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.joining import group_interval
from mqframe.client.consuming.group.queue_fetcher import QueueFetcher
from mqframe.client.consuming.group.queue_locks import LockKeeper, QueueLocker
from mqframe.client.consuming.group.rebalance_service import RebalanceService
from mqframe.client.consuming.group.runtime import ConsumerParts, ConsumerRuntime, Listening
from mqframe.client.consuming.push.answering.answers import Answers
from mqframe.client.consuming.push.assembly import (
    BroadcastingStrategy,
    ClusteringStrategy,
    answers_of,
    listener_parts,
)
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.client.consuming.push.retry_topic import RetryTopicSubscription, retry_subscription
from mqframe.client.consuming.push.running_info import PushInfo
from mqframe.client.consuming.push.send_back import SendBack
from mqframe.core.consuming.consume_rules import MessageModel
from mqframe.core.consuming.group_member import GroupMember, MemberKind
from mqframe.core.errors import FixError
from mqframe.hooks.options import build
from mqframe_keyed.failures import FailedCalls
from mqframe_keyed.keys import KeyedOptions, key_function
from mqframe_keyed.service import KeyedService


class KeyedMode:
    """Mode "keyed" for the consumer of `plan`.

    `sharing`: arguments of the consumer about queues and offsets, which count as without the mode; `options`:
    a table or `KeyedOptions`. Raises `FixError` for what makes no sense in it, and `SettingError` for wrong
    options.
    """

    Options = KeyedOptions

    def __init__(self, plan: ConsumerPlan, sharing: Mapping[str, object], options: object) -> None:
        if plan.ordered:
            raise FixError('ordered makes no sense with mode "keyed", whose order is that of each key')
        self._options: KeyedOptions = build("keyed", type(self), options)
        key_function(self._options)  # what is wrong with it is told before anything is started
        # It takes the locks of queues, and tells hooks and operators that there is an order.
        self.plan = attrs.evolve(plan, ordered=True)

    def runtime(self, instance: ClientInstance) -> ConsumerRuntime:
        """The consumer on `instance`, which is started already; not joined yet."""
        plan, options = self.plan, self._options
        offsets = plan.offsets(instance)
        clustering = plan.model is MessageModel.CLUSTERING
        subscriptions = plan.subscriptions
        if clustering:  # what other modes of the group sent back is consumed, too
            subscriptions.retry = retry_subscription(
                plan.group, plan.clock.now_ms(), subscriptions.by_topic.get, asyncio.get_running_loop()
            )
        parts = listener_parts(plan, instance, offsets.store)

        def assemble(runtime: ConsumerRuntime) -> ConsumerParts:
            locks = _locks(plan, instance, runtime) if clustering else None
            answers = answers_of(plan, instance)
            dead = SendBack(plan.group, instance, plan.clock, plan.settings.returns_max)
            failed = FailedCalls(parts, dead, answers)
            service = KeyedService(parts, options, locks, failed, answers)
            kind = ClusteringStrategy if clustering else BroadcastingStrategy
            strategy = kind(subscriptions.find, offsets, runtime.pull_failed)
            # A key that waits keeps no others from going on, however far ahead: what is held is bounded.
            fetching = plan.settings.fetch_options(plan.group, plan.clock, ordered=True)
            queues = QueueFetcher(instance, fetching, strategy, service, parts.statistics)
            return ConsumerParts(
                offsets=offsets,
                queues=queues,
                rebalance=RebalanceService(plan, instance, queues, offsets, service),
                running_info=KeyedInfo(plan, runtime, parts.statistics, parts.expired, locks),
                listening=_listening(plan, instance, service, (locks, failed, answers)),
                statistics=parts.statistics,
                save_seconds=plan.persist_seconds,
            )

        member = GroupMember(MemberKind(listens=True, ordered=True, retries=clustering))
        return ConsumerRuntime(plan, instance, member, assemble)


class KeyedInfo(PushInfo):
    """What operators see of it."""

    def properties(self) -> dict[str, str]:
        """Properties beside those of every consumer."""
        return {**super().properties(), "mode": "keyed"}


def _locks(plan: ConsumerPlan, instance: ClientInstance, runtime: ConsumerRuntime) -> LockKeeper:
    locker = QueueLocker(plan.group, instance.client_id, instance, runtime.subscription_unknown)
    return LockKeeper(plan.group, locker, plan.clock, runtime.locks_lost, plan.settings.lock_times)


def _listening(
    plan: ConsumerPlan,
    instance: ClientInstance,
    service: KeyedService,
    helpers: tuple[LockKeeper | None, FailedCalls, Answers],
) -> Listening:
    locks, failed, answers = helpers
    retry_topic = RetryTopicSubscription(plan.group, instance, plan.clock)

    async def stop(seconds: float) -> bool:
        ended = await service.stop(seconds)
        await answers.stop()
        return ended

    async def read_group_config() -> None:
        interval = await group_interval(instance, plan.group, instance.broker_versions)
        if interval is not None:
            failed.suspend_millis = interval

    listening = Listening(
        read_group_config=read_group_config,
        start=service.start,
        stop=stop,
        find_retry_route=retry_topic.look,
        stop_retry_route=retry_topic.stop,
        release=service.release,
    )
    return listening if locks is None else attrs.evolve(listening, doubt_lock=locks.doubt)
