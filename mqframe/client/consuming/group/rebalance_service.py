"""Takes and gives up queues as the group and its topics change (system.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from mqframe.client.beginning import Beginning
from mqframe.client.offsets import Broker
from mqframe.core import loosejson
from mqframe.core.bodies import ConsumerList
from mqframe.core.consume_rules import MessageModel
from mqframe.core.errors import MqframeError, RouteError
from mqframe.core.message import MessageQueue
from mqframe.core.rebalance import Changes, changes, my_queues
from mqframe.core.requests.consumers import GetConsumerListByGroup
from mqframe.core.route import TopicRoute
from mqframe.core.topics import RETRY_PREFIX
from mqframe.hooks.interfaces import AllocationStrategy, OffsetStore
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock, Timer

log = get_logger("client")

AGAIN_SECONDS = 1.0
"""When something failed, queues are shared again so soon (RebalanceService's minimum interval)."""
LOCK_AGAIN_SECONDS = 0.5
"""When the lock of a queue could not be had, it is tried again so soon."""


class Queues(Protocol):
    """The queues that a consumer owns, and how it takes and leaves them."""

    @property
    def queues(self) -> list[MessageQueue]:
        """The queues that are owned now, sorted."""
        ...

    def stuck(self) -> list[MessageQueue]:
        """Owned queues that nobody tried to pull for 120 s."""
        ...

    def own(self, queue: MessageQueue, offset: int) -> None:
        """Begin to pull `queue` at `offset`."""
        ...

    def give_up(self, queue: MessageQueue) -> None:
        """Stop pulling `queue`; from here on nothing that comes of it is committed."""
        ...

    def share_limits(self) -> None:
        """The number of owned queues changed."""
        ...


class Balance(Protocol):
    """What the rebalance service needs of the consumer around it."""

    def topics(self) -> Sequence[str]:
        """The topics that are subscribed."""
        ...

    async def told(self) -> None:
        """Tell brokers what the group wants, and return once they know."""
        ...

    async def persist(self, queues: Sequence[MessageQueue]) -> None:
        """Make durable how far we are in `queues`."""
        ...


class QueueLocks(Protocol):
    """Where queues are consumed in order: they are locked before they are taken, and unlocked when left."""

    def collect(self) -> None:
        """Take what listeners have done until now."""
        ...

    async def lock(self, queues: Sequence[MessageQueue]) -> list[MessageQueue]:
        """Those of `queues` that may be taken now."""
        ...

    async def release(self, queues: Sequence[MessageQueue]) -> None:
        """The queues were dropped and their progress committed, or they could not be taken."""
        ...


class RebalanceService:
    """Decides by the strategy, then drops and adds. One round at a time; notices meanwhile cause another."""

    def __init__(
        self,
        group: str,
        client_id: str,
        model: MessageModel,
        instance: Broker,
        clock: LoopClock,
        strategy: AllocationStrategy,
        store: OffsetStore,
        pulls: Queues,
        balance: Balance,
        begin: Beginning,
        seconds: float,
        locks: QueueLocks | None = None,
    ) -> None:
        self._group = group
        self._client_id = client_id
        self._model = model
        self._instance = instance
        self._clock = clock
        self._strategy = strategy
        self._store = store
        self._pulls = pulls
        self._balance = balance
        self._begin = begin
        self._seconds = seconds
        self._locks = locks
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._every: Every | None = None
        self._again: Timer | None = None

    def start(self) -> None:
        """Share the queues now, every `seconds`, and whenever asked to."""
        self.soon()
        self._every = Every(self._clock, self._seconds, self.soon, name="rebalance")
        self._task = asyncio.ensure_future(self._run())

    def soon(self) -> None:
        """Share the queues as soon as a round that is under way has ended."""
        self._wanted.set()

    async def stop(self) -> None:
        """Change nothing more. What is owned stays owned."""
        if self._every is not None:
            self._every.stop()
        if self._again is not None:
            self._again.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def give_up(self, queues: Sequence[MessageQueue]) -> None:
        """Commit how far we are in `queues`, and let go of them."""
        if self._locks is not None:
            self._locks.collect()
        owned = self._pulls.queues
        for queue in queues:
            self._pulls.give_up(queue)
        try:
            await self._balance.persist(owned)
        finally:
            if self._locks is not None:
                await self._locks.release(queues)
        for queue in queues:
            self._store.forget(queue)

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.rebalance()
            except Exception:  # isolation boundary: strategy and offset store are plugins; the rounds go on
                log.exception("rebalance failed", group=self._group)
                self._try_again()

    async def rebalance(self) -> None:
        """One round over all topics."""
        topics = self._balance.topics()
        complete = True
        for topic in topics:
            try:
                complete &= await self._rebalance(topic)
            except RouteError as problem:
                if not topic.startswith(RETRY_PREFIX):  # a new group's is made at its first heartbeat
                    log.warning("topic has no route", group=self._group, topic=topic, reason=str(problem))
            except MqframeError as problem:
                log.warning("rebalance failed", group=self._group, topic=topic, reason=str(problem))
                complete = False
        strangers = [queue for queue in self._pulls.queues if queue.topic not in topics]
        if strangers:
            await self.give_up(strangers)
        if not complete:
            self._try_again()

    def _try_again(self, seconds: float = AGAIN_SECONDS) -> None:
        if self._again is not None:
            self._again.cancel()
        self._again = self._clock.call_later(seconds, self.soon)

    async def _rebalance(self, topic: str) -> bool:
        """Whether everything that is ours now could be taken."""
        route = await self._instance.route(topic)
        allocated = list(route.read_queues())
        if self._model is MessageModel.CLUSTERING:
            members = await self._members(route)
            mine = self._allocate(topic, allocated, members)
            if mine is None:
                return True
            allocated = mine
        owned = [queue for queue in self._pulls.queues if queue.topic == topic]
        todo = changes(owned, allocated, self._pulls.stuck())
        if not todo:
            return True
        complete = await self._carry_out(todo)
        if not todo.dropped and owned == [queue for queue in self._pulls.queues if queue.topic == topic]:
            return complete  # nothing could be taken yet
        self._pulls.share_limits()
        log.info(
            "queues changed",
            group=self._group,
            topic=topic,
            dropped=[f"{q.broker_name}/{q.queue_id}" for q in todo.dropped],
            added=[f"{q.broker_name}/{q.queue_id}" for q in todo.added],
        )
        await self._balance.told()
        return complete

    def _allocate(
        self, topic: str, queues: list[MessageQueue], members: list[str]
    ) -> list[MessageQueue] | None:
        try:
            return my_queues(self._strategy.allocate, self._group, self._client_id, queues, members)
        except Exception:  # isolation boundary: a strategy that fails keeps the present assignment
            log.exception(
                "allocation failed; queues stay as they are",
                group=self._group,
                topic=topic,
                strategy=type(self._strategy).__qualname__,
            )
            return None

    async def _members(self, route: TopicRoute) -> list[str]:
        request = GetConsumerListByGroup(self._group)
        problem: MqframeError = RouteError(f"the route of topic {route.topic} names no broker")
        for broker_name in sorted(route.addresses()):
            address = route.any_address(broker_name)
            if address is None:
                continue
            try:
                answer = await self._instance.call(address, request)
            except MqframeError as failure:
                problem = failure
                continue
            return loosejson.decode(bytes(answer.body), ConsumerList).consumer_id_list
        raise problem

    async def _carry_out(self, todo: Changes) -> bool:
        if todo.dropped:
            await self.give_up(todo.dropped)
        added = todo.added
        if self._locks is not None and added:
            # The offset is asked for once the lock is ours: nobody else moves it then.
            added = await self._locks.lock(added)
            if len(added) < len(todo.added):
                self._try_again(LOCK_AGAIN_SECONDS)
        found = await asyncio.gather(*map(self._begin.offset, added), return_exceptions=True)
        complete = True
        for queue, offset in zip(added, found, strict=True):
            if isinstance(offset, MqframeError):
                log.warning(
                    "queue cannot be taken yet",
                    group=self._group,
                    topic=queue.topic,
                    broker=queue.broker_name,
                    queue_id=queue.queue_id,
                    reason=str(offset),
                )
                complete = False
                if self._locks is not None:
                    await self._locks.release([queue])
            elif isinstance(offset, BaseException):
                raise offset
            else:
                self._pulls.own(queue, offset)
        return complete
