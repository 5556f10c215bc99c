"""Waiting for room under a limit of what is under way, for each face."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import Protocol

from mqframe.core.budget import Budget
from mqframe.core.errors import CallTimeout, ClosedError, TooMuchInFlight
from mqframe.net.clock import LoopClock, within


class Room(Protocol):
    """A limit that can be waited for."""

    def take(self, size: int) -> bool:
        """Count one of `size` bytes in if it fits; tells whether it did."""
        ...

    async def wait(self, size: int, seconds: float) -> None:
        """Count it in as soon as it fits. Raises `TooMuchInFlight` when that takes longer than `seconds`."""
        ...

    def give(self, size: int, count: int = 1) -> None:
        """Count `count` of `size` bytes in all out."""
        ...


class AsyncRoom:
    """For one loop. Those who wait are served in order."""

    def __init__(self, budget: Budget, clock: LoopClock) -> None:
        self._budget = budget
        self._clock = clock
        self._waiters: deque[tuple[asyncio.Future[None], int]] = deque()
        self._closed = False

    @property
    def budget(self) -> Budget:
        """What is under way."""
        return self._budget

    def take(self, size: int) -> bool:
        """Count one of `size` bytes in if it fits and nobody waits."""
        return not self._waiters and self._budget.take(size)

    async def wait(self, size: int, seconds: float) -> None:
        """Count it in when its turn comes. Raises `TooMuchInFlight` after `seconds`."""
        if self._closed:
            raise ClosedError("the producer was stopped")
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((granted, size))
        self._wake()
        try:
            await within(self._clock, seconds, granted)
        except CallTimeout:
            raise TooMuchInFlight(
                f"no room for a message of {size} bytes within {seconds:g} s: {self._budget}; "
                "nothing was sent"
            ) from None
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.give(size)  # it was granted in the same turn in which the caller gave up
            raise

    def give(self, size: int, count: int = 1) -> None:
        """Count out, and let those in who wait."""
        self._budget.give(size, count)
        if self._waiters:
            self._wake()

    def close(self) -> None:
        """Fail all who wait."""
        self._closed = True
        for granted, _size in self._waiters:
            if not granted.done():
                granted.set_exception(ClosedError("the producer was stopped; nothing was sent"))
        self._waiters.clear()

    def _wake(self) -> None:
        waiters = self._waiters
        while waiters:
            granted, size = waiters[0]
            if not granted.done():
                if not self._budget.take(size):
                    return
                granted.set_result(None)
            waiters.popleft()


class BlockingRoom:
    """For threads."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._changed = threading.Condition(threading.Lock())
        self._waiting = 0

    def take(self, size: int) -> bool:
        """Count one of `size` bytes in if it fits."""
        with self._changed:
            return self._budget.take(size)

    async def wait(self, size: int, seconds: float) -> None:
        """Block this thread until it fits (the coroutine never suspends)."""
        until = time.monotonic() + seconds
        with self._changed:
            self._waiting += 1
            try:
                while not self._budget.take(size):
                    if not self._changed.wait(max(0.0, until - time.monotonic())):
                        raise TooMuchInFlight(
                            f"no room for a message of {size} bytes within {seconds:g} s: {self._budget}; "
                            "nothing was sent"
                        )
            finally:
                self._waiting -= 1

    def give(self, size: int, count: int = 1) -> None:
        """Count out, and wake those who wait."""
        with self._changed:
            self._budget.give(size, count)
            if self._waiting:
                self._changed.notify_all()
