"""Time that stands still until a simulation moves it: the right one, and that of hosts."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from heapq import heappop, heappush
from typing import Final, Protocol

from mqframe.core.clock import Clock
from mqframe.net.clock import SystemClock

START_MS: Final = 1_700_000_000_000
"""Wall time at which simulations begin, milliseconds since 1970-01-01 UTC."""


def _nothing() -> None:
    pass


class Alarm:
    """A call to come at `when` (monotonic seconds of right time)."""

    __slots__ = ("_callback", "context", "is_over", "number", "when")

    def __init__(self, when: float, number: int, callback: Callable[[], object], context: Context) -> None:
        self.when = when
        self.number = number
        self.context = context
        self.is_over = False
        self._callback = callback

    def __lt__(self, other: Alarm) -> bool:
        return (self.when, self.number) < (other.when, other.number)

    def __repr__(self) -> str:
        return f"<Alarm at {self.when:g} s: {self._callback!r}>"

    def cancel(self) -> None:
        """Prevent the call, and let go of what was to be called: `when` may be far off."""
        self.is_over = True
        self._callback = _nothing

    def fire(self) -> None:
        """Make the call, unless it was made or prevented."""
        if not self.is_over:
            self.is_over = True
            self._callback()


class ClockedLoop(Protocol):
    """What a clock needs of the loop whose calls fall due by it: of `SimulatedLoop`."""

    driven: bool
    """Whether time passes by itself."""

    def fire(self, alarm: Alarm) -> None:
        """Let `alarm` be the next callback."""

    async def settle(self) -> None:
        """Return when nothing is left that would happen by itself without time passing."""


class SimulatedClock:
    """The right time of a simulation, a `LoopClock`. The loop comes to rest after each alarm.

    In `Simulation.run` time passes by itself whenever nothing else can happen: `sleep`. Whoever runs a
    `SimulatedLoop` without it moves time by `advance`.
    """

    def __init__(self, loop: ClockedLoop) -> None:
        self._loop = loop
        self._now = 0.0
        self._ahead_ms = 0
        self._numbers = 0
        self._alarms: list[Alarm] = []

    def now_ms(self) -> int:
        """Wall-clock time, milliseconds since 1970-01-01 UTC."""
        return START_MS + self._ahead_ms + round(self._now * 1000)

    def monotonic(self) -> float:
        """Seconds since the simulation began."""
        return self._now

    @property
    def alarms(self) -> int:
        """How many calls are to come."""
        return sum(not alarm.is_over for alarm in self._alarms)

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> Alarm:
        """Call `callback` once `delay_seconds` have passed."""
        return self.at(self._now + max(0.0, delay_seconds), callback)

    def at(self, when: float, callback: Callable[[], object], context: Context | None = None) -> Alarm:
        """Call `callback` at `when` (monotonic seconds), in `context`, by default one like this."""
        self._numbers += 1
        alarm = Alarm(when, self._numbers, callback, copy_context() if context is None else context)
        heappush(self._alarms, alarm)
        return alarm

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed; with 0 when nothing more would happen without time passing."""
        await sleep_by(self, seconds)

    def jump(self, seconds: float) -> None:
        """Set wall time ahead (or back, where negative), as an operator or a time service does."""
        self._ahead_ms += round(seconds * 1000)

    async def advance(self, seconds: float) -> None:
        """Let time pass; whatever falls due meanwhile is done when this returns."""
        if self._loop.driven:
            await self.sleep(seconds)
            return
        end = self._now + seconds
        await self._loop.settle()
        while self.fire_next(end):
            await self._loop.settle()
        self._now = end

    def fire_next(self, end: float = math.inf) -> bool:
        """Move time to the next alarm, if it comes by `end`, and make its call the loop's next one."""
        while self._alarms and self._alarms[0].is_over:
            heappop(self._alarms)
        if not self._alarms or self._alarms[0].when > end:
            return False
        alarm = heappop(self._alarms)
        self._now = max(self._now, alarm.when)
        self._loop.fire(alarm)
        return True


class HostClock:
    """The clocks of one host, a `LoopClock`: a wall clock that can be set, and a monotonic one.

    The monotonic clock never goes back, and setting the wall clock does not touch it. `context` gives the
    context in which timers fire.
    """

    def __init__(self, clock: SimulatedClock, context: Callable[[], Context], rate: float) -> None:
        self._clock = clock
        self._context = context
        self._ahead_ms = 0
        self.rate: Final = rate
        """Seconds of this clock in a second of right time."""

    def now_ms(self) -> int:
        """Wall-clock time of the host, milliseconds since 1970-01-01 UTC."""
        return START_MS + self._ahead_ms + round(self.monotonic() * 1000)

    def monotonic(self) -> float:
        """Seconds since the simulation began, as this host counts them."""
        return self._clock.monotonic() * self.rate

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> Alarm:
        """Call `callback`, as the host, once `delay_seconds` of this clock have passed."""
        return self.at(self.monotonic() + max(0.0, delay_seconds), callback, self._context())

    def at(self, when: float, callback: Callable[[], object], context: Context | None = None) -> Alarm:
        """Call `callback` when `monotonic` is `when` or more."""
        moment = max(self._clock.monotonic(), when / self.rate)
        while moment * self.rate < when:  # a division rounds; a timer that fires too early would be set again
            moment = math.nextafter(moment, math.inf)
        return self._clock.at(moment, callback, self._context() if context is None else context)

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` of this clock have passed."""
        await sleep_by(self, seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock ahead (or back, where negative)."""
        self._ahead_ms += round(seconds * 1000)


async def sleep_by(clock: SimulatedClock | HostClock, seconds: float) -> None:
    """Return once `seconds` have passed by `clock`."""
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not over.done():
            over.set_result(None)

    alarm = clock.call_later(seconds, wake)
    try:
        await over
    finally:
        alarm.cancel()


@contextmanager
def instead_of_system_clocks(current: Callable[[], Clock]) -> Iterator[None]:
    """Inside, every `SystemClock` reads `current()`: that of all who were given no other."""
    now_ms, monotonic = SystemClock.now_ms, SystemClock.monotonic
    SystemClock.now_ms = lambda clock: current().now_ms()  # type: ignore[method-assign, assignment]
    SystemClock.monotonic = staticmethod(lambda: current().monotonic())
    try:
        yield
    finally:
        SystemClock.now_ms = now_ms  # type: ignore[method-assign]
        SystemClock.monotonic = staticmethod(monotonic)
