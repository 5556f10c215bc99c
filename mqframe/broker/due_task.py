"""Work that is done when something falls due."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from mqframe.core.clock import Timer
from mqframe.core.measuring.failures import FailureCount
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("broker")
LONGEST_WAIT_MS: Final = 5000
"""No alarm waits longer than this at once: wall-clock time may be set while it waits."""
FAILURE_MS: Final = 10_000


class TimedTask:
    """Runs `work` in a task when it is time, never twice at once.

    `work` gives in how many ms it wants to run again; `None`: not before somebody calls `ring_in`. An error
    in it is logged under `name`, unless it is always the same, and it is run again after `FAILURE_MS`.
    `failures`: how many there were.
    """

    def __init__(self, clock: LoopClock, work: Callable[[], Awaitable[int | None]], name: str) -> None:
        self._clock = clock
        self._work = work
        self._name = name
        self._timer: Timer | None = None
        self._rings_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self.failures = FailureCount()

    def ring_in(self, wait_ms: int) -> None:
        """Run the work in `wait_ms` at the latest; while it runs it decides by itself when to run again."""
        if self._task is not None or self._stopped:
            return
        seconds = min(max(wait_ms, 0), LONGEST_WAIT_MS) / 1000
        rings_at = self._clock.monotonic() + seconds
        if self._timer is not None:
            if self._rings_at <= rings_at:
                return
            self._timer.cancel()
        self._rings_at = rings_at
        self._timer = self._clock.call_later(seconds, self._ring)

    def cancel(self) -> None:
        """Run nothing further, and cancel what runs."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """Run nothing further; returns when nothing runs any more."""
        task = self._task
        self.cancel()
        if task is not None:
            await asyncio.wait([task])

    def _ring(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        wait: int | None = FAILURE_MS
        try:
            wait = await self._work()
            if self.failures.well():
                log.error("work that was due goes well again", work=self._name)
        except Exception as problem:  # what falls due outlives an error of one round, which is logged
            if self.failures.note(problem):
                log.exception(
                    "work that was due failed; tried again",
                    work=self._name, after_ms=FAILURE_MS, times=self.failures.total,
                )  # fmt: skip
        finally:
            self._task = None
        if wait is not None:
            self.ring_in(wait)
