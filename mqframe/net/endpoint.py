"""What all connections of one server or one client share: limits, handlers, hooks, call numbers, time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mqframe.core.errors import TooMuchInFlight
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.net.busy_poll import BusyPoll
from mqframe.net.call import Handler
from mqframe.net.clock import Every, LoopClock
from mqframe.net.deadlines import Deadlines
from mqframe.net.settings import NetSettings

if TYPE_CHECKING:
    from mqframe.net.peer import Peer

TURN_BYTES_MAX: Final = 16384
"""Answers of one read that leave together. More end the turn, so that the other side works on large ones
while the rest is served."""
LONG_TURN_BYTES: Final = 128 * 1024
"""After a turn with so much to send the other connections are served first, then the rest of this one."""


class Endpoint:
    """The shared part of a server's or client's connections; lives in one loop.

    `turn_end` is called once after all frames of one read were handled, before their answers are written.
    `throttle`: whether a peer that does not read its answers is not read from either (servers).
    """

    def __init__(
        self,
        clock: LoopClock,
        settings: NetSettings,
        handlers: Mapping[int, Handler],
        rpc_hooks: Iterable[RpcHook],
        turn_end: Callable[[], None] | None,
        on_close: Callable[[Peer], None] | None,
        throttle: bool,
    ) -> None:
        self.clock = clock
        self.settings = settings
        self.handlers = dict(handlers)
        self.rpc_hooks = tuple(rpc_hooks)
        self.turn_end = turn_end
        self.on_close = on_close
        self.throttle = throttle
        self.peers: set[Peer] = set()
        self.in_flight_requests = 0
        self.in_flight_bytes = 0
        self.deadlines = Deadlines(clock)
        self.busy_poll: BusyPoll | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._opaque = 0
        self._sweep: Every | None = None

    def start(self) -> None:
        """Begin to look for idle and stalled connections."""
        if self._sweep is None:
            interval = min(self.settings.idle_seconds, self.settings.stalled_seconds) / 8
            self._sweep = Every(self.clock, interval, self._close_idle, name="idle connections")

    async def stop(self, reason: str) -> None:
        """Close all connections and end what is being served."""
        if self._sweep is not None:
            self._sweep.stop()
        for peer in tuple(self.peers):
            peer.close(reason)
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(3):  # connections tell of their end in later turns of the loop
            if not self.peers:
                break
            await asyncio.sleep(0)
        for peer in tuple(self.peers):
            peer.abort()
        await asyncio.sleep(0)
        self.deadlines.stop()

    def next_opaque(self) -> int:
        """A number for the next request of this side."""
        self._opaque = opaque = (self._opaque + 1) & 0x7FFFFFFF
        return opaque

    def admit(self, body_bytes: int) -> None:
        """Count a request in, or raise `TooMuchInFlight`."""
        settings = self.settings
        if self.in_flight_requests >= settings.in_flight_requests_max:
            raise TooMuchInFlight(
                f"{self.in_flight_requests} requests wait for their answers, the most allowed"
            )
        if self.in_flight_bytes + body_bytes > settings.in_flight_bytes_max and self.in_flight_bytes:
            raise TooMuchInFlight(
                f"{self.in_flight_bytes} bytes are in flight; {body_bytes} more pass the limit of "
                f"{settings.in_flight_bytes_max}"
            )
        self.in_flight_requests += 1
        self.in_flight_bytes += body_bytes

    def release(self, body_bytes: int) -> None:
        """Count a request out."""
        self.in_flight_requests -= 1
        self.in_flight_bytes -= body_bytes

    def spawn(self, work: Awaitable[None]) -> None:
        """Run `work` as a task that ends with this endpoint."""
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _close_idle(self) -> None:
        now = self.clock.monotonic()
        for peer in tuple(self.peers):
            peer.close_if_idle(now)
