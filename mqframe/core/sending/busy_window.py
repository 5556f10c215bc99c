"""How many batches may be under way to a broker that says it is busy.

There is no limit while nobody says so. A refusal halves what is under way, and each batch that is taken makes
room for a little more, about one for every round: so a broker gets what it can take (additive increase and
multiplicative decrease, as of TCP's congestion window, RFC 5681).
"""

from __future__ import annotations

from math import inf
from typing import Final

FREE_AGAIN: Final = 64.0
"""A window of so many batches is no limit any more."""


class BusyWindow:
    """The batches under way to one broker, and how many there may be."""

    __slots__ = ("_older", "limit", "under_way")

    def __init__(self) -> None:
        self.limit = inf
        self.under_way = 0
        self._older = 0

    def enter(self) -> bool:
        """Count one more in if it fits; returns whether it did."""
        if self.under_way + 1 > self.limit:
            return False
        self.under_way += 1
        return True

    def refused(self) -> None:
        """One came back, as the broker is busy.

        Those that left under the same limit halve it once, whatever each of them is told.
        """
        if self._older:
            self.left()
            return
        self.limit = max(1.0, min(self.limit, self.under_way) / 2)
        self.under_way -= 1
        self._older = self.under_way

    def taken(self) -> None:
        """One was stored."""
        self.left()
        if self.limit < inf:
            self.limit += 1 / self.limit
            if self.limit >= FREE_AGAIN:
                self.limit = inf

    def left(self) -> None:
        """One ended in another way, which says nothing of how busy the broker is."""
        self.under_way -= 1
        if self._older:
            self._older -= 1
