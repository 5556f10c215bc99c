"""A count with its last minute, hour and day.

Adding is two additions; remembering happens on a timer. Source: StatsItem.java, which remembers every 10 s,
10 min and 1 h, and keeps 7, 7 and 25 of these.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SAMPLE_SECONDS: Final = 10.0
"""`Sampled.sample` is meant to be called so often."""
_MINUTE, _HOUR, _DAY = (10.0, 7), (600.0, 7), (3600.0, 25)
_EARLY_SECONDS: Final = 5.0
"""A timer that fires a little early must not cost a sample."""


class SampleSnapshot(NamedTuple):
    """What was added over a stretch of time: in all, a second, and for each call."""

    sum: int
    per_second: float
    per_call: float


class Sampled:
    """Add to `total`, and to `times` once for each call. Times are monotonic seconds."""

    __slots__ = ("_day", "_hour", "_minute", "times", "total")

    def __init__(self, now: float) -> None:
        self.total = 0
        self.times = 0
        first = (now, 0, 0)
        self._minute = [first]
        self._hour = [first]
        self._day = [first]

    def sample(self, now: float) -> None:
        """Remember what there is at `now`. A broker does so for every topic: it is kept cheap."""
        entry = (now, self.total, self.times)
        minute, hour = self._minute, self._hour
        minute.append(entry)
        if len(minute) > _MINUTE[1]:
            del minute[0]
        if now - hour[-1][0] < _HOUR[0] - _EARLY_SECONDS:
            return
        hour.append(entry)
        if len(hour) > _HOUR[1]:
            del hour[0]
        day = self._day
        if now - day[-1][0] < _DAY[0] - _EARLY_SECONDS:
            return
        day.append(entry)
        if len(day) > _DAY[1]:
            del day[0]

    def minute(self, now: float) -> SampleSnapshot:
        """Over about the last minute."""
        return self._since(now, self._minute, *_MINUTE)

    def hour(self, now: float) -> SampleSnapshot:
        """Over about the last hour."""
        return self._since(now, self._hour, *_HOUR)

    def day(self, now: float) -> SampleSnapshot:
        """Over about the last day."""
        return self._since(now, self._day, *_DAY)

    def _since(
        self, now: float, kept: list[tuple[float, int, int]], seconds: float, count: int
    ) -> SampleSnapshot:
        oldest = now - seconds * (count - 1)
        then, total, times = kept[0]
        for entry in kept:
            if entry[0] > oldest:
                break
            then, total, times = entry
        added, calls = self.total - total, self.times - times
        passed = now - then
        return SampleSnapshot(added, added / passed if passed > 0 else 0.0, added / calls if calls else 0.0)
