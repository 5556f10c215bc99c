"""The running info of a push consumer, as far as other consumers do not share it.

Source: DefaultMQPushConsumerImpl.consumerRunningInfo,
ConsumeMessageConcurrentlyService.consumeMessageDirectly.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final

from mqframe.client.consuming.group.queue_locks import LockKeeper
from mqframe.client.consuming.group.running_info import RunningInfoSource
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.client.consuming.push.answering.expired_requests import ExpiredRequests
from mqframe.client.consuming.push.consume_call import ConsumeCall, ListenerCaller
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.client.consuming.push.watched_call import ListenerHooks
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming import running_info as info
from mqframe.core.consuming.consume_result import direct_result
from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.running_info import ConsumeStatus, DirectResult, ProcessQueueInfo
from mqframe.core.errors import Refusal
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.retry.policy import restore_topic
from mqframe.log import get_logger

log = get_logger("client")

DIRECT_CALLS_MAX: Final = 8
"""Messages that operators have consumed directly at the same time."""


class PushInfo(RunningInfoSource):
    """What operators see of a push consumer: rates and locks, too; and messages that it consumes directly."""

    _plan: ConsumerPlan

    def __init__(
        self,
        plan: ConsumerPlan,
        runtime: ConsumerRuntime,
        statistics: ConsumerStatistics,
        expired: ExpiredRequests,
        locks: LockKeeper | None = None,
    ) -> None:
        super().__init__(plan, runtime)
        self._statistics = statistics
        self._expired = expired
        self._locks = locks
        # Hooks watch what is consumed in the ordinary way; this does not count as such.
        timeout = plan.settings.consume_timeout_seconds
        self._caller = ListenerCaller(plan.group, ListenerHooks(), plan.clock.monotonic, timeout)
        self._direct_calls = 0

    def properties(self) -> dict[str, str]:
        """Properties beside those of every consumer."""
        strategy = self._plan.allocation.strategy
        return {
            "allocateMessageQueueStrategy": getattr(strategy, "wire_name", type(strategy).__qualname__),
            info.ORDERLY: str(self._plan.ordered).lower(),
            info.THREADS: str(self._plan.settings.consume_threads),
            info.EXPIRED_REQUESTS: str(self._expired.count),
        }

    def status(self) -> dict[str, ConsumeStatus]:
        """Rates by topic."""
        return {each.topic: self._statistics.status(each.topic) for each in self._plan.subscriptions.all()}

    def add_lock(self, queue: MessageQueue, found: ProcessQueueInfo) -> None:
        """Complete `found` by the lease of the lock of `queue`."""
        if self._locks is None:
            return
        clock, lease = self._plan.clock, self._locks.lease(queue)
        found.locked = lease.valid(clock.monotonic())
        if found.locked or lease.since:
            found.last_lock_timestamp = clock.now_ms() - int((clock.monotonic() - lease.since) * 1000)

    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        """Call the listener of `message` now, whatever is owned; nothing is committed or sent back.

        A request is handed over however old it is: an operator wants it so.

        Raises `Refusal` when its topic has no listener, and when too many such calls are under way.
        """
        restore_topic(message, self._plan.group)
        subscription = self._plan.subscriptions.by_topic.get(message.topic)
        if subscription is None:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"consumer group {self._plan.group} has no listener for topic {message.topic} here",
            )
        if self._direct_calls >= DIRECT_CALLS_MAX:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"{self._direct_calls} messages are consumed directly already; try again later",
            )
        subscription = subscription.of(message)
        now = self._plan.clock.monotonic()
        call = ConsumeCall(ProcessQueue(message.queue, now), [message], subscription, now)
        self._direct_calls += 1
        try:
            if subscription.is_async:
                await self._caller.call_async(call)
            else:
                await _in_a_thread(lambda: self._caller.call(call))
        finally:
            self._direct_calls -= 1
        wrong = subscription.wrong_result(call.result)
        return direct_result(call.result, call.error, call.elapsed, ordered=self._plan.ordered, wrong=wrong)


async def _in_a_thread(work: Callable[[], None]) -> None:
    """Run `work`, which raises nothing, in a thread of its own: a listener may take as long as it likes."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def notify() -> None:
        if not done.done():
            done.set_result(None)

    def run() -> None:
        work()
        try:
            loop.call_soon_threadsafe(notify)
        except RuntimeError:
            log.info("a listener ended after its consumer had")

    threading.Thread(target=run, name="mqframe-consume-directly", daemon=True).start()
    await done
