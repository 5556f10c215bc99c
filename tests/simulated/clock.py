"""A clock that stands still until a simulation moves it, and whose wall time can jump."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush

from simulated.loop import SimulatedLoop

START_MS = 1_700_000_000_000


class Alarm:
    """A call to come at `when` (monotonic seconds)."""

    __slots__ = ("callback", "number", "when")

    def __init__(self, when: float, number: int, callback: Callable[[], object]) -> None:
        self.when = when
        self.number = number
        self.callback: Callable[[], object] | None = callback

    def __lt__(self, other: Alarm) -> bool:
        return (self.when, self.number) < (other.when, other.number)

    def cancel(self) -> None:
        self.callback = None


class SimulatedClock:
    """A `LoopClock` of a `SimulatedLoop`. Alarms fire in order, and the loop comes to rest after each."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._now = 0.0
        self._ahead_ms = 0
        self._numbers = 0
        self._alarms: list[Alarm] = []

    def now_ms(self) -> int:
        return START_MS + self._ahead_ms + round(self._now * 1000)

    def monotonic(self) -> float:
        return self._now

    @property
    def alarms(self) -> int:
        """How many calls are to come."""
        return sum(alarm.callback is not None for alarm in self._alarms)

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> Alarm:
        self._numbers += 1
        alarm = Alarm(self._now + max(0.0, delay_seconds), self._numbers, callback)
        heappush(self._alarms, alarm)
        return alarm

    async def sleep(self, seconds: float) -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        alarm = self.call_later(seconds, lambda: over.done() or over.set_result(None))
        try:
            await over
        finally:
            alarm.cancel()

    def jump(self, seconds: float) -> None:
        """Set wall time ahead (or back, where negative), as an operator or a time service does."""
        self._ahead_ms += round(seconds * 1000)

    async def advance(self, seconds: float) -> None:
        """Let time pass; whatever falls due meanwhile is done when this returns."""
        end = self._now + seconds
        await self._loop.settle()
        while self._alarms and self._alarms[0].when <= end:
            alarm = heappop(self._alarms)
            callback, alarm.callback = alarm.callback, None
            if callback is None:
                continue
            self._now = max(self._now, alarm.when)
            with self._loop.measured(callback):
                callback()
            await self._loop.settle()
        self._now = end
