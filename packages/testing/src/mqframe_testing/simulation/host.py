"""Machines of a simulation: whose code runs, by which clock, and whether it stands still."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, Protocol, TypeVar

from mqframe_testing.simulation.clock import HostClock, SimulatedClock

T = TypeVar("T")
OUTSIDE: Final = "outside"
"""The name of the place where a test itself runs: a host like others, with the right time."""
CURRENT: ContextVar[Host | None] = ContextVar("CURRENT", default=None)
"""Whose code runs; `None`: the test's own."""


def current_name() -> str:
    """The name of the host whose code runs."""
    host = CURRENT.get()
    return OUTSIDE if host is None else host.name


class HostingLoop(Protocol):
    """What hosts and the network between them need of the loop that they are in: of `SimulatedLoop`."""

    clock: SimulatedClock
    """The right time."""
    paused: set[Host]
    """Those that stand still."""

    def note(self, what: str) -> None:
        """Put `what` among the steps that a failure is told with."""

    def coin(self) -> bool:
        """By chance."""

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As of any loop."""

    def create_task(self, coro: Coroutine[Any, Any, T], *, context: Context) -> asyncio.Task[T]:
        """As of any loop."""


class Host:
    """A machine with one process. Made by `Simulation.host`.

    What is run here, and all that follows from it (tasks, timers, connections that it opens, ports that it
    listens on), is this host's. `rate`: what its monotonic clock and its wall clock make of a second, 1.0 is
    right; `ahead`: seconds that its wall clock is ahead of the right time at first.
    """

    def __init__(self, loop: HostingLoop, name: str, rate: float = 1.0, ahead: float = 0.0) -> None:
        self._loop = loop
        self.name = name
        self.clock = HostClock(loop.clock, self.context, rate)
        self.clock.jump(ahead)
        self._until = 0.0
        self._held: deque[Callable[[], object]] = deque()
        self._late: deque[Callable[[], object]] = deque()
        self._awake: list[Callable[[], object]] = []

    def __repr__(self) -> str:
        return f"Host({self.name!r})"

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self in self._loop.paused

    def context(self) -> Context:
        """A copy of the current context in which code is this host's."""
        context = copy_context()
        context.run(CURRENT.set, self)
        return context

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin `work` here."""
        return self._loop.create_task(work, context=self.context())

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do `work` here and return what it returns. It is cancelled when the caller is."""
        return await self.spawn(work)

    def call(self, callback: Callable[..., object], *args: Any) -> None:
        """Call `callback` as this host: now, or when it goes on where it stands still."""
        if self.paused:
            self._held.append(lambda: self.call(callback, *args))
        else:
            self.context().run(callback, *args)

    def pause(self, seconds: float) -> None:
        """Let it stand still for `seconds` of right time, as a process that gets no processor.

        Time goes on for all others, and by its clocks. What falls due here, and what arrives, waits, and
        comes all at once when it goes on. Its connections stay open, and new ones to it are opened by its
        kernel. Where it stands still already, it does so until the later of the two moments.
        """
        now = self._loop.clock.monotonic()
        self._loop.note(f"{self.name} stands still for {seconds:g} s")
        self._until = max(self._until, now + seconds)
        self._loop.paused.add(self)
        # Nobody's call: that of a host which pauses itself would be held back.
        self._loop.clock.at(now + seconds, self._go_on, Context())

    def resume(self) -> None:
        """Go on now, if it stands still."""
        if not self.paused:
            return
        self._loop.note(f"{self.name} goes on")
        self._until = 0.0
        self._loop.paused.discard(self)
        held, late, awake = list(self._held), list(self._late), self._awake
        self._held.clear()
        self._late.clear()
        self._awake = []
        # What was to run runs first. Then timers and what has arrived, or the other way round, as it happens.
        groups = [late, awake] if self._loop.coin() else [awake, late]
        for callback in held + groups[0] + groups[1]:
            self._loop.call_soon(callback, context=Context())

    def hold(self, callback: Callable[[], object], *, timer: bool = False) -> None:
        """Keep `callback` until it goes on; `timer`: it is one that fell due."""
        (self._late if timer else self._held).append(callback)

    def arrive(self, callback: Callable[[], object]) -> None:
        """Call `callback`, which hands over what has arrived here: now, or when it goes on, once."""
        if not self.paused:
            callback()
        elif callback not in self._awake:
            self._awake.append(callback)

    def _go_on(self) -> None:
        if self._loop.clock.monotonic() >= self._until:
            self.resume()
