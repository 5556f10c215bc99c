"""Which messages of a queue were checked by their CRCs since the start."""

from __future__ import annotations

from typing import Final

RANGES_MAX: Final = 16
"""So many readers at places of their own are told apart; beyond that the smallest range is forgotten."""


class CheckedOffsets:
    """Ranges of queue offsets, joined where they meet. What is forgotten is checked again.

    Several threads may use one: a range that two of them add at once may be forgotten, never made up.
    """

    __slots__ = ("_ranges",)

    def __init__(self) -> None:
        self._ranges: tuple[tuple[int, int], ...] = ()

    def has(self, start: int, end: int) -> bool:
        """Whether all offsets from `start` up to before `end` were added."""
        return any(low <= start and end <= high for low, high in self._ranges)

    def add(self, start: int, end: int) -> None:
        """Remember the offsets from `start` up to before `end`."""
        apart = []
        for low, high in self._ranges:
            if high < start or end < low:
                apart.append((low, high))
            else:
                start, end = min(low, start), max(high, end)
        ranges = [*apart, (start, end)]
        if len(ranges) > RANGES_MAX:
            ranges.remove(min(ranges, key=lambda each: each[1] - each[0]))
        self._ranges = tuple(ranges)

    def clear(self) -> None:
        """Forget all: the queue names other records."""
        self._ranges = ()
