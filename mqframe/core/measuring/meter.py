"""Meters: totals with rates over recent time; the hot path adds an int, the rest happens on a timer."""

from __future__ import annotations

from collections import deque
from typing import Final

SAMPLE_SECONDS: Final = 10.0
"""Meters are meant to be sampled so often."""
_SAMPLES: Final = 61


class Meter:
    """A total with its recent past. Add to `total`; call `sample` every 10 s; times are monotonic seconds."""

    __slots__ = ("_samples", "total")

    def __init__(self, now: float) -> None:
        self.total = 0
        self._samples = deque([(now, 0)], maxlen=_SAMPLES)

    def sample(self, now: float) -> None:
        """Remember the total as it is at `now`."""
        self._samples.append((now, self.total))

    def per_second(self, now: float, seconds: float) -> float:
        """How much was added a second over about the last `seconds`."""
        since, total = self._samples[0]
        for then, value in self._samples:
            if then > now - seconds:
                break
            since, total = then, value
        return (self.total - total) / (now - since) if now > since else 0.0
