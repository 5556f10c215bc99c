"""Keeps one pull under way for each owned queue, as fast as the client can hold what comes (system.md §4)."""

from __future__ import annotations

import asyncio
from typing import Protocol

from mqframe.client.consumer_settings import ConsumerSettings
from mqframe.client.listener import Subscription
from mqframe.client.offsets import Broker, broker_address
from mqframe.core.consumer_statistics import ConsumerStatistics
from mqframe.core.errors import ConnectionLost, MqframeError
from mqframe.core.message import MessageQueue
from mqframe.core.process_queue import ProcessQueue
from mqframe.core.pull import PullResult, PullStatus, pull_request, read_answer
from mqframe.core.pull_flow import (
    ERROR_SECONDS,
    HELD_BACK_SECONDS,
    SUSPENDED_SECONDS,
    FlowLimits,
    has_room,
    held_back_by,
    seconds_after,
    shared_limits,
    wants_heartbeat,
)
from mqframe.core.retry_rules import restore_topic
from mqframe.core.topics import RETRY_PREFIX
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("client")


class Ports(Protocol):
    """What the pull service needs of the consumer around it."""

    def find(self, topic: str) -> Subscription | None:
        """The subscription of `topic`."""
        ...

    def arrived(self, held: ProcessQueue) -> None:
        """Messages wait in `held`."""
        ...

    def pulled_past(self, queue: MessageQueue, offset: int) -> None:
        """Nothing before `offset` is left to be consumed."""
        ...

    async def committable(self, queue: MessageQueue) -> int | None:
        """The offset that may ride on a pull to the broker."""
        ...

    async def correct(self, queue: MessageQueue, offset: int) -> None:
        """The offset of `queue` did not exist; remember `offset` instead, durably."""
        ...

    def subscription_unknown(self) -> None:
        """A broker does not know the group's subscription."""
        ...

    def broker_lost(self, queue: MessageQueue) -> None:
        """The connection to the broker of `queue` broke, or none could be made."""
        ...


class Owned:
    """A queue of ours: what is held of it, and where its next pull begins."""

    __slots__ = ("broker_id", "counted_bytes", "held", "limits", "next_offset", "task", "waiter")

    def __init__(self, held: ProcessQueue, next_offset: int, limits: FlowLimits) -> None:
        self.held = held
        self.next_offset = next_offset
        self.limits = limits
        self.broker_id = 0
        self.counted_bytes = 0
        self.task: asyncio.Task[None] | None = None
        self.waiter: asyncio.Future[None] | None = None


