"""Time as the rules see it. Nothing in `core` reads a clock by itself; one is handed in."""

from __future__ import annotations

from typing import Final, Protocol

JUMP_MS: Final = 1000
"""By how much wall-clock time may leave monotonic time before it counts as set."""


class Clock(Protocol):
    """Two readings of time."""

    def now_ms(self) -> int:
        """Wall-clock time, milliseconds since 1970-01-01 UTC."""

    def monotonic(self) -> float:
        """Seconds that only ever grow, from an arbitrary start."""


class SteadyClock:
    """The wall clock as it would be had nobody set it since this object was made.

    For times that only have to pass and that never leave the process: however the wall clock jumps, a wait of
    ten seconds takes ten. What others read, or what is read after a restart, is wall-clock time.
    """

    __slots__ = ("_clock", "_origin")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._origin = clock.now_ms() - clock.monotonic() * 1000

    def now_ms(self) -> int:
        """Milliseconds that only ever grow; at first those of the wall clock."""
        return round(self._origin + self._clock.monotonic() * 1000)

    def monotonic(self) -> float:
        """As that of the clock below."""
        return self._clock.monotonic()

    def ahead_ms(self) -> int:
        """By how much the wall clock was set forward since this object was made; negative: back."""
        return self._clock.now_ms() - self.now_ms()


class SetTimes:
    """By how much the wall clock had been set when each part of a queue was stored.

    A time that was written into a message when the clock was 10 h ahead means another moment than the same
    time written before. `since`: the first queue offset that this process stores, of older ones nothing is
    known.
    """

    __slots__ = ("_marks", "_steady", "since")

    def __init__(self, steady: SteadyClock, since: int) -> None:
        self._steady = steady
        self.since = since
        self._marks: list[tuple[int, int]] = [(since, steady.ahead_ms())]

    def stored(self, offset: int) -> bool:
        """Messages from queue `offset` on were stored just now; returns whether the clock was set before."""
        ahead = self._steady.ahead_ms()
        if abs(ahead - self._marks[-1][1]) < JUMP_MS:
            return False
        self._marks.append((offset, ahead))
        return True

    def correction(self, offset: int) -> int | None:
        """What to add to a time (ms) that the message at queue `offset` names, to have the same moment by the
        wall clock of now; `None` for one that was stored before this process began."""
        if offset < self.since:
            return None
        ahead = next(ahead for start, ahead in reversed(self._marks) if start <= offset)
        change = self._steady.ahead_ms() - ahead
        return change if abs(change) >= JUMP_MS else 0
