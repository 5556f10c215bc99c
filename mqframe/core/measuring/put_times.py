"""How long puts took: the longest one, and how many of the last minute took how long.

Source: StoreStatsService.java.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from mqframe.core.measuring.histogram import Histogram

BOUNDS_MS: Final = (
    *range(1, 21),
    *range(22, 51, 2),
    *range(55, 101, 5),
    *range(110, 201, 10),
    *range(250, 501, 50),
    *range(600, 1001, 100),
    *range(2000, 10_001, 1000),
)
MINUTE_SECONDS: Final = 60
_SPANS: Final = {
    "[<=0ms]": 1,
    "[0~10ms]": 10,
    "[10~50ms]": 50,
    "[50~100ms]": 100,
    "[100~200ms]": 200,
    "[200~500ms]": 500,
    "[500ms~1s]": 1000,
    "[1~2s]": 2000,
    "[2~3s]": 3000,
    "[3~4s]": 4000,
    "[4~5s]": 5000,
    "[5~10s]": 10_000,
}
_LONGER: Final = "[10s~]"


class PutTimes:
    """Counts puts by how long they took, a batch once; `now`: monotonic seconds.

    `failed`: puts that the store did not take; `longest_ms`: of all since the start.
    """

    __slots__ = ("_begun", "_current", "_last", "failed", "longest_ms")

    def __init__(self, now: float) -> None:
        self._begun = now
        self._current = Histogram(BOUNDS_MS)
        self._last = Histogram(BOUNDS_MS)
        self.failed = 0
        self.longest_ms = 0.0

    def add(self, took_ms: float, count: int = 1) -> None:
        """Count puts that took so long each. Every send passes here."""
        # Most take less than the first bound, a millisecond: for these nothing is to be looked for.
        self._current.counts[bisect_left(BOUNDS_MS, took_ms) if took_ms > 1.0 else 0] += count
        if took_ms > self.longest_ms:
            self.longest_ms = took_ms

    def sample(self, now: float) -> None:
        """Begin the next minute, once this one is over."""
        if now - self._begun >= MINUTE_SECONDS:
            self._begun = now
            self._last, self._current = self._current, Histogram(BOUNDS_MS)

    def distribution(self) -> str:
        """How many puts of the last whole minute took how long, as Apache RocketMQ writes it."""
        below, words = 0, []
        for name, bound in _SPANS.items():
            count = sum(self._last.counts[: BOUNDS_MS.index(bound) + 1])
            words.append(f"{name}:{count - below}")
            below = count
        return " ".join([*words, f"{_LONGER}:{sum(self._last.counts) - below}"]) + " "

    def quantile_ms(self, share: float) -> float:
        """What `share` of the puts of the last whole minute did not exceed, ms; 0 when there were none.

        Between two bounds the puts are taken to lie evenly; beyond the last one it is that bound.
        """
        wanted = int(sum(self._last.counts) * share)
        below, low = 0, 0
        for bound, count in zip(BOUNDS_MS, self._last.counts, strict=False):
            if wanted <= below + count:
                return low + (bound - low) * (wanted - below) / count if count else float(low)
            below, low = below + count, bound
        return float(low)
