"""Histograms: how many values lie below each of a few bounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence


class Histogram:
    """Counts values by the first of `bounds`, which ascend, that they do not exceed; the last has the rest.

    `counts`: one more than there are bounds, not cumulated; `sum`: of all values.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float], counts: list[int] | None = None, sum: float = 0) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1) if counts is None else counts
        self.sum = sum

    def add(self, value: float, times: int = 1) -> None:
        """Count `value`, `times` over."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of `histograms`, of which there is one at least and all have the same bounds."""
    found: Histogram | None = None
    for each in histograms:
        if found is None:
            found = Histogram(each.bounds)
        found.counts = [a + b for a, b in zip(found.counts, each.counts, strict=True)]
        found.sum += each.sum
    if found is None:
        raise ValueError("there is no histogram to merge")
    return found
