"""A bucket of what may pass in a second, and the line of those that it had too little for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

LINE_MAX: Final = 64
"""So many stand in the line of one bucket; whoever comes then is told to come again, and has no place."""
_EXACT: Final = 1e-6
"""What sums of floats may lack: times of seconds, rates up to some thousand millions."""


class RateBucket:
    """`rate` flows in a second, up to `burst` lies in it; full at first.

    What passes takes its amount out. An amount over `burst` passes once the bucket is full, and owes the
    rest. So in any time `t` no more than `burst` + `rate` * `t` passes, or the largest amount in place of
    `burst` where that is more.

    Who found too little has a place in the line until it comes again: those behind get only what it leaves.
    """

    __slots__ = ("_level", "_line", "_since", "burst", "rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = burst
        self._level = burst
        self._since = now
        self._line: dict[Hashable, tuple[int, float, float]] = {}

    def level(self, now: float) -> float:
        """How much is there; negative: so much is owed."""
        if now > self._since:
            self._level = min(self.burst, self._level + (now - self._since) * self.rate)
            self._since = now
        return self._level

    def is_idle(self, now: float) -> bool:
        """Whether nothing is known of it that a new one would not know."""
        return self.level(now) >= self.burst and not any(until > now for _, _, until in self._line.values())

    def change(self, rate: float, burst: float, now: float) -> None:
        """Have other limits from now on; as full, or as much in debt, in seconds, as before."""
        seconds = self.level(now) / self.rate
        full = self._level >= self.burst
        self.rate, self.burst = rate, burst
        self._level = burst if full else min(burst, seconds * rate)

    def wait(self, who: Hashable, age: int, amount: float, now: float) -> float:
        """Seconds until `amount` can pass, behind those in the line that are older; 0: it can now."""
        needed = min(amount, self.burst) + (self._ahead(who, age, now) if self._line else 0.0)
        missing = needed - self.level(now)
        return missing / self.rate if missing > _EXACT else 0.0

    def take(self, amount: float, now: float) -> None:
        """`amount` passes, whatever there is."""
        self._level = self.level(now) - amount

    def stand(self, who: Hashable, age: int, amount: float, until: float, now: float) -> None:
        """`who` found too little, and has a place in the line until `until`. `age`: the older, the lower."""
        if who not in self._line and len(self._line) >= LINE_MAX:
            self._line = {each: place for each, place in self._line.items() if place[2] > now}
            if len(self._line) >= LINE_MAX:
                return
        self._line[who] = (age, min(amount, self.burst), until)

    def leave(self, who: Hashable) -> None:
        """`who` passed, or gave up."""
        self._line.pop(who, None)

    def _ahead(self, who: Hashable, age: int, now: float) -> float:
        return sum(
            needed
            for each, (other, needed, until) in self._line.items()
            if other < age and until > now and each != who
        )
