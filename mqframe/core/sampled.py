"""A count with its last minute, hour and day.

Adding is two additions; remembering happens on a timer. Source: StatsItem.java, which remembers every 10 s,
10 min and 1 h, and keeps 7, 7 and 25 of these.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SAMPLE_SECONDS: Final = 10.0
"""`Sampled.sample` is meant to be called so often."""
_SPANS: Final = ((10.0, 7), (600.0, 7), (3600.0, 25))
_MINUTE, _HOUR, _DAY = range(3)


class Snapshot(NamedTuple):
    """What was added over a stretch of time: in all, a second, and for each call."""

    sum: int
    per_second: float
    per_call: float


class Sampled:
    """Add to `total`, and to `times` once for each call. Times are monotonic seconds."""

    __slots__ = ("_samples", "times", "total")

    def __init__(self, now: float) -> None:
        self.total = 0
        self.times = 0
        first = (now, 0, 0)
        self._samples: tuple[list[tuple[float, int, int]], ...] = ([first], [first], [first])

    def sample(self, now: float) -> None:
        """Remember what there is at `now`, where it is time to."""
        entry = (now, self.total, self.times)
        for kept, (seconds, count) in zip(self._samples, _SPANS, strict=True):
            if now - kept[-1][0] >= seconds:
                kept.append(entry)
                if len(kept) > count:
                    del kept[0]

    def minute(self, now: float) -> Snapshot:
        """Over about the last minute."""
        return self._since(now, _MINUTE)

    def hour(self, now: float) -> Snapshot:
        """Over about the last hour."""
        return self._since(now, _HOUR)

    def day(self, now: float) -> Snapshot:
        """Over about the last day."""
        return self._since(now, _DAY)

    def _since(self, now: float, span: int) -> Snapshot:
        seconds, count = _SPANS[span]
        oldest = now - seconds * (count - 1)
        kept = self._samples[span]
        then, total, times = kept[0]
        for entry in kept:
            if entry[0] > oldest:
                break
            then, total, times = entry
        added, calls = self.total - total, self.times - times
        passed = now - then
        return Snapshot(added, added / passed if passed > 0 else 0.0, added / calls if calls else 0.0)
