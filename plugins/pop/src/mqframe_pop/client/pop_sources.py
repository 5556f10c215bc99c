"""Where the messages of a simple consumer may be: brokers that have queues of its topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.route_cache import is_unknown_topic
from mqframe.client.consuming.group.subscriptions import Subscriptions
from mqframe.core.errors import ClosedError, FixError, RouteError
from mqframe.core.retry.backoff import route_again
from mqframe.net.clock import LoopClock


class PopSource(NamedTuple):
    """One topic at one broker: what one pop asks for."""

    topic: str
    broker_name: str


class PopSources:
    """For the `subscriptions` of `group`. `instance`: the client instance, `None` once it was stopped;
    `patience`: seconds by which routes are looked for less and less often."""

    def __init__(
        self,
        group: str,
        subscriptions: Subscriptions,
        instance: Callable[[], ClientInstance | None],
        clock: LoopClock,
        patience: float,
    ) -> None:
        self._group = group
        self._subscriptions = subscriptions
        self._instance = instance
        self._clock = clock
        self._patience = patience

    async def find(self, end: float) -> tuple[list[PopSource], bool]:
        """Where messages may be, and whether topics are missing; waits until `end`, in monotonic seconds, for
        the first topic to be made.

        Raises `RouteError`, `FixError` without subscriptions, `ClosedError` when it was stopped.
        """
        began = self._clock.monotonic()
        while True:
            found, problem = await self._look()
            now = self._clock.monotonic()
            if found:
                return found, problem is not None
            topics = ", ".join(sorted(self._subscriptions.by_topic))
            failed = problem or RouteError(f"no broker has a queue of {topics} that can be read")
            if now >= end or not is_unknown_topic(failed):
                raise failed
            await self._clock.sleep(min(route_again(now - began, self._patience), end - now))

    async def _look(self) -> tuple[list[PopSource], RouteError | None]:
        instance = self._instance()
        if instance is None:
            raise ClosedError(f"the consumer of group {self._group} was stopped")
        if not self._subscriptions.by_topic:
            raise FixError(f"the consumer of group {self._group} has no subscription; use `subscribe`")
        found: list[PopSource] = []
        problem: RouteError | None = None
        for topic in sorted(self._subscriptions.by_topic):
            try:
                route = await instance.route(topic)
            except RouteError as missing:
                problem = missing
                continue
            brokers = sorted({queue.broker_name for queue in route.read_queues()})
            found += [PopSource(topic, broker_name) for broker_name in brokers]
        return found, problem
