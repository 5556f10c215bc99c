"""Pulls the queues that are assigned to a consumer: one pull under way for each of them (behaviour.md §4).

Source: DefaultMQPushConsumerImpl.pullMessage, DefaultLitePullConsumerImpl (PullTaskImpl).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from mqframe.client.configuration.fetch_options import FetchOptions
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.group_offsets import GroupOffsets
from mqframe.client.consuming.group.late_routes import LateRoutes
from mqframe.client.consuming.group.pulls import QueuePulls
from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.cluster.registration import MASTER_ID
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.consuming.flow_control import FlowLimits, HeldTotals, has_room, held_back_by
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.pull import PullResult, PullStatus
from mqframe.core.errors import AnswerError, ConnectError, ConnectionLost, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.retry.backoff import ERROR_SECONDS, HELD_BACK_SECONDS, SUSPENDED_SECONDS, pull_backoff
from mqframe.log import get_logger

log = get_logger("client")
AT_ONCE_SECONDS: Final = 0.1
"""An answer that says nothing and comes sooner came at once; and the pause after such answers."""
FRUITLESS_MAX: Final = 3
"""Such answers in a row before the first pause: an offset that is corrected takes one or two."""


class FetchStrategy:
    """What push and lite pull consumers do differently about a pull; nothing of all that by default.

    `find`: the subscription of a topic, `None` when it is not subscribed any more; `failed`: notified of a
    pull that failed, which is made again.
    """

    def __init__(
        self,
        find: Callable[[str], TopicSubscription | None],
        offsets: GroupOffsets,
        failed: Callable[[MessageQueue, MqframeError], None],
    ) -> None:
        self.find = find
        self.failed = failed
        self.offsets = offsets
        self.first_offset = offsets.first_assigned

    async def committable(self, queue: MessageQueue) -> int | None:
        """The offset that a pull commits on its way, if any."""
        return None

    def skipped(self, queue: MessageQueue, offset: int) -> None:
        """Nothing is held of `queue`, and the filter dropped everything before `offset`."""

    async def corrected(self, queue: MessageQueue, offset: int, owned: list[MessageQueue]) -> None:
        """The offset to pull from did not exist; `queue`, one of the `owned` ones, goes on at `offset`, which
        is committed."""
        self.offsets.remember([(queue, offset)])
        await self.offsets.try_to_save(owned)

    def given_up(self, assigned: AssignedQueue) -> None:
        """`assigned` is not ours any more from this moment on."""


class MessageSink(Protocol):
    """Where pulled messages go: a consume service or a prefetch buffer."""

    def arrived(self, assigned: AssignedQueue) -> None:
        """Messages wait in the process queue of `assigned`."""


class _Fetch:
    """The pulls of one assigned queue. `held_back`: `waiter` waits for room rather than after an error;
    `asked`: offset of the last pull; `failures`: failed tries in a row; `fruitless`: answers in a row that
    came at once and moved nothing."""

    __slots__ = (
        "asked", "assigned", "broker_id", "counted", "failures", "fruitless", "held_back", "limits", "task",
        "waiter",
    )  # fmt: skip

    def __init__(self, assigned: AssignedQueue, limits: FlowLimits) -> None:
        self.assigned = assigned
        self.limits = limits
        self.asked = 0
        self.broker_id = MASTER_ID
        self.counted = (0, 0)
        self.failures = 0
        self.fruitless = 0
        self.held_back = False
        self.task: asyncio.Task[None] | None = None
        self.waiter: asyncio.Future[None] | None = None

    def wake(self) -> None:
        """Make the next pull now, if it waits."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class QueueFetcher:
    """Owns the assigned queues and the pulls of them. All methods belong to the loop."""

    def __init__(
        self,
        instance: ClientInstance,
        options: FetchOptions,
        strategy: FetchStrategy,
        sink: MessageSink,
        statistics: ConsumerStatistics | None = None,
    ) -> None:
        self._instance = instance
        self._options = options
        self._clock = options.clock
        self._pulls = QueuePulls(instance, options)
        self._strategy = strategy
        self._sink = sink
        self._statistics = statistics
        self._routes_late = LateRoutes(instance, options.clock)
        self._fetches: dict[MessageQueue, _Fetch] = {}
        self._totals = HeldTotals(options.limits)
        self._totals_held_back = False
        self._suspended = False
        self.stands: Callable[[str], bool] = lambda _: False  # which topics are not to be pulled
        self._flow_waits = 0

    # Which queues

    @property
    def queues(self) -> list[MessageQueue]:
        """The assigned queues, sorted."""
        return sorted(self._fetches)

    @property
    def assigned(self) -> list[AssignedQueue]:
        """The same with what is known of each, in the order in which they were assigned."""
        return [fetch.assigned for fetch in self._fetches.values()]

    def get(self, queue: MessageQueue) -> AssignedQueue | None:
        """What is known of `queue`, `None` when it is not assigned."""
        fetch = self._fetches.get(queue)
        return fetch.assigned if fetch is not None else None

    def stuck(self) -> list[MessageQueue]:
        """Assigned queues that nobody tried to pull for 120 s."""
        now = self._clock.monotonic()
        return [queue for queue, fetch in self._fetches.items() if fetch.assigned.held.pull_expired(now)]

    def own(self, queue: MessageQueue, offset: int | None) -> None:
        """Begin to pull `queue` at `offset`; `None`: at its first offset (`FetchStrategy.first_offset`)."""
        assigned = AssignedQueue(queue, self._clock.monotonic(), offset, self._drained)
        fetch = self._fetches[queue] = _Fetch(assigned, self._options.limits.queue)
        self._begin(fetch)

    def give_up(self, queue: MessageQueue) -> None:
        """Stop pulling `queue`; from here on nothing that comes of it is committed."""
        fetch = self._fetches.pop(queue, None)
        if fetch is not None:
            self._strategy.given_up(fetch.assigned)
            fetch.assigned.drop(self._clock.monotonic())
            self._count(fetch)
            if fetch.task is not None:
                fetch.task.cancel()

    def share_limits(self) -> None:
        """Divide the limits of topics over their queues; to be called after queues came or went."""
        counts: dict[str, int] = {}
        for queue in self._fetches:
            counts[queue.topic] = counts.get(queue.topic, 0) + 1
        for queue, fetch in self._fetches.items():
            fetch.limits = self._options.limits.shared(counts[queue.topic])

    async def stop(self) -> None:
        """Pull nothing more. The queues stay assigned, so that what was consumed can still be committed."""
        tasks = [fetch.task for fetch in self._fetches.values() if fetch.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Where and when

    def seek(self, queue: MessageQueue, offset: int) -> bool:
        """Pull `queue` from `offset` on, now, and drop what is held; whether it is assigned."""
        fetch = self._fetches.get(queue)
        if fetch is None:
            return False
        fetch.assigned.seek(offset, self._clock.monotonic())
        self._count(fetch)
        if fetch.task is not None:
            fetch.task.cancel()
        self._begin(fetch)
        return True

    def pause(self, queue: MessageQueue) -> None:
        """Pull nothing more of `queue`, which stays assigned, until `resume`."""
        self._fetches[queue].assigned.paused = True

    def resume(self, queue: MessageQueue) -> None:
        """Pull `queue` again."""
        fetch = self._fetches[queue]
        fetch.assigned.paused = False
        fetch.wake()

    def suspend_all(self) -> None:
        """Pull nothing until `resume_all`. What is held is still consumed, and queues are kept."""
        self._suspended = True

    def resume_all(self) -> None:
        """Pull again."""
        self._suspended = False
        self.look_again()

    def look_again(self) -> None:
        """Pull what may be pulled again."""
        for fetch in self._fetches.values():
            fetch.wake()

    def stands_still(self, assigned: AssignedQueue) -> bool:
        """Whether nothing of `assigned` is to be pulled for now."""
        return self._suspended or assigned.paused or self.stands(assigned.queue.topic)

    # Flow control

    def _drained(self, held: ProcessQueue) -> None:
        """Messages left `held`: a pull that was held back may be made before its time."""
        fetch = self._fetches.get(held.queue)
        if fetch is None or fetch.assigned.held is not held:
            return
        self._count(fetch)
        if self._totals_held_back and not self._totals.full:
            self._totals_held_back = False
            for each in self._fetches.values():
                self._use_room(each)
        elif fetch.held_back:
            self._use_room(fetch)

    def _use_room(self, fetch: _Fetch) -> None:
        assigned = fetch.assigned
        if not self.stands_still(assigned) and has_room(assigned.held, fetch.limits):
            fetch.wake()

    def _count(self, fetch: _Fetch) -> None:
        held, totals = fetch.assigned.held, self._totals
        messages, size = fetch.counted
        now = fetch.counted = held.message_count, held.byte_count
        totals.messages += now[0] - messages
        totals.bytes += now[1] - size

    def _hold_back(self, fetch: _Fetch) -> float:
        """Seconds to wait before the next pull, 0 when it may be made."""
        if self.stands_still(fetch.assigned):
            return SUSPENDED_SECONDS
        why = held_back_by(fetch.assigned.held, fetch.limits)
        if why is None and self._totals.full:
            self._totals_held_back = True
            why = str(self._totals)
        if why is None:
            return 0.0
        if self._flow_waits % 1000 == 0:
            queue = tuple(fetch.assigned.queue)
            log.info("pulling waits for the application", group=self._options.group, queue=queue, reason=why)
        self._flow_waits += 1
        return HELD_BACK_SECONDS

    # Pulling

    def _begin(self, fetch: _Fetch) -> None:
        fetch.task = asyncio.ensure_future(self._pull_on(fetch))
        fetch.task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Its queue is assigned anew by the 120 s rule.
        if not task.cancelled() and task.exception() is not None:
            log.error(
                "pulling a queue ended with an error", group=self._options.group, exc_info=task.exception()
            )

    async def _pull_on(self, fetch: _Fetch) -> None:
        assigned = fetch.assigned
        while not assigned.dropped:
            assigned.held.last_pull = self._clock.monotonic()
            seconds = self._hold_back(fetch)
            held_back = seconds > 0.0
            if not held_back:
                seconds = await self._pull_once(fetch)
            if seconds > 0.0:
                await self._pause(fetch, seconds, held_back)

    def _failed(self, fetch: _Fetch, problem: MqframeError, error_seconds: float) -> float:
        """The seconds until the next try, after one that met `problem`."""
        fetch.failures += 1
        return pull_backoff(problem, fetch.failures, self._instance.patience.randomness, error_seconds)

    async def _pull_once(self, fetch: _Fetch) -> float:
        """One pull; returns the seconds until the next."""
        assigned, strategy = fetch.assigned, self._strategy
        queue = assigned.queue
        if assigned.next_offset is None:
            try:
                assigned.place(await strategy.first_offset(queue))
            except MqframeError as problem:
                self._log_failure("the first offset was not found", queue, problem)
                return self._failed(fetch, problem, ERROR_SECONDS)
        ticket, began = assigned.held, self._clock.monotonic()
        fetch.asked = assigned.next_offset or 0
        subscription = strategy.find(queue.topic)
        if subscription is None:
            return self._options.error_seconds
        try:
            result = await self._pull(fetch, subscription)
        except MqframeError as problem:
            if not queue.topic.startswith(RETRY_PREFIX):
                self._log_failure("pull failed", queue, problem)
            strategy.failed(queue, problem)
            is_gone = isinstance(problem, AnswerError) and problem.code == ResponseCode.TOPIC_NOT_EXIST
            if is_gone and fetch.asked and fetch.broker_id == MASTER_ID:
                # Made anew it counts from 0 again: what is known of it here is of the old one.
                await self._move(fetch, ticket, 0, "the topic was deleted")
            fetch.broker_id = MASTER_ID  # whoever suggested another one may not know that it is away
            if isinstance(problem, ConnectError | ConnectionLost):
                self._routes_late.ask(queue.topic)
            return self._failed(fetch, problem, self._options.error_seconds)
        fetch.failures = 0
        if strategy.find(queue.topic) is not subscription:
            # The broker went by another filter, so what is subscribed now may be among what it dropped.
            return 0.0
        self._instance.outages.over("pull failed", queue.broker_name)
        fetch.broker_id = result.broker_id
        seconds = self._breath(fetch, result, self._clock.monotonic() - began)
        if result.status is PullStatus.OFFSET_ILLEGAL:
            await self._move(fetch, ticket, result.next_offset, "the offset to pull from does not exist")
            return seconds
        if not assigned.pulled(ticket, result.messages, result.next_offset):
            return 0.0
        if result.messages:
            if self._statistics is not None:
                self._statistics.pulled(queue.topic, len(result.messages), self._clock.monotonic() - began)
            self._count(fetch)
            self._sink.arrived(assigned)
        elif not ticket.message_count:
            # Messages that the filter drops leave no trace in the process queue.
            strategy.skipped(queue, result.next_offset)
        return self._options.interval_seconds if result.status is PullStatus.FOUND else seconds

    def _breath(self, fetch: _Fetch, result: PullResult, took_seconds: float) -> float:
        """Seconds to wait, so that a broker that says nothing at once and always does not fill the loop."""
        moved = result.status is not PullStatus.OFFSET_ILLEGAL and result.next_offset != fetch.asked
        if moved or took_seconds >= AT_ONCE_SECONDS:
            fetch.fruitless = 0
            return 0.0
        fetch.fruitless += 1
        return AT_ONCE_SECONDS if fetch.fruitless >= FRUITLESS_MAX else 0.0

    async def _pull(self, fetch: _Fetch, subscription: TopicSubscription) -> PullResult:
        queue, broker_id = fetch.assigned.queue, fetch.broker_id
        commit = await self._strategy.committable(queue)
        return await self._pulls.pull(queue, fetch.asked, subscription, broker_id, commit)

    async def _move(self, fetch: _Fetch, ticket: ProcessQueue, offset: int, why: str) -> None:
        """The offset to pull from does not exist: what was read before is dropped, and not committed."""
        assigned = fetch.assigned
        queue, asked = assigned.queue, assigned.next_offset
        if not assigned.moved(ticket, offset, self._clock.monotonic()):
            return
        self._count(fetch)
        log.warning(
            why,
            group=self._options.group,
            topic=queue.topic,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            offset=asked,
            corrected=offset,
        )
        await self._strategy.corrected(queue, offset, self.queues)

    async def _pause(self, fetch: _Fetch, seconds: float, held_back: bool) -> None:
        waiter = fetch.waiter = asyncio.get_running_loop().create_future()
        fetch.held_back = held_back
        timer = self._clock.call_later(seconds, fetch.wake)
        try:
            await waiter
        finally:
            timer.cancel()
            if fetch.waiter is waiter:  # a seek may have begun another pull already
                fetch.waiter, fetch.held_back = None, False

    def _log_failure(self, what: str, queue: MessageQueue, problem: MqframeError) -> None:
        where = {"topic": queue.topic, "broker": queue.broker_name, "queue_id": queue.queue_id}
        self._instance.outages.note(what, queue.broker_name, problem, group=self._options.group, **where)
