"""The rebalance of a member: gains and drops queues as its group and topics change (behaviour.md §6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.allocation_port import GroupPort, prepare
from mqframe.client.consuming.group.group_offsets import GroupOffsets
from mqframe.client.consuming.group.members import group_members
from mqframe.client.consuming.group.plan import GroupPlan
from mqframe.client.consuming.group.queue_fetcher import QueueFetcher
from mqframe.core.clock import Timer
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.consume_rules import MessageModel
from mqframe.core.consuming.rebalance import Changes, changes, my_queues
from mqframe.core.errors import AnswerError, MqframeError, RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.retry.backoff import REBALANCE_AGAIN_SECONDS, REBALANCE_LOCK_SECONDS, route_again
from mqframe.log import get_logger
from mqframe.net.clock import Every
from mqframe.trouble import Trouble, Troubles

log = get_logger("client")


class OwnQueueLocks(Protocol):
    """The locks of queues that are consumed in order: had before one is taken, released after it was left."""

    async def lock(self, queues: Sequence[MessageQueue]) -> list[MessageQueue]:
        """Those of `queues` that may be taken now."""

    async def release(self, queues: Sequence[MessageQueue]) -> None:
        """The queues were dropped and their progress committed, or they could not be taken."""


class RebalanceService:
    """Asks the allocation strategy, then drops and adds queues.

    One round at a time; notices meanwhile cause another one.
    """

    def __init__(
        self,
        plan: GroupPlan,
        instance: ClientInstance,
        queues: QueueFetcher,
        offsets: GroupOffsets,
        locks: OwnQueueLocks | None = None,
    ) -> None:
        self._plan = plan
        self._group = plan.group
        self._clock = plan.clock
        self._instance = instance
        self._queues = queues
        self._offsets = offsets
        self._locks = locks
        self.collect: Callable[[], object] = lambda: None
        """Settles what listeners have consumed until now."""
        self._port = GroupPort(plan.group, instance, plan.clock, self.soon)
        self._requested = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._every: Every | None = None
        self._again: Timer | None = None
        self._again_at = 0.0
        self._missing: dict[str, float] = {}
        self._unknown = Troubles(log, plan.clock.monotonic, rest=logging.INFO)
        self._failed = Trouble(log, plan.clock.monotonic, level=logging.ERROR)

    def start(self) -> None:
        """Share the queues now, every `rebalance_seconds`, and whenever asked to."""
        self.soon()
        self._every = Every(self._clock, self._plan.settings.rebalance_seconds, self.soon, name="rebalance")
        self._task = asyncio.ensure_future(self._run())

    def soon(self) -> None:
        """Share the queues as soon as a round that is under way has ended."""
        self._requested.set()

    def halt(self) -> None:
        """Change nothing more, without waiting for a round that is under way. What is owned stays owned."""
        if self._every is not None:
            self._every.stop()
        if self._again is not None:
            self._again.cancel()
        self._port.stop()
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """As `halt`; returns when the round has ended."""
        self.halt()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def give_up(self, queues: Sequence[MessageQueue]) -> None:
        """Commit how far we are in `queues`, and let go of them."""
        await self._plan.revoked(queues)
        self.collect()
        owned = self._queues.queues
        for queue in queues:
            self._queues.give_up(queue)
        try:
            await self._offsets.save(owned)
        finally:
            if self._locks is not None:
                await self._locks.release(queues)
        for queue in queues:
            self._offsets.store.forget(queue)

    async def _run(self) -> None:
        while True:
            await self._requested.wait()
            self._requested.clear()
            try:
                await self.rebalance()
            except Exception as problem:  # isolation boundary: strategy and offset store are plugins
                self._failed.note("rebalance failed", kind=repr(problem), group=self._group, exc_info=problem)
                self._try_again()
            else:
                self._failed.over("rebalance goes well again", group=self._group)

    async def rebalance(self) -> None:
        """One round over all topics."""
        topics = self._plan.subscriptions.topics()
        complete, outages = True, self._instance.outages
        for topic in topics:
            try:
                complete &= await self._rebalance(topic)
            except RouteError as problem:
                if not topic.startswith(RETRY_PREFIX):  # a new group's is made at its first heartbeat
                    self._note_missing(topic, problem)
            except MqframeError as problem:
                outages.note("rebalance failed", topic, problem, group=self._group, topic=topic)
                complete = False
            else:
                outages.over("rebalance failed", topic)
                self._unknown.over(topic, "topic has a route now", group=self._group, topic=topic)
        leftover = [queue for queue in self._queues.queues if queue.topic not in topics]
        if leftover:
            await self.give_up(leftover)
        for topic in set(self._missing).difference(topics):
            del self._missing[topic]
            self._unknown.leave(topic)
        if not complete:
            self._try_again()
        elif self._missing:
            since = self._clock.monotonic() - max(self._missing.values())
            self._try_again(route_again(since, self._plan.settings.rebalance_seconds))

    def _note_missing(self, topic: str, problem: RouteError) -> None:
        """A topic that may be made at any moment is looked for again, first soon, then less often."""
        self._missing.setdefault(topic, self._clock.monotonic())
        self._unknown.of(topic).note(
            "topic has no route", group=self._group, topic=topic, reason=str(problem)
        )

    def _try_again(self, seconds: float = REBALANCE_AGAIN_SECONDS) -> None:
        now = self._clock.monotonic()
        if self._again is not None:
            if now < self._again_at <= now + seconds:
                return  # it is soon enough
            self._again.cancel()
        self._again_at = now + seconds
        self._again = self._clock.call_later(seconds, self.soon)

    async def _rebalance(self, topic: str) -> bool:
        """Whether everything that is ours now could be taken."""
        await self._offsets.begin([topic])
        await self._offsets.keep_begun(self._queues.queues)
        route = await self._instance.route(topic)
        if self._missing.pop(topic, None) is not None:
            await self._instance.heartbeat_now()  # its brokers do not know us, and are asked for the members
        allocated = list(route.read_queues())
        if self._plan.model is MessageModel.CLUSTERING:
            members = await self._members(route)
            mine = await self._allocate(topic, allocated, members)
            if mine is None:
                return True
            allocated = mine
        owned = [queue for queue in self._queues.queues if queue.topic == topic]
        todo = changes(owned, allocated, self._queues.stuck())
        if not todo:
            return True
        complete = await self._carry_out(todo)
        if not todo.dropped and owned == [queue for queue in self._queues.queues if queue.topic == topic]:
            return complete  # nothing could be taken yet
        self._queues.share_limits()
        log.info(
            "queues changed",
            group=self._group,
            topic=topic,
            dropped=[f"{q.broker_name}/{q.queue_id}" for q in todo.dropped],
            added=[f"{q.broker_name}/{q.queue_id}" for q in todo.added],
        )
        self._plan.assignment_changed()
        await self._instance.heartbeat_now()  # so that brokers know of the change
        return complete

    async def _members(self, route: TopicRoute) -> list[str]:
        """Who shares the topic. A broker that knows nobody of the group has not heard of us yet, as while we
        or it have just started: it gets a heartbeat, and is asked once more."""
        try:
            return await group_members(self._instance, self._group, route)
        except AnswerError as problem:
            if problem.code != ResponseCode.SYSTEM_ERROR:
                raise
            log.info(
                "group is not known yet; a heartbeat comes first",
                group=self._group,
                topic=route.topic,
                reason=str(problem),
            )
        await self._instance.heartbeat_now()
        return await group_members(self._instance, self._group, route)

    async def _allocate(
        self, topic: str, queues: list[MessageQueue], members: list[str]
    ) -> list[MessageQueue] | None:
        strategy = self._plan.allocation.strategy
        await prepare(strategy, self._port, self._group, topic, queues, members)
        try:
            return my_queues(strategy.allocate, self._group, self._instance.client_id, queues, members)
        except Exception:  # isolation boundary: a strategy that fails keeps the present assignment
            log.exception(
                "allocation failed; queues stay as they are",
                group=self._group,
                topic=topic,
                strategy=type(strategy).__qualname__,
            )
            return None

    async def _carry_out(self, todo: Changes) -> bool:
        if todo.dropped:
            await self.give_up(todo.dropped)
        added = todo.added
        try:
            if self._locks is not None and added:
                # The offset is asked for once the lock is ours: nobody else moves it then.
                added = await self._locks.lock(added)
                if len(added) < len(todo.added):
                    self._try_again(REBALANCE_LOCK_SECONDS)
            found = await asyncio.gather(*map(self._offsets.first, added), return_exceptions=True)
            known = [queue for queue, offset in zip(added, found, strict=True) if isinstance(offset, int)]
            await self._plan.assigned(known)
        except asyncio.CancelledError:
            if self._locks is not None:  # a broker may have given them by now, and others wait for them
                await self._locks.release(todo.added)
            raise
        complete = True
        for queue, offset in zip(added, found, strict=True):
            if isinstance(offset, MqframeError):
                self._instance.outages.note(
                    "queue cannot be taken yet",
                    queue.broker_name,
                    offset,
                    group=self._group,
                    topic=queue.topic,
                    broker=queue.broker_name,
                    queue_id=queue.queue_id,
                )
                complete = False
                if self._locks is not None:
                    await self._locks.release([queue])
            elif isinstance(offset, BaseException):
                raise offset
            else:
                self._instance.outages.over("queue cannot be taken yet", queue.broker_name)
                self._queues.own(queue, offset)
        return complete
