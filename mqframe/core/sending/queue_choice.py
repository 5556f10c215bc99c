"""Brokers to avoid for a while because they were slow or failed.

Source: MQFaultStrategy.java (the table), LatencyFaultToleranceImpl.java.
"""

from __future__ import annotations

from typing import Final

from mqframe.core.clock import Clock

_AVOIDED_MS: Final = (
    (15000, 30000),
    (5000, 10000),
    (3000, 6000),
    (1800, 5000),
    (550, 2000),
)
_ISOLATED_AS_MS: Final = 10_000
"""A broker that failed counts as one that took so long."""


def avoided_ms(latency_ms: float) -> int:
    """For how long a broker that took `latency_ms` for a send is avoided, ms."""
    for least, avoided in _AVOIDED_MS:
        if latency_ms >= least:
            return avoided
    return 0


class FaultLatency:
    """What is known of each broker by name."""

    __slots__ = ("_avoided_until", "_clock", "_unreachable")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._avoided_until: dict[str, float] = {}
        self._unreachable: set[str] = set()

    def update(self, broker_name: str, latency_ms: float, *, failed: bool, reachable: bool) -> None:
        """Note how a send to `broker_name` went, how long it took, whether the broker was reached."""
        avoid = avoided_ms(_ISOLATED_AS_MS if failed else latency_ms)
        if avoid:
            until = self._clock.monotonic() + avoid / 1000
            self._avoided_until[broker_name] = max(until, self._avoided_until.get(broker_name, until))
        if reachable:
            self._unreachable.discard(broker_name)
        else:
            self._unreachable.add(broker_name)

    def available(self, broker_name: str) -> bool:
        """Whether the broker need not be avoided now."""
        until = self._avoided_until.get(broker_name)
        return until is None or self._clock.monotonic() >= until

    def reachable(self, broker_name: str) -> bool:
        """Whether the broker answered when it was last asked."""
        return broker_name not in self._unreachable
