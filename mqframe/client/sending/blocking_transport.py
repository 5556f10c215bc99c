"""The transport of sends for plain threads: calls block, so that a coroutine over it never suspends."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from mqframe.core.cluster.route import TopicRoute
from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Body, Frame
from mqframe.net.blocking import BlockingClient

T = TypeVar("T")


class KnownRoutes(Protocol):
    """Routes in a cache, from any thread: as `RouteCache`."""

    def known(self, topic: str) -> TopicRoute | None:
        """The route that is in the cache."""

    def hear(self, topic: str) -> None:
        """Have the route of `topic` asked for soon."""


class BlockingTransport:
    """Calls on the caller's thread; routes come from the loop that polls them.

    `routes`: what is known of them; `find`: asks for a route on that loop and waits for it, at most so many
    seconds; `version`: so with the version of a broker.
    """

    def __init__(
        self,
        remoting: BlockingClient,
        routes: KnownRoutes,
        find: Callable[[str, float], TopicRoute],
        version: Callable[[str, float], int],
    ) -> None:
        self._remoting = remoting
        self.known_route = routes.known
        self.doubt_route = routes.hear
        self._find = find
        self._version = version

    async def find_route(self, topic: str, seconds: float) -> TopicRoute:
        """Have a name server asked now."""
        return self._find(topic, seconds)

    async def invoke(self, address: str, request: Request, body: Body = b"", *, timeout: float) -> Frame:
        """Block until the answer is there."""
        return self._remoting.invoke(address, request, body, timeout=timeout)

    async def oneway(self, address: str, request: Request, body: Body = b"", *, timeout: float) -> None:
        """Block until the request is handed to the system."""
        self._remoting.oneway(address, request, body, timeout=timeout)

    async def broker_version(self, address: str, seconds: float) -> int:
        """Have the broker asked where it is not known."""
        return self._version(address, seconds)

    async def sleep(self, seconds: float) -> None:
        """Block."""
        await sleep_blocking(seconds)


async def sleep_blocking(seconds: float) -> None:
    """Block this thread, as a coroutine that never suspends."""
    time.sleep(seconds)  # noqa: ASYNC251 - this coroutine is driven without a loop


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("a coroutine of the sync API suspended")
