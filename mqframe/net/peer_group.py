"""All open connections of one asyncio server or client, and what is done for them in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from mqframe.core.clock import Timer
from mqframe.core.requests.peer import Peer
from mqframe.log import get_logger
from mqframe.net.busy_poll import BusyPoll
from mqframe.net.clock import Every, LoopClock, to_wait_on
from mqframe.net.deadlines import Deadlines
from mqframe.net.endpoint import Endpoint
from mqframe.net.heap import give_back

if TYPE_CHECKING:  # what servers alone have is not imported for clients
    from mqframe.net.budgets import ConnectionBudgets, OpenPeer
    from mqframe.net.frame_path import FramePath
    from mqframe.net.latencies import Latencies

log = get_logger("net")


class PeerEvents(NamedTuple):
    """Callbacks of the owner of connections.

    `turn_end`: once after all frames of one read were handled, before their answers are written. Where it
    returns a future, the connection is held until that is done: none of its answers leaves, and nothing more
    is read from it; a future that is cancelled ends it. `on_close`: with every connection that ended.
    """

    turn_end: Callable[[], asyncio.Future[Any] | None] | None = None
    on_close: Callable[[Peer], None] | None = None


class PeerGroup:
    """Connections of one asyncio server or client; lives in one loop.

    Closes idle and stalled connections, ends calls at their deadlines, holds the tasks of async handlers.
    `limits`: of a server; a peer that does not read its answers is not read from either then, which
    `throttle` says. `turns`: how often a connection had its turn; `processor_seconds`: what the processor
    has worked for the loop's thread; `running`: whether requests are served. `frame_path`: the shorter way of
    some of them, where there is one.
    """

    def __init__(
        self,
        clock: LoopClock,
        endpoint: Endpoint,
        events: PeerEvents,
        limits: ConnectionBudgets | None = None,
    ) -> None:
        self.clock = clock
        self.endpoint = endpoint
        self.turn_end, self.on_close = events
        self.throttle = limits is not None
        self.peers: dict[OpenPeer, None] = {}  # in the order in which they came
        self._limits = limits
        self.deadlines = Deadlines()
        self.armed_at = float("inf")
        self.busy_poll: BusyPoll | None = None
        self.turns = 0
        self.processor_seconds: Callable[[], float] = time.thread_time
        self.latencies: Latencies | None = None
        self.frame_path: FramePath | None = None
        self.running = False
        self._timer: Timer | None = None
        self._waits_on = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sweep: Every | None = None

    def enter(self, peer: OpenPeer) -> bool:
        """A connection was opened; whether a server has room for it."""
        if self.is_full:
            return False
        self.peers[peer] = None
        return True

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another connection, nor one that may go for it."""
        return self._limits is not None and self._limits.is_full(self.peers)

    def leave(self, peer: OpenPeer, calls: Iterable[tuple[asyncio.Future[Any], Exception]]) -> None:
        """A connection ended, and with it what waited for its `calls`, each with its error."""
        self.peers.pop(peer, None)
        self.half_frame(peer, 0)
        self.unsent(peer, 0)
        for future, problem in calls:
            if not future.done():
                future.set_exception(problem)
        if self.on_close is not None:
            self.on_close(peer)

    def half_frame(self, peer: OpenPeer, size: int) -> None:
        """Of a frame of `peer`, `size` bytes came, and the rest did not."""
        if self._limits is not None:
            self._limits.half_frame(peer, size)

    def unsent(self, peer: OpenPeer, size: int) -> None:
        """`size` bytes for `peer` wait to leave."""
        if self._limits is not None:
            self._limits.unsent(peer, size)

    def finish_turn(self, address: str) -> asyncio.Future[Any] | None:
        """All requests of a turn of the connection to `address` were handled: what their answers wait for."""
        if self.turn_end is None:
            return None
        try:
            return self.turn_end()
        except Exception:  # one turn's error must not end the connections of others
            log.exception("end of turn failed", peer=address)
            return None

    def start(self) -> None:
        """Begin to look for idle and stalled connections."""
        self.running = True
        if self._sweep is None:
            settings = self.endpoint.settings
            interval = min(settings.idle_seconds, settings.stalled_seconds) / 8
            self._sweep = Every(self.clock, interval, self._close_idle, name="idle connections")

    async def stop(self, reason: str) -> None:
        """Close all connections and end what is being served."""
        self.running = False
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
        if self._limits is not None:
            self._limits.tell(last=True)
        self.deadlines.clear()
        if self._timer is not None:
            self._timer.cancel()

    def spawn(self, work: Awaitable[None]) -> asyncio.Task[Any]:
        """Run `work` as a task that ends with this group."""
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def arm(self, deadline: float) -> None:
        """End calls at `deadline` (monotonic seconds), the earliest of all."""
        if self._timer is not None:
            self._timer.cancel()
        self.armed_at = deadline
        self._timer = self.clock.call_later(max(0.0, deadline - self.clock.monotonic()), self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self.clock.monotonic()
        late, self.armed_at = now - self.armed_at, float("inf")
        wait_on = 0.0 if self._waits_on else to_wait_on(late)
        self._waits_on = wait_on > 0
        if self._waits_on:
            self.arm(now + wait_on)
            return
        for opaque, peer in self.deadlines.due(now):
            peer.expire(opaque, now)
        if self.deadlines.entries:
            self.arm(self.deadlines.next)

    def _close_idle(self) -> None:
        now = self.clock.monotonic()
        for peer in tuple(self.peers):
            peer.close_if_idle(now)
        if self._limits is not None:
            self._limits.tell()
            if self._limits.freed_much():
                self.spawn(asyncio.to_thread(give_back))
