"""When calls run out of time: one heap for all calls of a server or client."""

from __future__ import annotations

from collections.abc import Container
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

_STALE_MAX: Final = 4096
"""Entries of calls that were answered, beyond those still pending, before the heap is rebuilt."""


class Waiting(Protocol):
    """A connection whose calls have deadlines."""

    @property
    def pending(self) -> Container[int]:
        """Numbers of the calls that wait."""

    def expire(self, opaque: int, now: float) -> None:
        """The time of the call of this number is over; `now`: monotonic seconds."""


class Deadlines:
    """Deadlines of calls, earliest first.

    An answered call leaves its entry behind; the heap is rebuilt when those outnumber the pending ones.
    """

    __slots__ = ("_heap", "_rebuild_above")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Waiting]] = []
        self._rebuild_above = _STALE_MAX

    def add(self, deadline: float, opaque: int, connection: Waiting) -> None:
        """Call `opaque` of `connection` must be answered before `deadline` (monotonic seconds)."""
        heap = self._heap
        if len(heap) >= self._rebuild_above:
            heap[:] = [entry for entry in heap if entry[1] in entry[2].pending]
            heapify(heap)
            self._rebuild_above = 2 * len(heap) + _STALE_MAX
        heappush(heap, (deadline, opaque, connection))

    def due(self, now: float) -> list[tuple[int, Waiting]]:
        """Pending calls whose deadline has come, earliest first; they are forgotten here."""
        heap = self._heap
        due = []
        while heap and (heap[0][0] <= now or heap[0][1] not in heap[0][2].pending):
            _, opaque, connection = heappop(heap)
            if opaque in connection.pending:
                due.append((opaque, connection))
        return due

    @property
    def next(self) -> float:
        """The earliest deadline, infinite without any."""
        return self._heap[0][0] if self._heap else float("inf")

    @property
    def entries(self) -> int:
        """How many entries are held, those of answered calls included."""
        return len(self._heap)

    def clear(self) -> None:
        """Forget all."""
        self._heap.clear()
