"""Clocks with timers: the clock of an asyncio loop, and time limits and periodic calls on any clock.

`mqframe_testing.manual_clock.ManualClock` is the other implementation; with it every rule that waits can be
tested without waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from mqframe.core.clock import Timer, TimerClock
from mqframe.core.errors import CallTimeout
from mqframe.core.measuring.failures import FailureCount
from mqframe.log import get_logger

T = TypeVar("T")
log = get_logger("net")

_STOOD_STILL_SECONDS: Final = 0.25
_WAIT_ON_SECONDS_MAX: Final = 3.0


def to_wait_on(late_seconds: float) -> float:
    """For how long to wait on for others when the timer that ends a wait fires so late.

    0 for one that is on time. Any other tells that this process stood still: its machine was paused, or read
    its pages anew. What others said meanwhile was not read, and who is on the same machine could not say it.
    """
    return 0.0 if late_seconds < _STOOD_STILL_SECONDS else min(late_seconds, _WAIT_ON_SECONDS_MAX)


class LoopClock(TimerClock, Protocol):
    """A clock on which one can wait, too; `call_later` and `sleep` belong to the loop's thread."""

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed."""


class SystemClock:
    """Real time; timers are those of the running asyncio loop."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Wall-clock time, milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    # Not wrapped: every message asks several times.
    monotonic = staticmethod(time.monotonic)
    """Seconds that only ever grow."""

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` once `delay_seconds` have passed."""
        return asyncio.get_running_loop().call_later(delay_seconds, callback)

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed."""
        await asyncio.sleep(seconds)


def boot_id() -> str:
    """What names the run of this machine since it was switched on; empty where nothing does.

    Its processes share the monotonic clock, and what the page cache holds, within one run only.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


async def within(clock: LoopClock, seconds: float, awaitable: Awaitable[T]) -> T:
    """The result of `awaitable`; when it takes longer than `seconds` it is cancelled: `CallTimeout`.

    Where this process stood still at the end of that it has a little longer (`to_wait_on`).
    """
    task = asyncio.ensure_future(awaitable)
    expired = False
    due = clock.monotonic() + seconds
    timer: Timer

    def expire() -> None:
        nonlocal expired
        expired = task.cancel()

    def fired() -> None:
        nonlocal timer
        timer = clock.call_later(to_wait_on(clock.monotonic() - due), expire)

    timer = clock.call_later(seconds, fired)
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if expired and (current is None or not current.cancelling()):
            raise CallTimeout(f"not done within {seconds} s") from None
        raise
    finally:
        timer.cancel()


class Every:
    """Calls `callback` every `seconds`, the first time after `first` seconds, until `stop`.

    A callback may be a plain or an async function; the next call is `seconds` after the last one ended, so
    calls never overlap. An error in it is logged under `name`, unless it is always the same, and the calls go
    on. `failures`: how many there were.
    """

    def __init__(
        self,
        clock: LoopClock,
        seconds: float,
        callback: Callable[[], Any],
        *,
        name: str,
        first: float | None = None,
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._callback = callback
        self._name = name
        self._task: asyncio.Future[Any] | None = None
        self._stopped = False
        self.failures = FailureCount()
        self._timer = clock.call_later(seconds if first is None else first, self._fire)

    def stop(self) -> None:
        """Make no further call, and cancel the one under way."""
        self._stopped = True
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _fire(self) -> None:
        try:
            result = self._callback()
        except Exception as problem:  # a periodic task outlives its errors; they are logged
            self._failed(problem)
            result = None
        else:
            if not asyncio.iscoroutine(result):
                self._well()
        if result is not None and asyncio.iscoroutine(result):
            self._task = asyncio.ensure_future(result)
            self._task.add_done_callback(self._done)
        elif not self._stopped:
            self._timer = self._clock.call_later(self._seconds, self._fire)

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._task = None
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            self._failed(problem)
        else:
            self._well()
        if not self._stopped:
            self._timer = self._clock.call_later(self._seconds, self._fire)

    def _failed(self, problem: BaseException) -> None:
        if self.failures.note(problem):
            log.error("periodic task failed", task=self._name, times=self.failures.total, exc_info=problem)

    def _well(self) -> None:
        if self.failures.well():
            log.error("periodic task goes well again", task=self._name)
