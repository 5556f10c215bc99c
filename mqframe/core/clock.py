"""Time as the rules see it. Nothing in `core` reads a clock by itself; one is handed in."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Two readings of time."""

    def now_ms(self) -> int:
        """Wall-clock time, milliseconds since 1970-01-01 UTC."""

    def monotonic(self) -> float:
        """Seconds that only ever grow, from an arbitrary start."""
