"""What the broker counts: messages in and out, by topic and by group."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.meter import Meter

WINDOWS_SECONDS: Final = (10.0, 60.0, 600.0)
"""Stretches that a broker's rates are given for."""
_RATE_SECONDS: Final = 60.0


class Statistics:
    """Meters; `sample` is called every 10 s. Days begin at local midnight, or when the broker started."""

    __slots__ = (
        "_clock",
        "_day",
        "get",
        "get_requests",
        "gets",
        "morning",
        "put",
        "puts",
        "started_ms",
        "yesterday",
    )

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        now = clock.monotonic()
        self.started_ms = clock.now_ms()
        self.put = Meter(now)
        self.get = Meter(now)
        self.get_requests = Meter(now)
        self.puts: dict[str, Meter] = {}
        self.gets: dict[tuple[str, str], Meter] = {}
        self.morning = (0, 0)
        self.yesterday = (0, 0)
        self._day = self._today()

    def topic(self, name: str) -> Meter:
        """The meter of messages put into topic `name`."""
        meter = self.puts.get(name)
        if meter is None:
            meter = self.puts[name] = Meter(self._clock.monotonic())
        return meter

    def got(self, group: str, topic: str, count: int) -> None:
        """Count `count` messages given to `group`."""
        self.get.total += count
        meter = self.gets.get((group, topic))
        if meter is None:
            meter = self.gets[group, topic] = Meter(self._clock.monotonic())
        meter.total += count

    def put_rate(self, topic: str) -> float:
        """Messages a second put into `topic`, over the last minute."""
        meter = self.puts.get(topic)
        return 0.0 if meter is None else round(meter.per_second(self._clock.monotonic(), _RATE_SECONDS), 2)

    def get_rate(self, group: str, topic: str) -> float:
        """Messages of `topic` a second given to `group`, over the last minute."""
        meter = self.gets.get((group, topic))
        return 0.0 if meter is None else round(meter.per_second(self._clock.monotonic(), _RATE_SECONDS), 2)

    def rates(self, meter: Meter) -> str:
        """Three rates as the reference writes them: over 10 s, 1 min and 10 min."""
        now = self._clock.monotonic()
        return " ".join(f"{meter.per_second(now, seconds):.2f}" for seconds in WINDOWS_SECONDS)

    def forget_topic(self, name: str) -> None:
        """Drop the meters of a deleted topic."""
        self.puts.pop(name, None)
        for key in [key for key in self.gets if key[1] == name]:
            del self.gets[key]

    def sample(self) -> None:
        """Let all meters remember their totals; begin a new day when it is time."""
        now = self._clock.monotonic()
        for meter in (self.put, self.get, self.get_requests, *self.puts.values(), *self.gets.values()):
            meter.sample(now)
        today = self._today()
        if today != self._day:
            self._day = today
            self.yesterday, self.morning = self.morning, (self.put.total, self.get.total)

    def _today(self) -> str:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000).strftime("%Y%m%d")
