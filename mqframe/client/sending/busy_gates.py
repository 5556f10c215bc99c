"""Where batches of submitted messages wait while their broker says that it is busy; belongs to one loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mqframe.core.errors import AnswerError
from mqframe.core.retry.passing import BUSY_CODES
from mqframe.core.sending.busy_window import BusyWindow

T = TypeVar("T")


class BusyGates:
    """One gate for each broker, by name. Those who wait are served in order."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._windows: dict[str, BusyWindow] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def enter(self, broker: str) -> float:
        """Count a try at `broker` in, in its turn; returns the seconds that it waited for it."""
        window = self._windows.get(broker)
        if window is None:
            window = self._windows[broker] = BusyWindow()
        if broker not in self._waiting and window.enter():
            return 0.0
        began = self._monotonic()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(broker, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # its turn came as its sender gave up
                window.left()
            self._admit(broker)
            raise
        return self._monotonic() - began

    async def watched(self, broker: str, trying: Awaitable[T]) -> T:
        """The result of a try that has entered; learns from how it ends, and lets those in who wait."""
        window = self._windows[broker]
        try:
            result = await trying
        except AnswerError as answer:
            if answer.code in BUSY_CODES:
                window.refused()
            else:
                window.left()
            raise
        except BaseException:
            window.left()
            raise
        else:
            window.taken()
            return result
        finally:
            if broker in self._waiting:
                self._admit(broker)

    def _admit(self, broker: str) -> None:
        waiting, window = self._waiting.get(broker), self._windows[broker]
        while waiting:
            if not waiting[0].done():
                if not window.enter():
                    return
                waiting[0].set_result(None)
            waiting.popleft()
        self._waiting.pop(broker, None)
