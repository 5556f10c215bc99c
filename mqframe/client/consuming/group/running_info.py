"""A consumer as operators see it: what it holds and counts, its offsets, and resets of them.

Source: DefaultMQPushConsumerImpl.consumerRunningInfo, DefaultLitePullConsumerImpl.consumerRunningInfo,
ProcessQueue.fillProcessQueueInfo.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final, cast

import attrs

from mqframe.client.consuming.group.plan import GroupPlan
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.core.consuming import running_info as info
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.running_info import (
    ConsumerRunningInfo,
    ConsumeStatus,
    DirectResult,
    ProcessQueueInfo,
)
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.net.clock import LoopClock

NO_OFFSET: Final = -1
_MEBIBYTE: Final = 1 << 20


class RunningInfoSource(ABC):
    """Answers for the member that `runtime` is; a subclass for each kind of consumer. Belongs to the loop.

    All that is asked of `runtime` is asked when operators ask, for it is being put together still.
    """

    def __init__(self, plan: GroupPlan, runtime: ConsumerRuntime) -> None:
        self._plan = plan
        self._runtime = runtime
        self._started_ms = plan.clock.now_ms()
        self.reset_offsets = runtime.reset_offsets

    @abstractmethod
    def properties(self) -> dict[str, str]:
        """Properties beside those of every consumer."""

    def status(self) -> dict[str, ConsumeStatus]:
        """Rates by topic, where they are counted."""
        return {}

    def add_lock(self, queue: MessageQueue, found: ProcessQueueInfo) -> None:  # noqa: B027 - not all have any
        """Complete `found` by the lock of `queue`, where there are locks."""

    @abstractmethod
    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        """Have `message` consumed now, whatever is owned. Raises `Refusal` when that cannot be."""

    def remembered_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """The offsets in memory."""
        return self._runtime.parts.offsets.store.snapshot(topic)

    async def running_info(self) -> ConsumerRunningInfo:
        """What the member does at the moment."""
        plan, queues, paused = self._plan, self._runtime.queues.queues, self._runtime.paused
        settings = attrs.asdict(cast("Any", plan.settings), recurse=False)
        return ConsumerRunningInfo(
            mq_table={queue: await self._queue_info(queue) for queue in queues},
            properties={
                "consumerGroup": plan.group,
                "messageModel": plan.model.value,
                "consumeFromWhere": plan.begin[0].value,
                **{name: str(value) for name, value in settings.items()},
                **self.properties(),
                info.CONSUME_TYPE: plan.consume_type,
                info.START_TIME: str(self._started_ms),
                **({info.PAUSED: " ".join("/".join(map(str, each)) for each in paused)} if paused else {}),
            },
            status_table=self.status(),
            subscription_set=plan.subscriptions.data(),
        )

    async def _queue_info(self, queue: MessageQueue) -> ProcessQueueInfo:
        try:
            committed = await self._runtime.parts.offsets.committed(queue)
        except MqframeError:
            committed = None  # the rest is known all the same
        assigned = self._runtime.queues.get(queue)
        held = assigned.held if assigned is not None else None
        found = queue_info(held, committed, self._plan.clock)
        if assigned is not None:
            self.add_lock(queue, found)
        return found


def queue_info(held: ProcessQueue | None, committed: int | None, clock: LoopClock) -> ProcessQueueInfo:
    """`held`: `None` when the queue has just gone; `committed`: `None` when not known."""
    offset = NO_OFFSET if committed is None else committed
    if held is None:
        return ProcessQueueInfo(commit_offset=offset, dropped=True)
    return ProcessQueueInfo(
        cached_msg_count=held.message_count,
        cached_msg_max_offset=held.lowest + held.span if held.lowest is not None else 0,
        cached_msg_min_offset=held.lowest or 0,
        cached_msg_size_in_mib=held.byte_count // _MEBIBYTE,
        commit_offset=offset,
        dropped=held.dropped,
        last_consume_timestamp=_wall_ms(clock, held.last_consume),
        last_pull_timestamp=_wall_ms(clock, held.last_pull),
    )


def _wall_ms(clock: LoopClock, monotonic: float) -> int:
    return clock.now_ms() - int((clock.monotonic() - monotonic) * 1000)
