"""Looks at a count over the last hour, in bounded memory: rates follow from them, and gaps stay gaps."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

SPAN_SECONDS: Final = 3600.0
"""How long looks are kept."""
LOOKS_MAX: Final = 360
"""Looks and gaps that are kept; of more, every second look goes, so that they still reach back as far."""


class Rate(NamedTuple):
    """What came a second, on average, from `begin` to `end` (s, of the clock of the looks)."""

    begin: float
    end: float
    per_second: float


class Series:
    """Looks at one count, which only grows; where it shrinks, something was made anew, and there is a gap.

    A look takes 16 bytes.
    """

    __slots__ = ("_ats", "_counts")

    def __init__(self) -> None:
        self._ats = array("d")
        self._counts = array("d")  # NaN: a gap

    def __len__(self) -> int:
        return len(self._ats)

    def add(self, at: float, count: float) -> None:
        """The count is `count` at `at`, s; later than all before."""
        self._append(at, count)

    def miss(self, at: float) -> None:
        """Nobody knows the count at `at`: there is no rate until two looks have been made again."""
        if self._counts and not math.isnan(self._counts[-1]):
            self._append(at, math.nan)

    @property
    def last(self) -> float:
        """What was counted last; NaN while that is not known."""
        return self._counts[-1] if self._counts else math.nan

    def rates(self) -> list[Rate]:
        """The rates between each two looks that follow each other, the oldest first."""
        return [
            Rate(begin, end, (new - old) / (end - begin))
            for (begin, old), (end, new) in pairwise(zip(self._ats, self._counts, strict=True))
            if end > begin and new >= old  # neither is a gap, then
        ]

    @property
    def growth(self) -> float:
        """How much was counted between looks, in all; gaps not counted."""
        return sum(each for each in self._steps() if each > 0)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was counted."""
        return not any(each > 0 for each in self._steps())

    def _steps(self) -> Iterator[float]:
        return (new - old for old, new in pairwise(self._counts))

    def _append(self, at: float, count: float) -> None:
        kept = 0
        # One look before the hour stays: the rate that begins with it reaches into the hour.
        while kept + 1 < len(self._ats) and self._ats[kept + 1] < at - SPAN_SECONDS:
            kept += 1
        if kept:
            del self._ats[:kept], self._counts[:kept]
        self._ats.append(at)
        self._counts.append(count)
        if len(self._ats) > LOOKS_MAX:
            self._thin()
        if len(self._ats) > LOOKS_MAX:  # gap after gap
            half = LOOKS_MAX // 2
            del self._ats[:half], self._counts[:half]

    def _thin(self) -> None:
        """Leave out every second look between the first and the last; gaps stay."""
        ats, counts = array("d"), array("d")
        skip = False
        last = len(self._ats) - 1
        for number, (at, count) in enumerate(zip(self._ats, self._counts, strict=True)):
            if math.isnan(count):
                if counts and math.isnan(counts[-1]):
                    continue
                skip = False
            elif skip and number != last:
                skip = False
                continue
            else:
                skip = True
            ats.append(at)
            counts.append(count)
        self._ats, self._counts = ats, counts
