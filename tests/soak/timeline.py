"""Wall time through all its jumps: when a moment came, and since when it has been over."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

FIRST: Final = -1.0
"""Before the simulation began, monotonic seconds."""
AHEAD_MS: Final = 1000
"""By how much a clock has to be ahead to count as such."""


class Timeline:
    """What the wall clock showed. `jumped` at each jump; times in monotonic seconds and wall-clock ms."""

    def __init__(self, start_ms: int) -> None:
        self._pieces: list[tuple[float, int]] = [(0.0, start_ms)]
        self._restarts: list[float] = []

    def jumped(self, at: float, ahead_ms: int) -> None:
        """From `at` on wall time is `ahead_ms` more than monotonic time."""
        self._pieces.append((at, ahead_ms))

    def restarted(self, at: float) -> None:
        """The broker started again."""
        self._restarts.append(at)

    def excuses_early(self, sent_at: float, stored_by: float, now: float) -> bool:
        """Whether the delay of what was stored between `sent_at` and `stored_by` may be cut short.

        A broker that starts again does not know how much of a delay has passed, when the clock that stored it
        was ahead of the one of the start (docs/howto/delay.md).
        """
        return any(
            self._latest(sent_at, min(stored_by, start)) >= self._latest(start, start) + AHEAD_MS
            for start in self._restarts[bisect_right(self._restarts, sent_at) :]
            if start <= now
        )

    def carried_on(self, due_ms: int, sent_at: float, now: float) -> bool:
        """Whether the clock that a broker started by since `sent_at` would show `due_ms`, had nobody set it.

        What was stored before a start is due when either clock says so.
        """
        return any(
            self._latest(start, start) + round((now - start) * 1000) >= due_ms
            for start in self._restarts[bisect_right(self._restarts, sent_at) :]
            if start <= now
        )

    def _latest(self, begin: float, end: float) -> int:
        """The latest time, ms, that the clock showed from `begin` to `end`."""
        return max(
            round(min(until, end) * 1000) + ahead
            for since, until, ahead in self._intervals(end)
            if until >= begin and since <= end
        )

    @property
    def last_jump(self) -> float:
        """When wall time jumped last."""
        return self._pieces[-1][0] if len(self._pieces) > 1 else FIRST

    def came(self, due_ms: int, sent_at: float, now: float) -> bool:
        """Whether the clock showed `due_ms` or more at some time between `sent_at` and `now`."""
        return any(
            end >= sent_at and round(min(end, now) * 1000) + ahead >= due_ms
            for _, end, ahead in self._intervals(now)
        )

    def over_since(self, due_ms: int, now: float) -> float:
        """Since when the clock shows `due_ms` or more, without a break; `now` when it does not."""
        since = now
        for start, end, ahead in reversed(list(self._intervals(now))):
            due = (due_ms - ahead) / 1000
            if due > end:
                break
            since = max(start, due)
            if due > start:
                break
        return since

    def _intervals(self, now: float) -> list[tuple[float, float, int]]:
        starts = [*self._pieces[1:], (now, 0)]
        return [(at, end, ahead) for (at, ahead), (end, _) in zip(self._pieces, starts, strict=True)]
