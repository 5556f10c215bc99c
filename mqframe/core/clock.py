"""Time as the rules see it. Nothing in `core` reads a clock by itself; one is handed in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Final, Protocol

JUMP_MS: Final = 1000
"""By how much wall-clock time may leave monotonic time before it counts as set."""
NOTED_MS: Final = 50
"""By how much it may before that is noted: two small jumps make a large one, with messages between them. Less
is the grain of clocks."""


class Clock(Protocol):
    """Two readings of time."""

    def now_ms(self) -> int:
        """Wall-clock time, milliseconds since 1970-01-01 UTC."""

    def monotonic(self) -> float:
        """Seconds that only ever grow, from an arbitrary start."""


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Prevent the call. Without effect once it was made."""


class TimerClock(Clock, Protocol):
    """A clock on which calls can be scheduled, in the thread of its loop."""

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` once `delay_seconds` have passed."""


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

    def stored(self, offset: int) -> None:
        """Messages from queue `offset` on were stored just now."""
        ahead = self._steady.ahead_ms()
        if abs(ahead - self._marks[-1][1]) >= NOTED_MS:
            self._marks.append((offset, ahead))

    def passed(self, offset: int) -> None:
        """Nobody asks for messages before queue `offset` any more."""
        del self._marks[: self._mark(offset)]

    @property
    def marks(self) -> int:
        """How many settings of the clock are remembered."""
        return len(self._marks)

    def correction(self, offset: int) -> int | None:
        """What to add to a time (ms) that the message at queue `offset` names, to have the same moment by the
        wall clock of now; `None` for one that was stored before this process began."""
        if offset < self.since:
            return None
        change = self._steady.ahead_ms() - self._marks[self._mark(offset)][1]
        return change if abs(change) >= JUMP_MS else 0

    def _mark(self, offset: int) -> int:
        return max(0, bisect_right(self._marks, offset, key=itemgetter(0)) - 1)
