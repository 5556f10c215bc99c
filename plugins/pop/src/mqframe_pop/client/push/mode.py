"""The mode "pop" of push consumers: what it takes, what it refuses, how such a consumer is put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.allocation import AllocationChoice
from mqframe.client.consuming.group.plan import nothing_to_wait_for
from mqframe.client.consuming.group.queue_fetcher import FetchStrategy
from mqframe.client.consuming.group.runtime import ConsumerParts, ConsumerRuntime, Listening
from mqframe.client.consuming.push.answering.answers import Answers
from mqframe.client.consuming.push.assembly import answers_of, listener_parts
from mqframe.client.consuming.push.consume_service import ConsumeService
from mqframe.client.consuming.push.listener_parts import ListenerParts
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.client.consuming.push.running_info import PushInfo
from mqframe.core.consuming.consume_rules import ConsumeFrom, MessageModel
from mqframe.core.consuming.group_member import GroupMember, MemberKind
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.options import build
from mqframe_pop.client.in_hand import MessagesInHand
from mqframe_pop.client.pop_calls import PopCalls
from mqframe_pop.client.push.pop_back import PopBack
from mqframe_pop.client.push.pop_fetcher import PopFetcher, PopParts
from mqframe_pop.client.push.pop_rebalance import PopOffsets, PopRebalance
from mqframe_pop.client.push.pop_rows import OrderedPopRows, PopRows
from mqframe_pop.client.push.retry_times import RetryTimes


@attrs.frozen
class PopOptions:
    """How a push consumer pops."""

    invisible_seconds: float = attrs.field(
        default=60.0,
        metadata={
            "doc": "for how long what is popped is hidden from other members, s; renewed while a listener"
            " works, so it is how late a message comes again whose process died"
        },
    )

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.invisible_seconds <= 3600:
            raise SettingError(f"invisible_seconds = {self.invisible_seconds:g}: must be within 1 and 3600")


class NoAllocation(AllocationChoice):
    """There is nothing to share out."""

    def change(self, choice: object, options: object = None, plugins: PluginManager | None = None) -> None:
        """Raises `FixError`."""
        raise FixError('a consumer with mode "pop" shares no queues out, so it has no allocation strategy')


class PopMode:
    """Mode "pop" for the consumer of `plan`. Raises `FixError` for what makes no sense in it.

    `sharing`: arguments of the consumer about queues and offsets, which are the broker's matter here.
    """

    Options = PopOptions

    def __init__(self, plan: ConsumerPlan, sharing: Mapping[str, object], options: object) -> None:
        _refuse(plan, sharing)
        made: PopOptions = build("pop", type(self), options)
        self._seconds = made.invisible_seconds
        self.plan = attrs.evolve(plan, allocation=NoAllocation(PluginManager(), "averagely"))

    def runtime(self, instance: ClientInstance) -> ConsumerRuntime:
        """The consumer on `instance`, which is started already; not joined yet."""
        plan = self.plan
        offsets = PopOffsets(plan, instance)
        init_mode = 0 if plan.begin[0] is ConsumeFrom.FIRST else 1
        calls = PopCalls(plan.group, instance, plan.clock, init_mode=init_mode, ordered=plan.ordered)
        in_hand = MessagesInHand(plan.group, instance, calls, plan.clock, self._seconds)
        times = RetryTimes(plan)
        shared = attrs.asdict(listener_parts(plan, instance, offsets.store), recurse=False)
        parts = PopListenerParts(**shared, in_hand=in_hand)

        def assemble(runtime: ConsumerRuntime) -> ConsumerParts:
            answers = answers_of(plan, instance)
            back = PopBack(plan, instance, in_hand, times)
            service = ConsumeService(parts, back, answers)
            rows = PopRows(plan, instance, in_hand, service.submit)
            if plan.ordered:
                rows = OrderedPopRows(plan, instance, in_hand, service.submit, times)
            pops = PopParts(
                calls=calls,
                in_hand=in_hand,
                rows=rows,
                back=back,
                workers=lambda: workers_of(plan),
                statistics=parts.statistics,
                ordered=plan.ordered,
            )
            strategy = FetchStrategy(plan.subscriptions.find, offsets, runtime.pull_failed)
            options = plan.settings.fetch_options(plan.group, plan.clock, ordered=plan.ordered)
            fetcher = PopFetcher(instance, options, strategy, service, pops)
            return ConsumerParts(
                offsets=offsets,
                queues=fetcher,
                rebalance=PopRebalance(plan, instance, fetcher, offsets, times),
                running_info=PopInfo(plan, runtime, parts.statistics, parts.expired),
                listening=_listening(service, in_hand, answers, plan),
                statistics=parts.statistics,
                save_seconds=plan.persist_seconds,
            )

        return ConsumerRuntime(plan, instance, GroupMember(MemberKind(listens=True)), assemble)


@attrs.frozen(kw_only=True)
class PopListenerParts(ListenerParts):
    """Consumed is what is acknowledged."""

    in_hand: MessagesInHand

    def settle(self, held: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        """Acknowledge `messages`, unless they were handed back."""
        self.in_hand.settle(messages)


class PopInfo(PushInfo):
    """What operators see of it: no queues and no allocation."""

    def properties(self) -> dict[str, str]:
        """Properties beside those of every consumer."""
        found = super().properties()
        del found["allocateMessageQueueStrategy"]
        return {**found, "mode": "pop"}


def workers_of(plan: ConsumerPlan) -> int:
    """How many messages the listeners of `plan` can be at together."""
    return max((_at_once(plan.settings, each) for each in plan.subscriptions.own()), default=1)


def _at_once(settings: ConsumerSettings, listened: Any) -> int:
    calls: int = settings.consume_tasks if listened.is_async else settings.consume_threads
    return calls * int(listened.batch_max)


def _listening(
    service: ConsumeService, in_hand: MessagesInHand, answers: Answers, plan: ConsumerPlan
) -> Listening:
    def start() -> None:
        service.start()
        in_hand.start()

    async def stop(seconds: float) -> bool:
        until = plan.clock.monotonic() + seconds
        ended = await service.stop(seconds)
        await in_hand.give_back_all_but(service.running())
        await in_hand.stop(max(1.0, until - plan.clock.monotonic()))
        await answers.stop()
        return ended

    return Listening(start=start, stop=stop)


def _refuse(plan: ConsumerPlan, sharing: Mapping[str, object]) -> None:
    why = 'makes no sense with mode "pop"'
    if sharing.get("allocate") not in (None, "averagely") or sharing.get("allocate_options"):
        raise FixError(f"allocate {why}: brokers hand out single messages, and no queues are shared out")
    if plan.model is MessageModel.BROADCASTING:
        raise FixError(f"broadcasting {why}: a broker hands out each message to one member")
    if sharing.get("offset_store"):
        raise FixError(f"offset_store {why}: brokers keep the progress of each message")
    if plan.assigned is not nothing_to_wait_for:
        raise FixError(f"on_assigned, on_revoked and on_lost {why}: members have no queues, so none go")
    if plan.begin[0] is ConsumeFrom.TIMESTAMP:
        raise FixError(f'consume_from {why} as a moment: a new group begins at "first" or "last"')
