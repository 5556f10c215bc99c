"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from heapq import heappop, heappush
from typing import Final, TypeVar

T = TypeVar("T")

_SETTLE_TURNS: Final = 25
"""Turns of the loop after a timer fired: enough for a request, its answer and what follows, over loopback."""

_QUIET_TURNS: Final = 3
"""After so many in which the loop had nothing else to do, what follows is waiting for time, or for a thread.

One is not enough: what is written to a socket in a turn is found by its reader in the next one.
"""

_REAL_SECONDS: Final = 0.001


class _Timer:
    """A call to come at `when` (monotonic seconds); `number` keeps the order of equal times."""

    __slots__ = ("callback", "number", "when")

    def __init__(self, when: float, number: int, callback: Callable[[], object]) -> None:
        self.when = when
        self.number = number
        self.callback: Callable[[], object] | None = callback

    def __lt__(self, other: _Timer) -> bool:
        return (self.when, self.number) < (other.when, other.number)

    def cancel(self) -> None:
        """Prevent the call."""
        self.callback = None


class ManualClock:
    """A `LoopClock` whose time only `advance`, `aadvance` and `advance_from_outside` move.

    Due timers fire in the order of their times, each at its own time; those of equal time in the order in
    which they were made. Wall and monotonic time move together, but for `jump`, which sets the wall clock.

    Without a loop, call `advance`. In the loop that the code under test runs in, `await aadvance(seconds)`:
    after each timer the loop gets turns to work. For code that runs in a loop of another thread, such as an
    in-process cluster, call `advance_from_outside(loop, seconds)` from the test's thread; it returns when all
    is done.

    `now_ms`: wall time to start at, milliseconds since 1970-01-01 UTC.
    """

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._set_ms = 0
        self._now = 0.0
        self._numbers = 0
        self._timers: list[_Timer] = []
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Wall-clock time, milliseconds since 1970-01-01 UTC."""
        return self._start_ms + self._set_ms + round(self._now * 1000)

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._now

    @property
    def timers(self) -> int:
        """How many calls are to come."""
        with self._lock:
            return sum(timer.callback is not None for timer in self._timers)

    @property
    def due_in(self) -> float | None:
        """Seconds until the next call falls due; `None` when there is none."""
        with self._lock:
            while self._timers and self._timers[0].callback is None:
                heappop(self._timers)
            return max(0.0, self._timers[0].when - self._now) if self._timers else None

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> _Timer:
        """Call `callback` once time was moved `delay_seconds` further. From any thread."""
        with self._lock:
            self._numbers += 1
            timer = _Timer(self._now + max(0.0, delay_seconds), self._numbers, callback)
            heappush(self._timers, timer)
        return timer

    async def sleep(self, seconds: float) -> None:
        """Return once time was moved `seconds` further."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not over.done():
                over.set_result(None)

        timer = self.call_later(seconds, lambda: loop.call_soon_threadsafe(wake))
        try:
            await over
        finally:
            timer.cancel()

    def jump(self, seconds: float) -> None:
        """Set the wall clock `seconds` forward, or back where negative; no time passes."""
        self._set_ms += round(seconds * 1000)

    def advance(self, seconds: float) -> None:
        """Move time by `seconds` and make the calls that fall due, here and now."""
        end = self._now + seconds
        while (timer := self._next(end)) is not None:
            self._fire(timer)
        self._now = max(self._now, end)  # other threads may have moved it further meanwhile

    async def aadvance(self, seconds: float) -> None:
        """As `advance`, with turns for the running loop before, between and after the calls."""
        end = self._now + seconds
        await self._settle()
        while (timer := self._next(end)) is not None:
            self._fire(timer)
            await self._settle()
        self._now = max(self._now, end)  # other threads may have moved it further meanwhile
        await self._settle()

    async def finish(self, work: Awaitable[T], step: float = 0.1) -> T:
        """The result of `work`; while it waits, time is moved on by `step` seconds again and again.

        A millisecond of real time goes with each step, for sockets and threads. Smaller steps leave what
        `work` asks of a slow machine more of that before its limits in the time of this clock are over.
        """
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.aadvance(step)
            if not task.done():
                await asyncio.sleep(_REAL_SECONDS)
        return await task

    def advance_from_outside(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """As `aadvance` in `loop`, which runs in another thread; returns when it is done."""
        asyncio.run_coroutine_threadsafe(self.aadvance(seconds), loop).result()

    def _next(self, end: float) -> _Timer | None:
        with self._lock:
            while self._timers and self._timers[0].callback is None:
                heappop(self._timers)
            if not self._timers or self._timers[0].when > end + 1e-9:
                return None
            return heappop(self._timers)

    def _fire(self, timer: _Timer) -> None:
        self._now = max(self._now, timer.when)
        callback, timer.callback = timer.callback, None
        if callback is not None:
            callback()

    async def _settle(self) -> None:
        # What else is ready in this turn; loops that do not tell are given all turns. An hour has tens of
        # thousands of timers, after most of which nothing follows.
        ready = getattr(asyncio.get_running_loop(), "_ready", (None,))
        quiet = 0
        for _ in range(_SETTLE_TURNS):
            await asyncio.sleep(0)
            quiet = 0 if ready else quiet + 1
            if quiet == _QUIET_TURNS:
                return
