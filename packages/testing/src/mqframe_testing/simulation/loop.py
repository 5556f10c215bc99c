"""An event loop whose network is in memory and whose time is simulated, and which measures its callbacks.

Servers and clients of one process talk as over loopback, but without a socket: nothing waits for the machine,
so that what happens follows from the calls alone, and a seed replays.
"""

from __future__ import annotations

import asyncio
import math
import time
import traceback
from collections.abc import Callable
from contextvars import Context, copy_context
from random import Random
from typing import Any, Final, NamedTuple

from mqframe_testing.simulation.clock import Alarm, HostClock, SimulatedClock
from mqframe_testing.simulation.host import CURRENT, Host
from mqframe_testing.simulation.network import Network
from mqframe_testing.simulation.pools import spent_in_pools

TURNS_MAX: Final = 200_000
"""Turns of the loop after which it does not come to rest any more."""


class Stall(NamedTuple):
    """One callback that kept the loop busy: processor time of its thread, and what it was."""

    seconds: float
    what: str


class LoopTimer(asyncio.TimerHandle):
    """What `call_later` and `call_at` of the loop give. `alarm`: the call itself."""

    alarm: Alarm

    def cancel(self) -> None:
        """Prevent the call."""
        super().cancel()
        self.alarm.cancel()


class SimulatedLoop(asyncio.SelectorEventLoop):
    """`chance`: what is left open by code and clock follows from it; without it nothing is left open.

    `clock` is the right time, `network` what all connections go over, `problems` what reached the exception
    handler, `told` what was noted. `stalls`: callbacks that took longer than `stall_seconds` of processor
    time, work in pools left out; by default nothing is measured. `driven`: whether time passes by itself
    (`Simulation.run`).
    """

    def __init__(self, chance: Random | None = None, stall_seconds: float = math.inf) -> None:
        super().__init__()
        self.stall_seconds = stall_seconds
        self.stalls: list[Stall] = []
        self.problems: list[str] = []
        self.told: list[str] = []
        self.steps = 0
        self.driven = False
        self.paused: set[Host] = set()
        self._chance = chance
        self._unmeasured: set[asyncio.Task[Any]] = set()
        self.clock = SimulatedClock(self)
        self.network = Network(self, chance)
        self.set_exception_handler(self._problem)

    def note(self, what: str) -> None:
        """Put `what` among the steps that a failure is told with."""
        self.told.append(f"{self.clock.monotonic():.3f} s: {what}")

    def coin(self) -> bool:
        """By chance."""
        return self._chance is not None and self._chance.random() < 0.5

    # Callbacks

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As of any loop; what is a paused host's waits until it goes on."""
        if self.paused:
            host = CURRENT.get() if context is None else context.get(CURRENT)
            if host in self.paused:
                return self._hold(host, callback, args, copy_context() if context is None else context)
        return super().call_soon(self._step, callback, args, context=context)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """The same as `call_soon`: there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def _hold(
        self, host: Host, callback: Callable[..., object], args: tuple[Any, ...], context: Context
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)

        def go_on() -> None:
            if not handle.cancelled():
                self.call_soon(callback, *args, context=context)

        host.hold(go_on)
        return handle

    def fire(self, alarm: Alarm) -> None:
        """Let `alarm` be the next callback, or the first when its host goes on."""
        host = alarm.context.get(CURRENT)
        if host in self.paused:
            host.hold(lambda: self.fire(alarm), timer=True)
        else:
            super().call_soon(self._step, alarm.fire, (), context=alarm.context)

    def _step(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.steps += 1
        if self.stall_seconds == math.inf:
            callback(*args)
            return
        before = time.thread_time() - spent_in_pools()
        try:
            callback(*args)
        finally:
            seconds = time.thread_time() - spent_in_pools() - before
            owner = getattr(callback, "__self__", None)
            if seconds > self.stall_seconds and owner not in self._unmeasured:
                what = owner if isinstance(owner, asyncio.Task | Alarm) else callback
                self.stalls.append(Stall(seconds, repr(what)))

    def leave_out(self, task: asyncio.Task[Any] | None) -> None:
        """Do not measure `task`: it is the test's own."""
        if task is not None:
            self._unmeasured.add(task)

    # Time

    def current_clock(self) -> SimulatedClock | HostClock:
        """The clock of the host whose code runs."""
        host = CURRENT.get()
        return self.clock if host is None else host.clock

    def time(self) -> float:
        """Monotonic seconds by the clock of the host whose code runs."""
        return self.current_clock().monotonic()

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As of any loop, by the clock of the host whose code runs."""
        clock = self.current_clock()
        timer = LoopTimer(when, callback, args, self, context)
        moment = max(when, clock.monotonic())
        timer.alarm = clock.at(moment, lambda: callback(*args), context or copy_context())
        return timer

    async def settle(self) -> None:
        """Return when nothing is left that would happen by itself without time passing."""
        if self.driven:
            await self.clock.sleep(0)
        else:
            await self.come_to_rest()

    async def come_to_rest(self) -> None:
        """As `settle`, for the one who lets time pass."""
        quiet = 0
        for _ in range(TURNS_MAX):
            before = self.steps
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.steps - before <= 1 else 0
            if quiet == 2:
                return
        raise AssertionError("the loop does not come to rest")

    def _problem(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        places = traceback.extract_tb(problem.__traceback__)[-1:] if problem is not None else []
        where = "".join(f", at {place.filename}:{place.lineno}" for place in places)
        self.problems.append(f"{context.get('message')}: {problem!r}{where}")

    # The network

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:
        """Listen on `port`, or a free one, as the host whose code runs; `host` and `more` mean nothing."""
        return self.network.listen(protocol_factory, port)

    def remove_reader(self, fd: Any) -> bool:
        """Nobody reads here: connections are there at once, without waiting to be accepted."""
        return False

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:
        """Connect to whoever listens on `port`; `host` and `more` mean nothing."""
        await self.network.reach(port)
        return self.network.connect(protocol_factory, port)
