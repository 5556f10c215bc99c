"""The queue of the next message where nobody chose one, and brokers to avoid after slow or failed sends.

Source: MQFaultStrategy.java, LatencyFaultToleranceImpl.java, TopicPublishInfo.selectOneMessageQueue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.messages.message import MessageQueue

_AVOIDED_MS: Final = ((15000, 30000), (5000, 10000), (3000, 6000), (1800, 5000), (550, 2000))
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


class QueueChoice:
    """Round robin over the queues of one topic; may be used by several threads.

    `start`: a random number, so that producers do not all begin at the same queue. `faults`: brokers to avoid
    for a while; `None`: only the broker that just failed is avoided.
    """

    __slots__ = ("_faults", "_next")

    def __init__(self, start: int, faults: FaultLatency | None = None) -> None:
        self._next = count(start).__next__
        self._faults = faults

    def choose(self, queues: Sequence[MessageQueue], avoid: str | None = None) -> MessageQueue:
        """The next of `queues` (not empty), of another broker than `avoid` where there is one."""
        if self._faults is not None:
            faults = self._faults
            return (
                self._first(queues, lambda name: name != avoid and faults.available(name))
                or self._first(queues, lambda name: name != avoid and faults.reachable(name))
                or queues[self._next() % len(queues)]
            )
        if avoid is not None:
            found = self._first(queues, lambda name: name != avoid)
            if found is not None:
                return found
        return queues[self._next() % len(queues)]

    def _first(self, queues: Sequence[MessageQueue], fits: Callable[[str], bool]) -> MessageQueue | None:
        for _ in queues:
            queue = queues[self._next() % len(queues)]
            if fits(queue.broker_name):
                return queue
        return None
