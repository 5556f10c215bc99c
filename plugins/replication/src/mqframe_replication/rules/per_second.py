"""How much there was in the last whole second."""

from __future__ import annotations


class PerSecond:
    """Counts in seconds of a clock that never goes back. `now`: its seconds."""

    __slots__ = ("_before", "_count", "_second")

    def __init__(self) -> None:
        self._second = self._count = self._before = 0

    def add(self, count: int, now: float) -> None:
        """`count` more."""
        self._turn(now)
        self._count += count

    def last(self, now: float) -> int:
        """How much there was in the second before this one."""
        self._turn(now)
        return self._before

    def _turn(self, now: float) -> None:
        second = int(now)
        if second != self._second:
            self._before = self._count if second == self._second + 1 else 0
            self._count = 0
            self._second = second
