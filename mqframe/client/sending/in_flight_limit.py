"""Limits of what is in flight, for an asyncio loop and for threads: `acquire`, or `wait`, then `release`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import Final

from mqframe.core.errors import CallTimeout, ClosedError, TooMuchInFlight
from mqframe.core.sending.in_flight import InFlightCount
from mqframe.net.clock import LoopClock, within

_STOPPED: Final = "the producer was stopped; nothing was sent"


class AsyncInFlightLimit:
    """For one loop. `waiters`: who waits for room, and is served in this order."""

    def __init__(self, count: InFlightCount, clock: LoopClock) -> None:
        self._count = count
        self._clock = clock
        self.waiters: deque[tuple[asyncio.Future[None], int]] = deque()
        self._closed = False

    @property
    def count(self) -> InFlightCount:
        """What is under way."""
        return self._count

    def acquire(self, size: int) -> bool:
        """Count one of `size` bytes in if it fits and nobody waits."""
        return not self.waiters and self._count.acquire(size)

    async def wait(self, size: int, seconds: float) -> None:
        """Count it in when its turn comes. Raises `TooMuchInFlight` after `seconds`."""
        if self._closed:
            raise ClosedError(_STOPPED)
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append((granted, size))
        self._wake()
        try:
            await within(self._clock, seconds, granted)
        except CallTimeout:
            raise TooMuchInFlight(
                f"no room for a message of {size} bytes within {seconds:g} s: {self._count}; nothing was sent"
            ) from None
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release(size)  # it was granted in the same turn in which the caller gave up
            raise

    def release(self, size: int, count: int = 1) -> None:
        """Count `count` of `size` bytes in all out, and let those in who wait."""
        self._count.release(size, count)
        if self.waiters:
            self._wake()

    def close(self) -> None:
        """Fail all who wait."""
        self._closed = True
        for granted, _size in self.waiters:
            if not granted.done():
                granted.set_exception(ClosedError(_STOPPED))
        self.waiters.clear()

    def _wake(self) -> None:
        waiters = self.waiters
        while waiters:
            granted, size = waiters[0]
            if not granted.done():
                if not self._count.acquire(size):
                    return
                granted.set_result(None)
            waiters.popleft()


class BlockingInFlightLimit:
    """For threads. Nobody is served before others."""

    waiters = ()

    def __init__(self, count: InFlightCount) -> None:
        self._count = count
        self._changed = threading.Condition(threading.Lock())
        self._waiting = 0
        self._closed = False

    @property
    def count(self) -> InFlightCount:
        """What is under way."""
        return self._count

    def acquire(self, size: int) -> bool:
        """Count one of `size` bytes in if it fits; returns whether it did."""
        with self._changed:
            return self._count.acquire(size)

    async def wait(self, size: int, seconds: float) -> None:
        """Block this thread until it fits (the coroutine never suspends). Raises as the other's."""
        until = time.monotonic() + seconds
        with self._changed:
            self._waiting += 1
            try:
                while self._closed or not self._count.acquire(size):
                    if self._closed:
                        raise ClosedError(_STOPPED)
                    if not self._changed.wait(max(0.0, until - time.monotonic())):
                        raise TooMuchInFlight(
                            f"no room for a message of {size} bytes within {seconds:g} s: {self._count}; "
                            "nothing was sent"
                        )
            finally:
                self._waiting -= 1

    def release(self, size: int, count: int = 1) -> None:
        """Count out, and wake those who wait."""
        with self._changed:
            self._count.release(size, count)
            if self._waiting:
                self._changed.notify_all()

    def close(self) -> None:
        """Fail all who wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


InFlightLimit = AsyncInFlightLimit | BlockingInFlightLimit
