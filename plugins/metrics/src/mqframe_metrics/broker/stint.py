"""Long work whose steps take no two the same time, between which the loop serves others."""

from __future__ import annotations

import time
from collections.abc import Callable

from mqframe.turns import next_turn


class Stint:
    """Says when a work whose steps take no two the same time has had its turn: after `seconds` of it.

    `now`: gives the time, s.
    """

    __slots__ = ("_now", "_seconds", "_until")

    def __init__(self, seconds: float, now: Callable[[], float] = time.perf_counter) -> None:
        self._seconds = seconds
        self._now = now
        self._until = now() + seconds

    @property
    def is_over(self) -> bool:
        """Whether others are to have a turn now."""
        return self._now() >= self._until

    async def next(self) -> None:
        """Wait for the next turn."""
        await next_turn()
        self._until = self._now() + self._seconds
