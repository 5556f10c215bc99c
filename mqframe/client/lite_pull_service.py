"""Fetches ahead what polls will hand out: one pull under way for each assigned queue.

Source: DefaultLitePullConsumerImpl.java (PullTaskImpl).
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from mqframe.client.interests import Interest
from mqframe.client.lite_pull_settings import LitePullSettings
from mqframe.client.offsets import Broker, broker_address
from mqframe.core.errors import CallTimeout, MqframeError
from mqframe.core.lite_pull import Position
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.process_queue import ProcessQueue
from mqframe.core.pull import PullResult, PullStatus, pull_request, read_answer
from mqframe.core.pull_flow import (
    HELD_BACK_SECONDS,
    SUSPENDED_SECONDS,
    has_room,
    held_back_by,
    seconds_after,
    wants_heartbeat,
)
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within

log = get_logger("client")

NO_OFFSET_SECONDS = 3.0
"""After the offset to begin at could not be found (PULL_TIME_DELAY_MILLS_ON_EXCEPTION)."""


class Ports(Protocol):
    """What the service needs of the consumer around it."""

    def interest(self, topic: str) -> Interest | None:
        """What is wanted of `topic`, `None` once it was given up."""
        ...

    async def begin(self, queue: MessageQueue) -> int:
        """The first offset of a queue that was taken without one."""
        ...

    def leaving(self, position: Position) -> None:
        """The queue is given up in this moment."""
        ...

    async def correct(self, queue: MessageQueue, offset: int) -> None:
        """The offset of `queue` did not exist, and we stand at `offset` now."""
        ...

    def subscription_unknown(self) -> None:
        """A broker does not know the group's subscription."""
        ...

    def assignment_changed(self) -> None:
        """Queues came or went by a rebalance."""
        ...


class Assigned:
    """A queue of ours and the task that pulls it."""

    __slots__ = ("broker_id", "counted", "position", "task", "waiter")

    def __init__(self, position: Position) -> None:
        self.position = position
        self.broker_id = 0
        self.counted = (0, 0)
        self.task: asyncio.Task[None] | None = None
        self.waiter: asyncio.Future[None] | None = None


