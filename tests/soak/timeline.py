"""Wall time through all its jumps: when a moment came, and since when it has been over."""

from __future__ import annotations

from typing import Final

FIRST: Final = -1.0
"""Before the simulation began, monotonic seconds."""


class Timeline:
    """What the wall clock showed. `jumped` at each jump; times in monotonic seconds and wall-clock ms."""

    def __init__(self, start_ms: int) -> None:
        self._pieces: list[tuple[float, int]] = [(0.0, start_ms)]
        self._last_restart = FIRST

    def jumped(self, at: float, ahead_ms: int) -> None:
        """From `at` on wall time is `ahead_ms` more than monotonic time."""
        self._pieces.append((at, ahead_ms))

    def restarted(self, at: float) -> None:
        """The broker started again."""
        self._last_restart = at

    def excuses_early(self, sent_at: float, now: float) -> bool:
        """Whether a delay may be cut short: a broker that started again does not know how long it had passed
        of what was stored while the newest stamp was ahead of the clock (docs/howto/delay.md)."""
        if self._last_restart < sent_at:
            return False
        peak = max(
            round(min(end, sent_at) * 1000) + ahead
            for start, end, ahead in self._intervals(now)
            if start <= sent_at
        )
        return peak > round(sent_at * 1000) + self._pieces[-1][1]

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
