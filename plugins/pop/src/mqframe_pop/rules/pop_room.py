"""How many messages a push consumer that pops may have in hand."""

from __future__ import annotations

from typing import Final

SOON_SECONDS: Final = 0.1
"""What is done within this time waits for no worker worth speaking of."""
LEAST: Final = 16
"""So many quick listeners may have in hand, however few workers there are."""
_WEIGHT: Final = 0.25


def most_in_hand(workers: int) -> int:
    """The most messages that a member with `workers` ever has in hand, and leaves when its process dies."""
    return max(2 * workers, LEAST)


class PopRoom:
    """As many messages as there are workers to begin them, and where listeners are quick what they do in
    `SOON_SECONDS`, up to `most_in_hand`: what is popped and not begun is kept from other members, and counts
    as delivered if this one dies. `now`: monotonic seconds.
    """

    __slots__ = ("_done", "_rate", "_since")

    def __init__(self, now: float) -> None:
        self._since = now
        self._done = 0
        self._rate = 0.0

    def done(self, count: int, now: float) -> None:
        """`count` messages more are done."""
        self._done += count
        elapsed = now - self._since
        if elapsed >= SOON_SECONDS:
            # After a rest the time says nothing of how quick listeners are.
            rate = self._done / min(elapsed, 10 * SOON_SECONDS)
            self._rate += (rate - self._rate) * _WEIGHT
            self._since, self._done = now, 0

    def limit(self, workers: int) -> int:
        """The most messages in hand, with `workers` messages that can be begun at once."""
        return max(workers, min(int(self._rate * SOON_SECONDS), most_in_hand(workers)))

    def wanted(self, in_hand: int, workers: int, sources: int, count_max: int) -> int:
        """How many one pop of `sources` that go on at once asks for; 0: it waits."""
        room = self.limit(workers) - in_hand
        return 0 if room <= 0 else max(1, min(room // max(sources, 1), count_max))
