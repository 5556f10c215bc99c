"""Puts a lite pull consumer together: what it does and shows differently from push consumers."""

from __future__ import annotations

from typing import ClassVar

import attrs

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.plan import GroupPlan
from mqframe.client.consuming.group.queue_fetcher import FetchStrategy, QueueFetcher
from mqframe.client.consuming.group.rebalance_service import RebalanceService
from mqframe.client.consuming.group.running_info import RunningInfoSource
from mqframe.client.consuming.group.runtime import ConsumerParts, ConsumerRuntime
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming import running_info as info
from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.consuming.group_member import GroupMember, MemberKind
from mqframe.core.consuming.running_info import DirectResult
from mqframe.core.errors import Refusal
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe_pull.lite_pull.prefetch_buffer import PrefetchBuffer
from mqframe_pull.settings import LitePullSettings


@attrs.frozen(kw_only=True)
class LitePlan(GroupPlan):
    """What a lite pull consumer was made with. Subscriptions are those of assigned queues, too."""

    consume_type: ClassVar[str] = "CONSUME_ACTIVELY"

    settings: LitePullSettings
    auto_commit: bool

    @property
    def commits(self) -> bool:
        """As the application chose."""
        return self.auto_commit


class AutoCommitStrategy(FetchStrategy):
    """Offsets move without the application. Commits are requests of their own, and what the filter drops an
    assigned queue knows by itself."""

    def given_up(self, assigned: AssignedQueue) -> None:
        """Remember what was consumed; it is saved by whoever gives the queue up."""
        self.offsets.remember([(assigned.queue, assigned.settled)])


class CommitStrategy(FetchStrategy):
    """Offsets move only when the application commits."""

    async def corrected(self, queue: MessageQueue, offset: int, owned: list[MessageQueue]) -> None:
        """Nothing is committed."""


class LitePullInfo(RunningInfoSource):
    """What operators see of a lite pull consumer: there are no listeners, no rates and no locks."""

    _plan: LitePlan

    def properties(self) -> dict[str, str]:
        """Properties beside those of every consumer."""
        return {"autoCommit": str(self._plan.auto_commit).lower(), info.ORDERLY: "false"}

    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        """Raises `Refusal`: there is no listener to call."""
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            f"group {self._plan.group} polls in this client; only a push consumer takes messages directly",
        )


def lite_pull_runtime(
    plan: LitePlan, instance: ClientInstance, buffer: PrefetchBuffer, *, rebalances: bool
) -> ConsumerRuntime:
    """A lite pull consumer on `instance`, which is started already; not joined yet.

    `buffer`: gets what is pulled; `rebalances`: queues come by rebalances, else the application assigns them.
    """
    offsets = plan.offsets(instance)

    def assemble(runtime: ConsumerRuntime) -> ConsumerParts:
        kind = AutoCommitStrategy if plan.auto_commit else CommitStrategy
        strategy = kind(plan.subscriptions.find, offsets, runtime.pull_failed)
        queues = QueueFetcher(instance, plan.settings.fetch_options(plan.group, plan.clock), strategy, buffer)
        return ConsumerParts(
            offsets=offsets,
            queues=queues,
            rebalance=RebalanceService(plan, instance, queues, offsets),
            running_info=LitePullInfo(plan, runtime),
        )

    return ConsumerRuntime(plan, instance, GroupMember(MemberKind(rebalances=rebalances)), assemble)
