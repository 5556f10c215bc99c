"""A push consumer as operators see it: what it does, where it is sent, what it consumes at their will.

Source: DefaultMQPushConsumerImpl.consumerRunningInfo, ProcessQueue.fillProcessQueueInfo,
MQClientInstance.resetOffset, ConsumeMessageConcurrentlyService.consumeMessageDirectly.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from mqframe.client.consume_call import Caller, ConsumeCall
from mqframe.client.listener import Subscription
from mqframe.client.lock_keeper import LockKeeper
from mqframe.client.pull_service import PullService
from mqframe.client.queue_report import queue_info
from mqframe.core import consumer_info as info
from mqframe.core.codes import ResponseCode
from mqframe.core.consumer_info import ConsumerRunningInfo, DirectResult, ProcessQueueInfo
from mqframe.core.consumer_statistics import ConsumerStatistics
from mqframe.core.direct_rules import direct_result
from mqframe.core.errors import MqframeError, Refusal
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.process_queue import ProcessQueue
from mqframe.core.retry_rules import restore_topic
from mqframe.hooks.interfaces import OffsetStore, ReadFrom
from mqframe.log import get_logger

if TYPE_CHECKING:
    from mqframe.client.membership import ConsumerPlan

log = get_logger("client")

DIRECT_CALLS_MAX: Final = 8
"""Messages that are consumed at operators' will at once."""


class MemberReport:
    """Answers for one member. All methods belong to its loop.

    `persist`: makes the offsets of queues durable; `wanted`: gives all subscriptions;
    `locks`: the locks of an ordered consumer.
    """

    def __init__(
        self,
        plan: ConsumerPlan,
        client_id: str,
        pulls: PullService,
        store: OffsetStore,
        statistics: ConsumerStatistics,
        persist: Callable[[Sequence[MessageQueue]], Awaitable[None]],
        wanted: Callable[[], Sequence[Subscription]],
        locks: LockKeeper | None = None,
        *,
        ordered: bool = False,
    ) -> None:
        self._plan = plan
        self._pulls = pulls
        self._store = store
        self._statistics = statistics
        self._persist = persist
        self._wanted = wanted
        self._locks = locks
        self._ordered = ordered
        self._started_ms = plan.clock.now_ms()
        # Hooks watch what is consumed in the ordinary way; this does not count as such.
        timeout = plan.settings.consume_timeout_seconds
        self._caller = Caller(plan.group, client_id, (), plan.clock.monotonic, timeout)
        self._direct_calls = 0

    # Offsets

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on from `offsets` in those of the queues that are owned; what is held of them is dropped."""
        mine = [queue for queue in self._pulls.queues if queue.topic == topic and queue in offsets]
        for queue in mine:
            self._pulls.move(queue, offsets[queue])
            self._store.update(queue, offsets[queue], increase_only=False)
        if mine:
            log.info(
                "offsets reset by an operator",
                group=self._plan.group,
                topic=topic,
                offsets={f"{queue.broker_name}/{queue.queue_id}": offsets[queue] for queue in mine},
            )
            await self._persist(self._pulls.queues)

    def remembered_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """The offsets in memory."""
        return self._store.snapshot(topic)

    # What it does

    async def running_info(self) -> ConsumerRunningInfo:
        """What the member does at the moment."""
        topics = sorted(self._wanted(), key=lambda each: each.topic)
        return ConsumerRunningInfo(
            mq_table={queue: await self._queue_info(queue) for queue in self._pulls.queues},
            properties=self._properties(),
            status_table={each.topic: self._statistics.status(each.topic) for each in topics},
            subscription_set=[each.wanted.subscription(each.topic, each.version) for each in topics],
        )

    async def _queue_info(self, queue: MessageQueue) -> ProcessQueueInfo:
        held = self._pulls.held(queue)
        try:
            committed = await self._store.read(queue, ReadFrom.MEMORY_THEN_STORE)
        except MqframeError:
            committed = None  # what can be told is told
        clock = self._plan.clock
        found = queue_info(held, committed, clock)
        if self._locks is not None and queue in self._pulls.queues:
            lease = self._locks.lease(queue)
            found.locked = lease.valid(clock.monotonic())
            if found.locked or lease.since:
                found.last_lock_timestamp = clock.now_ms() - int((clock.monotonic() - lease.since) * 1000)
        return found

    def _properties(self) -> dict[str, str]:
        plan = self._plan
        settings = attrs.asdict(cast("Any", plan.settings), recurse=False)
        return {
            "consumerGroup": plan.group,
            "messageModel": plan.model.value,
            "consumeFromWhere": plan.begin[0].value,
            "allocateMessageQueueStrategy": getattr(
                plan.strategy, "wire_name", type(plan.strategy).__qualname__
            ),
            **{name: str(value) for name, value in settings.items()},
            info.ORDERLY: str(self._ordered).lower(),
            info.THREADS: str(plan.settings.consume_threads),
            info.CONSUME_TYPE: "CONSUME_PASSIVELY",
            info.START_TIME: str(self._started_ms),
        }

    # Consuming at an operator's will

    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        """Hand `message` to its listener now, whatever is owned; nothing is committed or handed back.

        Raises `Refusal` when nobody listens to its topic, and when too many such calls are under way.
        """
        restore_topic(message, self._plan.group)
        subscription = self._plan.subscriptions.get(message.topic)
        if subscription is None:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"consumer group {self._plan.group} has no listener for topic {message.topic} here",
            )
        if self._direct_calls >= DIRECT_CALLS_MAX:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"{self._direct_calls} messages are consumed at an operator's will already; try again later",
            )
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
        return direct_result(call.result, call.error, call.elapsed, ordered=self._ordered)


async def _in_a_thread(work: Callable[[], None]) -> None:
    """Run `work`, which raises nothing, in a thread of its own: a listener may take as long as it likes."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not done.done():
            done.set_result(None)

    def run() -> None:
        work()
        try:
            loop.call_soon_threadsafe(tell)
        except RuntimeError:
            log.info("a listener ended after its consumer had")

    threading.Thread(target=run, name="mqframe-consume-directly", daemon=True).start()
    await done
