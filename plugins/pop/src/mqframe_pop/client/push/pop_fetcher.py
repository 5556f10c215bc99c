"""Pops the topics of a push consumer: one pop under way for each topic and broker."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from mqframe.client.configuration.fetch_options import FetchOptions
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.queue_fetcher import FetchStrategy, MessageSink, QueueFetcher
from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.errors import ConnectError, ConnectionLost, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.retry.backoff import pull_backoff
from mqframe.log import get_logger
from mqframe_pop.client.in_hand import MessagesInHand
from mqframe_pop.client.pop_calls import ANY_QUEUE, PopCalls
from mqframe_pop.client.push.pop_back import PopBack
from mqframe_pop.client.push.pop_rows import COUNT_MAX, PopRows
from mqframe_pop.rules.pop_room import PopRoom, most_in_hand
from mqframe_pop.rules.popped import PoppedMessage

log = get_logger("client")

AT_ONCE_SECONDS: Final = 0.1
"""The pause after a pop that was answered at once with nothing."""


@attrs.frozen(kw_only=True)
class PopParts:
    """What a `PopFetcher` is made of besides. `workers`: how many messages listeners can be at."""

    calls: PopCalls
    in_hand: MessagesInHand
    rows: PopRows
    back: PopBack
    workers: Callable[[], int]
    statistics: ConsumerStatistics
    ordered: bool


class PopFetcher(QueueFetcher):
    """Owns no queues: what it holds of those that it was told is one pop that waits at their broker, however
    many others wait there, too. All methods belong to the loop.
    """

    def __init__(
        self,
        instance: ClientInstance,
        options: FetchOptions,
        strategy: FetchStrategy,
        sink: MessageSink,
        pops: PopParts,
    ) -> None:
        super().__init__(instance, options, strategy, sink, pops.statistics)
        self._counts = pops.statistics
        self._calls, self._in_hand, self._rows = pops.calls, pops.in_hand, pops.rows
        self._back = pops.back
        self._workers = pops.workers
        self._ordered = pops.ordered
        self._room = PopRoom(self._clock.monotonic())
        self._pops: dict[MessageQueue, asyncio.Task[None]] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._stopping = False
        self._rows.changed = self._settled

    # Which topics and brokers

    def pop_from(self, sources: Iterable[MessageQueue]) -> None:
        """Pop these from now on, and others no more; each stands for all queues of its topic and broker."""
        wanted = set(sources)
        for gone in [source for source in self._pops if source not in wanted]:
            del self._pops[gone]  # a pop that waits at the broker ends by itself
        for source in sorted(wanted):
            if source not in self._pops and not self._stopping:
                self._pops[source] = self._instance.spawn(self._pop_on(source))
        self._wake()

    @property
    def sources(self) -> list[MessageQueue]:
        """What is popped, sorted."""
        return sorted(self._pops)

    def suspend_all(self) -> None:
        """Pop nothing until `resume_all`; a pop that waits at its broker may still bring something."""
        super().suspend_all()
        self._wake()

    def look_again(self) -> None:
        """Pop what may be popped again."""
        super().look_again()
        self._wake()

    async def stop(self) -> None:
        """Pop nothing more; what brokers still hand out is given back."""
        self._stopping = True
        self._pops.clear()
        self._wake()

    # Popping

    def _settled(self, consumed: int) -> None:
        self._room.done(consumed, self._clock.monotonic())
        self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _goes_on(self, source: MessageQueue, task: asyncio.Task[None] | None) -> bool:
        return not self._stopping and self._pops.get(source) is task

    async def _wanted(self, source: MessageQueue, task: asyncio.Task[None] | None) -> int:
        """How many to pop, once there is room; 0: the source is gone."""
        while self._goes_on(source, task):
            if not (self._suspended or self.stands(source.topic)):
                count = self._room.wanted(len(self._in_hand), self._workers(), len(self._pops), COUNT_MAX)
                if count:
                    return self._rows.count(source, count)
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        return 0

    async def _pop_on(self, source: MessageQueue) -> None:
        task = asyncio.current_task()
        try:
            await self._pop_while(source, task)
        finally:
            if (
                self._pops.get(source) is task
            ):  # an error that nobody thought of: the next rebalance begins anew
                del self._pops[source]

    async def _pop_while(self, source: MessageQueue, task: asyncio.Task[None] | None) -> None:
        failures = 0
        attempt = ""
        while count := await self._wanted(source, task):
            subscription = self._strategy.find(source.topic)
            if subscription is None:
                return
            attempt = attempt or uuid.uuid4().hex
            began = self._clock.monotonic()
            try:
                popped = await self._pop(source, subscription, count, attempt)
            except MqframeError as problem:
                failures += 1
                await self._failed_at(source, problem, failures)
                continue
            failures, attempt = 0, ""
            self._instance.outages.over("pop failed", source.broker_name)
            now = self._clock.monotonic()
            if popped:
                self._counts.pulled(source.topic, len(popped), now - began)
                self._arrived(source, subscription, popped, task)
            elif now - began < AT_ONCE_SECONDS and self._goes_on(source, task):
                await self._clock.sleep(AT_ONCE_SECONDS)

    async def _pop(
        self, source: MessageQueue, subscription: TopicSubscription, count: int, attempt: str
    ) -> list[PoppedMessage]:
        result = await self._calls.pop(
            source.topic,
            source.broker_name,
            subscription.filter,
            count_max=count,
            invisible_seconds=self._in_hand.seconds,
            wait_seconds=self._options.wait_seconds,
            attempt_id=attempt if self._ordered else None,
        )
        return result.messages

    def _arrived(
        self,
        source: MessageQueue,
        subscription: TopicSubscription,
        popped: list[PoppedMessage],
        task: asyncio.Task[None] | None,
    ) -> None:
        if self._goes_on(source, task) and self._strategy.find(source.topic) is subscription:
            fresh = self._back.give_up_old(popped, lambda *_: self._settled(0))
            if fresh:
                self._rows.arrived(fresh, most_in_hand(self._workers()))
            return
        # It came too late, or by another filter.
        self._in_hand.take(popped, lambda *_: None)
        self._instance.spawn(self._in_hand.give_back(popped))

    async def _failed_at(self, source: MessageQueue, problem: MqframeError, failures: int) -> None:
        if self._stopping:
            return  # it is our own end of the connection
        where = {"topic": source.topic, "broker": source.broker_name}
        self._instance.outages.note(
            "pop failed", source.broker_name, problem, group=self._options.group, **where
        )
        self._strategy.failed(source, problem)
        if isinstance(problem, ConnectError | ConnectionLost):
            self._routes_late.ask(source.topic)
        randomness = self._instance.patience.randomness
        await self._clock.sleep(pull_backoff(problem, failures, randomness, self._options.error_seconds))


def source(topic: str, broker_name: str) -> MessageQueue:
    """All queues of `topic` at one broker."""
    return MessageQueue(topic, broker_name, ANY_QUEUE)
