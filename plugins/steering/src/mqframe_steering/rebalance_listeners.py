"""Functions of an application that hear which queues come to its push consumer, go, or are lost."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

import attrs

from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.errors import CallTimeout, FixError
from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger
from mqframe.net.clock import within
from mqframe_steering.calls_by_queue import CallsByQueue, CountingCaller

log = get_logger("client")

Listener = Callable[[str, Sequence[MessageQueue]], Any] | None


def with_listeners(
    plan: ConsumerPlan, on_assigned: Listener, on_revoked: Listener, on_lost: Listener
) -> ConsumerPlan:
    """`plan` with functions that hear of queues. Raises `FixError` for what cannot be called."""
    for name, each in (("on_assigned", on_assigned), ("on_revoked", on_revoked), ("on_lost", on_lost)):
        if each is not None and not callable(each):
            raise FixError(f"{name} is a {type(each).__name__}, not a function")
    listeners = RebalanceListeners(plan, on_assigned, on_revoked, on_lost)
    made: ConsumerPlan = attrs.evolve(
        plan, assigned=listeners.assigned, revoked=listeners.revoked, lost=listeners.lost
    )
    if on_revoked is None:
        return made
    return attrs.evolve(made, caller=partial(CountingCaller, listeners.calls))


class RebalanceListeners:
    """Calls them one after the other, each with a topic and its queues.

    Every queue that `on_assigned` was told of goes to one of the others, once. Before `on_revoked` no more
    messages of the queues are begun, and those that handlers are at are waited for. A queue that is lost goes
    to `on_revoked` where there is no `on_lost`. Each wait takes `stop_seconds` at most. All methods belong to
    the loop.
    """

    def __init__(
        self, plan: ConsumerPlan, on_assigned: Listener, on_revoked: Listener, on_lost: Listener
    ) -> None:
        self.calls = CallsByQueue()
        self._group = plan.group
        self._clock = plan.clock
        self._seconds = plan.settings.stop_seconds
        self._on_assigned = on_assigned
        self._on_revoked = on_revoked
        self._on_lost = on_lost or on_revoked
        self._mine: set[MessageQueue] = set()
        self._one_by_one = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def assigned(self, queues: Sequence[MessageQueue]) -> None:
        """`queues` are about to be read here."""
        try:
            await asyncio.shield(self._begin(self._assign(queues)))
        except asyncio.CancelledError:  # the consumer stops, and will not take them
            self._begin(self._revoke(queues))
            raise

    async def revoked(self, queues: Sequence[MessageQueue]) -> None:
        """`queues` are about to go: returns when the application is done with them."""
        # A stop breaks the rebalance off, not the application; then it waits here for both.
        await asyncio.shield(self._begin(self._revoke(queues)))

    def lost(self, queues: Sequence[MessageQueue]) -> None:
        """Another member has `queues` already."""
        self._begin(self._lose(queues))

    async def _assign(self, queues: Sequence[MessageQueue]) -> None:
        async with self._one_by_one:
            self.calls.open(queues)
            new = sorted(set(queues).difference(self._mine))
            self._mine.update(new)
            await self._tell(self._on_assigned, new)

    async def _revoke(self, queues: Sequence[MessageQueue]) -> None:
        async with self._one_by_one:
            gone = self._taken_from(queues)
            if self._on_revoked is not None and gone:
                self.calls.close(gone)
                try:
                    await within(self._clock, self._seconds, self.calls.ended(gone))
                except CallTimeout:
                    self._warn("queues go before their handlers have ended", gone)
            await self._tell(self._on_revoked, gone)

    async def _lose(self, queues: Sequence[MessageQueue]) -> None:
        async with self._one_by_one:
            await self._tell(self._on_lost, self._taken_from(queues))

    def _taken_from(self, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        gone = sorted(self._mine.intersection(queues))
        self._mine.difference_update(gone)
        return gone

    async def _tell(self, listener: Listener, queues: Sequence[MessageQueue]) -> None:
        if listener is None:
            return
        for topic in sorted({queue.topic for queue in queues}):
            told = [queue for queue in queues if queue.topic == topic]
            try:
                await within(self._clock, self._seconds, _called(listener, topic, told))
            except CallTimeout:
                self._warn("queues do not wait any longer for their listener", told)
            except Exception:  # isolation boundary: it is the application's code
                log.exception("a listener for queues failed", group=self._group, topic=topic)

    def _warn(self, what: str, queues: Sequence[MessageQueue]) -> None:
        names = [f"{each.topic}/{each.broker_name}/{each.queue_id}" for each in queues]
        log.warning(what, group=self._group, queues=names, seconds=self._seconds)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _called(listener: Callable[..., Any], topic: str, queues: list[MessageQueue]) -> None:
    if inspect.iscoroutinefunction(listener):
        await listener(topic, queues)
        return
    result = await asyncio.to_thread(listener, topic, queues)
    if inspect.isawaitable(result):
        await result
