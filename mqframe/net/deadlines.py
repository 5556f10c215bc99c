"""When calls run out of time: one heap and one timer for all calls of a server or client."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from mqframe.net.clock import LoopClock, Timer

if TYPE_CHECKING:
    from mqframe.net.peer import Peer

_STALE_MAX: Final = 4096
"""Entries of calls that were answered, beyond those still waiting, before the heap is rebuilt."""


class Deadlines:
    """Ends calls when their time is over, earliest first.

    An answered call leaves its entry behind; the heap is rebuilt when those outnumber the waiting ones.
    """

    __slots__ = ("_armed_at", "_clock", "_heap", "_rebuild_above", "_timer")

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Peer]] = []
        self._timer: Timer | None = None
        self._armed_at = float("inf")
        self._rebuild_above = _STALE_MAX

    def add(self, deadline: float, opaque: int, peer: Peer) -> None:
        """Call `peer.expire(opaque)` at `deadline` (monotonic seconds) if it still waits then."""
        heap = self._heap
        if len(heap) >= self._rebuild_above:
            heap[:] = [entry for entry in heap if entry[1] in entry[2].waiting]
            heapify(heap)
            self._rebuild_above = 2 * len(heap) + _STALE_MAX
        heappush(heap, (deadline, opaque, peer))
        if deadline < self._armed_at:
            self._arm(deadline)

    @property
    def entries(self) -> int:
        """How many entries are held, those of answered calls included."""
        return len(self._heap)

    def stop(self) -> None:
        """Forget all."""
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed_at = deadline
        self._timer = self._clock.call_later(max(0.0, deadline - self._clock.monotonic()), self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._armed_at = float("inf")
        heap = self._heap
        now = self._clock.monotonic()
        while heap and (heap[0][0] <= now or heap[0][1] not in heap[0][2].waiting):
            _, opaque, peer = heappop(heap)
            if opaque in peer.waiting:
                peer.expire(opaque)
        if heap:
            self._arm(heap[0][0])