class PullService:
    """Owns the process queues. `limits`: of one queue, where not those of the settings.

    All methods belong to the loop.
    """

    def __init__(
        self,
        group: str,
        instance: Broker,
        clock: LoopClock,
        settings: ConsumerSettings,
        ports: Ports,
        statistics: ConsumerStatistics | None = None,
        limits: FlowLimits | None = None,
    ) -> None:
        self._limits = limits or settings.queue_limits
        self._group = group
        self._instance = instance
        self._clock = clock
        self._settings = settings
        self._ports = ports
        self._statistics = statistics or ConsumerStatistics(clock)
        self._owned: dict[MessageQueue, Owned] = {}
        self._held_bytes = 0
        self._suspended = False
        self._flow_waits = 0

    @property
    def queues(self) -> list[MessageQueue]:
        """The queues that are owned now, sorted."""
        return sorted(self._owned)

    @property
    def held_bytes(self) -> int:
        """Bytes held of all owned queues."""
        return self._held_bytes

    def held(self, queue: MessageQueue) -> ProcessQueue | None:
        """What is held of `queue`, `None` when it is not owned."""
        owned = self._owned.get(queue)
        return owned.held if owned is not None else None

    def stuck(self) -> list[MessageQueue]:
        """Owned queues that nobody tried to pull for 120 s."""
        now = self._clock.monotonic()
        return [queue for queue, owned in self._owned.items() if owned.held.pull_expired(now)]

    def own(self, queue: MessageQueue, offset: int) -> None:
        """Begin to pull `queue` at `offset`."""
        held = ProcessQueue(queue, self._clock.monotonic())
        owned = self._owned[queue] = Owned(held, offset, self._limits)
        owned.task = asyncio.ensure_future(self._pull_on(owned))
        owned.task.add_done_callback(self._ended)

    def give_up(self, queue: MessageQueue) -> None:
        """Stop pulling `queue`; from here on nothing that comes of it is committed."""
        owned = self._owned.pop(queue, None)
        if owned is not None:
            owned.held.dropped = True
            self._held_bytes -= owned.counted_bytes
            if owned.task is not None:
                owned.task.cancel()

    def move(self, queue: MessageQueue, offset: int) -> None:
        """Go on at `offset` of `queue`, which is owned; nothing that comes of what is held is committed."""
        limits = self._owned[queue].limits
        self.give_up(queue)
        self.own(queue, offset)
        self._owned[queue].limits = limits

    def share_limits(self) -> None:
        """Divide the limits of topics over their owned queues; to be called after the queues changed."""
        settings = self._settings
        counts: dict[str, int] = {}
        for queue in self._owned:
            counts[queue.topic] = counts.get(queue.topic, 0) + 1
        for queue, owned in self._owned.items():
            owned.limits = shared_limits(
                self._limits,
                settings.topic_messages_max,
                settings.topic_bytes_max,
                counts[queue.topic],
            )

    def suspend(self) -> None:
        """Pull nothing until `resume`. What is held is still consumed, and queues are kept."""
        self._suspended = True

    def resume(self) -> None:
        """Pull again."""
        self._suspended = False
        for owned in self._owned.values():
            _wake(owned)

    def settled(self, queue: MessageQueue) -> None:
        """Messages of `queue` were done with: a pull that was held back may go on before its time."""
        owned = self._owned.get(queue)
        if owned is not None:
            self._count(owned)
            if owned.waiter is not None and not self._suspended and has_room(owned.held, owned.limits):
                _wake(owned)

    async def stop(self) -> None:
        """Pull nothing more. The queues stay owned, so that what is under way can still be committed."""
        tasks = [owned.task for owned in self._owned.values() if owned.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Its queue is taken anew by the 120 s rule.
        if not task.cancelled() and task.exception() is not None:
            log.error("pulling a queue ended with an error", group=self._group, exc_info=task.exception())

    async def _pull_on(self, owned: Owned) -> None:
        held = owned.held
        while not held.dropped:
            held.last_pull = self._clock.monotonic()
            seconds = self._hold_back(owned)
            if seconds == 0.0:
                seconds = await self._pull_once(owned)
            if seconds > 0.0:
                await self._pause(owned, seconds)

    async def _pull_once(self, owned: Owned) -> float:
        """One pull; gives the seconds until the next."""
        subscription = self._ports.find(owned.held.queue.topic)
        if subscription is None:
            return ERROR_SECONDS
        began = self._clock.monotonic()
        try:
            result = await self._ask(owned, subscription)
        except MqframeError as problem:
            self._log_failure(owned, problem)
            if wants_heartbeat(problem):
                self._ports.subscription_unknown()
            elif isinstance(problem, ConnectionLost):
                self._ports.broker_lost(owned.held.queue)
            return seconds_after(problem)
        if owned.held.dropped:
            return 0.0
        if self._ports.find(owned.held.queue.topic) is not subscription:
            # It was asked by another expression, so what is wanted now may be among what was passed over.
            return 0.0
        owned.broker_id = result.broker_id
        if result.status is PullStatus.OFFSET_ILLEGAL:
            await self._correct(owned, result)
            return 0.0
        return self._take_in(owned, result, began)

    async def _ask(self, owned: Owned, subscription: Subscription) -> PullResult:
        queue = owned.held.queue
        settings = self._settings
        address = await broker_address(self._instance, queue, owned.broker_id)
        commit = None
        # Slaves take no offsets; the master is read from unless a broker suggested otherwise.
        if owned.broker_id == 0:
            commit = await self._ports.committable(queue)
        request = pull_request(
            self._group,
            queue,
            owned.next_offset,
            messages_max=settings.pull_messages_max,
            bytes_max=settings.pull_bytes_max,
            expression_type=subscription.wanted.expression_type,
            version=subscription.version,
            wait_seconds=settings.pull_wait_seconds,
            commit_offset=commit,
        )
        answer = await self._instance.remoting.invoke(address, request, timeout=settings.pull_timeout_seconds)
        return read_answer(answer, queue, subscription.wanted, address)

    def _take_in(self, owned: Owned, result: PullResult, began: float) -> float:
        held = owned.held
        owned.next_offset = result.next_offset
        if result.messages:
            self._statistics.pulled(held.queue.topic, len(result.messages), self._clock.monotonic() - began)
            if held.queue.topic.startswith(RETRY_PREFIX):
                for message in result.messages:
                    restore_topic(message, self._group)
            held.put(result.messages)
            self._count(owned)
            self._ports.arrived(held)
        elif not held.message_count:
            # Skipped messages leave no trace in the process queue, so progress is told from here.
            self._ports.pulled_past(held.queue, result.next_offset)
        return self._settings.pull_interval_seconds if result.status is PullStatus.FOUND else 0.0

    async def _correct(self, owned: Owned, result: PullResult) -> None:
        queue = owned.held.queue
        log.warning(
            "the offset to pull from does not exist",
            group=self._group,
            topic=queue.topic,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            offset=owned.next_offset,
            corrected=result.next_offset,
        )
        # What is held was read before the log was cut or the offset reset: it is not committed any more, and
        # the queue begins anew, as DefaultMQPushConsumerImpl has it.
        owned.held.dropped = True
        await self._ports.correct(queue, result.next_offset)
        if self._owned.get(queue) is owned:
            self._held_bytes -= owned.counted_bytes
            self.own(queue, result.next_offset)
            self._owned[queue].limits = owned.limits

    def _hold_back(self, owned: Owned) -> float:
        """Seconds to wait before the next pull, 0 when it may be made."""
        if self._suspended:
            return SUSPENDED_SECONDS
        why = held_back_by(owned.held, owned.limits)
        if why is None and self._held_bytes > self._settings.held_bytes_max:
            why = f"{self._held_bytes} bytes held of all queues, limit {self._settings.held_bytes_max}"
        if why is None:
            return 0.0
        if self._flow_waits % 1000 == 0:
            log.info(
                "pulling waits for listeners", group=self._group, queue=tuple(owned.held.queue), reason=why
            )
        self._flow_waits += 1
        return HELD_BACK_SECONDS

    async def _pause(self, owned: Owned, seconds: float) -> None:
        waiter = owned.waiter = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(seconds, lambda: _wake(owned))
        try:
            await waiter
        finally:
            timer.cancel()
            owned.waiter = None

    def _count(self, owned: Owned) -> None:
        now = owned.held.byte_count
        self._held_bytes += now - owned.counted_bytes
        owned.counted_bytes = now

    def _log_failure(self, owned: Owned, problem: MqframeError) -> None:
        queue = owned.held.queue
        if not queue.topic.startswith(RETRY_PREFIX):
            log.warning(
                "pull failed",
                group=self._group,
                topic=queue.topic,
                broker=queue.broker_name,
                queue_id=queue.queue_id,
                reason=str(problem),
            )


def _wake(owned: Owned) -> None:
    if owned.waiter is not None and not owned.waiter.done():
        owned.waiter.set_result(None)
