"""Which queue the next message goes to when nobody says: round robin from a random start.

Source: MQFaultStrategy.selectOneMessageQueue, TopicPublishInfo.selectOneMessageQueue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from mqframe.core.fault_latency import FaultLatency
from mqframe.core.message import MessageQueue


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
