"""The transport of sends: routes, calls and a way to wait, which one template of sends goes through.

The asyncio one suspends as usual. The coroutines of the blocking one never suspend: they block the calling
thread instead, so that `blocking_transport.run_blocking` drives a whole send without a loop and without
handing it to another thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.route_cache import is_unknown_topic
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import CallTimeout, RouteError
from mqframe.core.requests.fields import Request
from mqframe.core.retry.backoff import ROUTE_LOOKS_SECONDS
from mqframe.core.wire.frame import Body, Frame
from mqframe.net.clock import LoopClock, within


class SendTransport(Protocol):
    """Routes, calls, and a way to wait."""

    def known_route(self, topic: str) -> TopicRoute | None:
        """The route that is in the cache."""

    async def find_route(self, topic: str, seconds: float) -> TopicRoute:
        """Ask a name server for a route to send by. Raises `RouteError`, at the latest after `seconds`."""

    def doubt_route(self, topic: str) -> None:
        """A broker of the route in the cache is away, or is master no more: have the route asked for soon."""

    def invoke(self, address: str, request: Request, body: Body = b"", *, timeout: float) -> Awaitable[Frame]:
        """The answer to a request, whatever its code."""

    def oneway(self, address: str, request: Request, body: Body = b"", *, timeout: float) -> Awaitable[None]:
        """Send without an answer."""

    async def broker_version(self, address: str, seconds: float) -> int:
        """The protocol version of the broker at `address`, which is asked when it is not known yet."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class AsyncTransport:
    """The transport of an asyncio client."""

    def __init__(
        self, instance: ClientInstance, clock: LoopClock, default_topic: str, queues_max: int
    ) -> None:
        self._instance = instance
        self._routes = instance.routes
        self._clock = clock
        self._default_topic = default_topic
        self._queues_max = queues_max
        self.known_route: Callable[[str], TopicRoute | None] = instance.routes.known
        self.doubt_route: Callable[[str], None] = instance.routes.hear
        self.invoke = instance.remoting.invoke
        self.oneway = instance.remoting.oneway
        self.sleep = clock.sleep

    async def find_route(self, topic: str, seconds: float) -> TopicRoute:
        """Ask a name server now, and for two seconds again: the topic may have been made, or its broker be
        back, a moment ago."""
        try:
            return await within(self._clock, seconds, self._find_route(topic))
        except CallTimeout:
            raise RouteError(f"no route to topic {topic} within {seconds:g} s; nothing was sent") from None

    async def broker_version(self, address: str, seconds: float) -> int:
        """As the last heartbeat's answer said; else by one that is sent now."""
        return await within(self._clock, seconds, self._instance.broker_version(address))

    async def _find_route(self, topic: str) -> TopicRoute:
        for wait in ROUTE_LOOKS_SECONDS:
            try:
                return await self._routes.refresh(topic, self._default_topic, self._queues_max)
            except RouteError as problem:
                if not is_unknown_topic(problem):
                    raise
            await self.sleep(wait)
        return await self._routes.refresh(topic, self._default_topic, self._queues_max)