class LitePullService:
    """Owns the positions. All methods belong to the loop."""

    def __init__(
        self, group: str, instance: Broker, clock: LoopClock, settings: LitePullSettings, ports: Ports
    ) -> None:
        self._group = group
        self._instance = instance
        self._clock = clock
        self._settings = settings
        self._limits = settings.queue_limits
        self._ports = ports
        self._assigned: dict[MessageQueue, Assigned] = {}
        self._ready: dict[MessageQueue, None] = {}
        self._arrival = asyncio.Event()
        self._held_messages = 0
        self._held_bytes = 0
        self._flow_waits = 0
        self._stopped = False

    # What the rebalance service needs

    @property
    def queues(self) -> list[MessageQueue]:
        """The assigned queues, sorted."""
        return sorted(self._assigned)

    def stuck(self) -> list[MessageQueue]:
        """Assigned queues that nobody tried to pull for 120 s."""
        now = self._clock.monotonic()
        return [q for q, assigned in self._assigned.items() if assigned.position.held.pull_expired(now)]

    def own(self, queue: MessageQueue, offset: int | None) -> None:
        """Begin to pull `queue` at `offset`; `None`: where the group stands."""
        assigned = self._assigned[queue] = Assigned(Position(queue, self._clock.monotonic(), offset))
        self._begin(assigned)

    def give_up(self, queue: MessageQueue) -> None:
        """Stop pulling `queue`, and forget what is held of it."""
        assigned = self._assigned.pop(queue, None)
        if assigned is not None:
            self._ports.leaving(assigned.position)
            assigned.position.drop(self._clock.monotonic())
            self._count(assigned)
            self._ready.pop(queue, None)
            if assigned.task is not None:
                assigned.task.cancel()

    def share_limits(self) -> None:
        """Queues came or went. Limits are those of each queue and of all together, so none is shared out."""
        self._ports.assignment_changed()

    # What the consumer needs

    def position(self, queue: MessageQueue) -> Position | None:
        """Where we stand in `queue`, `None` when it is not assigned."""
        assigned = self._assigned.get(queue)
        return assigned.position if assigned is not None else None

    @property
    def positions(self) -> list[Position]:
        """All positions."""
        return [assigned.position for assigned in self._assigned.values()]

    def seek(self, queue: MessageQueue, offset: int) -> bool:
        """Pull `queue` from `offset` on, now; whether it is assigned."""
        assigned = self._assigned.get(queue)
        if assigned is None:
            return False
        assigned.position.seek(offset, self._clock.monotonic())
        self._count(assigned)
        self._ready.pop(queue, None)
        if assigned.task is not None:
            assigned.task.cancel()
        self._begin(assigned)
        return True

    def wake(self, queue: MessageQueue) -> None:
        """A pull that waits may go on before its time."""
        assigned = self._assigned.get(queue)
        if assigned is not None:
            _wake(assigned)

    async def take(self, seconds: float, count_max: int) -> list[ReceivedMessage]:
        """Messages of one queue, as soon as there are some; empty after `seconds` without."""
        end = self._clock.monotonic() + seconds
        while not (messages := self._take(count_max)):
            left = end - self._clock.monotonic()
            if left <= 0 or self._stopped:
                break
            self._arrival.clear()
            try:
                await within(self._clock, left, self._arrival.wait())
            except CallTimeout:
                break
        return messages

    async def stop(self) -> None:
        """Pull nothing more, let waiting polls return. The queues stay assigned, to be committed."""
        self._stopped = True
        self._arrival.set()
        tasks = [each.task for each in self._assigned.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _take(self, count_max: int) -> list[ReceivedMessage]:
        while self._ready:
            queue = next(iter(self._ready))
            del self._ready[queue]
            assigned = self._assigned[queue]
            messages = assigned.position.take(count_max)
            if assigned.position.held.message_count:
                self._ready[queue] = None  # behind the other queues
            if messages:
                full = self._full()
                self._count(assigned)
                assigned.position.held.last_consume = self._clock.monotonic()
                if full and not self._full():
                    for each in self._assigned.values():
                        self._may_go_on(each)
                else:
                    self._may_go_on(assigned)
                return messages
        return []

    def _may_go_on(self, assigned: Assigned) -> None:
        position = assigned.position
        if assigned.waiter is not None and not position.paused and has_room(position.held, self._limits):
            _wake(assigned)

    # Pulling

    def _begin(self, assigned: Assigned) -> None:
        assigned.task = asyncio.ensure_future(self._pull_on(assigned))
        assigned.task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log.error("pulling a queue ended with an error", group=self._group, exc_info=task.exception())

    async def _pull_on(self, assigned: Assigned) -> None:
        position = assigned.position
        while not position.dropped:
            position.held.last_pull = self._clock.monotonic()
            seconds = self._hold_back(assigned)
            if seconds == 0.0:
                seconds = await self._pull_once(assigned)
            if seconds > 0.0:
                await self._pause(assigned, seconds)

    async def _pull_once(self, assigned: Assigned) -> float:
        """One pull; gives the seconds until the next."""
        position = assigned.position
        if position.next_offset is None:
            try:
                position.place(await self._ports.begin(position.queue))
            except MqframeError as problem:
                self._log_failure("the offset to begin at was not found", position.queue, problem)
                return NO_OFFSET_SECONDS
        ticket, offset = position.held, position.next_offset
        interest = self._ports.interest(position.queue.topic)
        if interest is None:
            return self._settings.error_seconds
        try:
            result = await self._ask(assigned, offset or 0, interest)
        except MqframeError as problem:
            self._log_failure("pull failed", position.queue, problem)
            if wants_heartbeat(problem):
                self._ports.subscription_unknown()
            return min(seconds_after(problem), self._settings.error_seconds)
        if self._ports.interest(position.queue.topic) is not interest:
            # It was asked by another expression, so what is wanted now may be among what was passed over.
            return 0.0
        assigned.broker_id = result.broker_id
        await self._take_in(assigned, ticket, result)
        return 0.0

    async def _ask(self, assigned: Assigned, offset: int, interest: Interest) -> PullResult:
        queue, settings = assigned.position.queue, self._settings
        address = await broker_address(self._instance, queue, assigned.broker_id)
        request = pull_request(
            self._group,
            queue,
            offset,
            messages_max=settings.pull_messages_max,
            bytes_max=settings.pull_bytes_max,
            expression=interest.wanted.expression,
            expression_type=interest.wanted.expression_type,
            version=0 if interest.wanted.expression_type == "TAG" else interest.version,
            wait_seconds=settings.pull_wait_seconds,
            lite=True,
        )
        answer = await self._instance.remoting.invoke(address, request, timeout=settings.pull_timeout_seconds)
        return read_answer(answer, queue, interest.wanted, address)

    async def _take_in(self, assigned: Assigned, ticket: ProcessQueue, result: PullResult) -> None:
        position = assigned.position
        if result.status is PullStatus.OFFSET_ILLEGAL:
            asked = position.next_offset
            if position.moved(ticket, result.next_offset, self._clock.monotonic()):
                self._count(assigned)
                self._ready.pop(position.queue, None)
                log.warning(
                    "the offset to pull from does not exist",
                    group=self._group,
                    topic=position.queue.topic,
                    broker=position.queue.broker_name,
                    queue_id=position.queue.queue_id,
                    offset=asked,
                    corrected=result.next_offset,
                )
                await self._ports.correct(position.queue, result.next_offset)
        elif position.pulled(ticket, result.messages, result.next_offset) and result.messages:
            self._count(assigned)
            self._ready[position.queue] = None
            self._arrival.set()

    def _full(self) -> bool:
        settings = self._settings
        return self._held_messages > settings.held_messages_max or self._held_bytes > settings.held_bytes_max

    def _hold_back(self, assigned: Assigned) -> float:
        """Seconds to wait before the next pull, 0 when it may be made."""
        if assigned.position.paused:
            return SUSPENDED_SECONDS
        why = held_back_by(assigned.position.held, self._limits)
        if why is None and self._full():
            why = f"{self._held_messages} messages of {self._held_bytes} bytes held of all queues"
        if why is None:
            return 0.0
        if self._flow_waits % 1000 == 0:
            log.info(
                "pulling waits for polls",
                group=self._group,
                queue=tuple(assigned.position.queue),
                reason=why,
            )
        self._flow_waits += 1
        return HELD_BACK_SECONDS

    async def _pause(self, assigned: Assigned, seconds: float) -> None:
        waiter = assigned.waiter = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(seconds, lambda: _set(waiter))
        try:
            await waiter
        finally:
            timer.cancel()
            if assigned.waiter is waiter:
                assigned.waiter = None

    def _count(self, assigned: Assigned) -> None:
        held = assigned.position.held
        messages, size = assigned.counted
        self._held_messages += held.message_count - messages
        self._held_bytes += held.byte_count - size
        assigned.counted = (held.message_count, held.byte_count)

    def _log_failure(self, what: str, queue: MessageQueue, problem: MqframeError) -> None:
        log.warning(
            what,
            group=self._group,
            topic=queue.topic,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            reason=str(problem),
        )


def _wake(assigned: Assigned) -> None:
    if assigned.waiter is not None:
        _set(assigned.waiter)


def _set(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
