"""Which submitted messages travel together, and when.

Messages gather in one lane for each queue. A lane's newest batch is open until it is full, until the linger
time since its first message has passed, or until a message comes that must travel alone. Closed batches leave
in order, one at a time for each lane: the next one leaves when the one before it is done, so that the queue
keeps the order of `add` whatever happens on the way.

Nothing here waits or sends: `take_ready` tells what is to be sent now, `next_due` when to ask again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Batch(Generic[T]):
    """Messages that travel together. `bytes`: their size; `closed`: nothing can be added any more."""

    __slots__ = ("bytes", "closed", "due", "items", "lane")

    def __init__(self, lane: Hashable, due: float) -> None:
        self.lane = lane
        self.due = due
        self.items: list[T] = []
        self.bytes = 0
        self.closed = False


class _Lane(Generic[T]):
    __slots__ = ("busy", "closed", "open")

    def __init__(self) -> None:
        self.open: Batch[T] | None = None
        self.closed: deque[Batch[T]] = deque()
        self.busy = False


class Accumulator(Generic[T]):
    """Gathers items into batches.

    `messages_max`, `bytes_max`: limits of a batch; `linger_seconds`: how long an open batch waits for more
    from its first message on. Times are readings of one monotonic clock.
    """

    def __init__(self, messages_max: int, bytes_max: int, linger_seconds: float) -> None:
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._linger = linger_seconds
        self._lanes: dict[Hashable, _Lane[T]] = {}
        self._ready: deque[_Lane[T]] = deque()
        self._open: dict[Hashable, Batch[T]] = {}

    @property
    def empty(self) -> bool:
        """Whether nothing is waiting or under way."""
        return not self._lanes

    @property
    def has_ready(self) -> bool:
        """Whether `take_ready` would give something without a clock."""
        return bool(self._ready)

    def add(self, lane: Hashable, item: T, size: int, now: float, *, alone: bool = False) -> Batch[T]:
        """Put `item` of `size` bytes at the end of `lane`; gives the batch that it is in."""
        batch = self._open.get(lane)
        if batch is None or alone or batch.bytes + size > self._bytes_max:
            if batch is not None:
                self._close(batch)
            batch = self._begin(lane, now)
        self.append(batch, item, size)
        if alone and not batch.closed:
            self._close(batch)
        return batch

    def append(self, batch: Batch[T], item: T, size: int) -> None:
        """Put `item` at the end of `batch`, which must be open and have room; `add` finds one."""
        items = batch.items
        items.append(item)
        batch.bytes = total = batch.bytes + size
        if len(items) >= self._messages_max or total >= self._bytes_max:
            self._close(batch)

    def room(self, batch: Batch[T], size: int) -> bool:
        """Whether `batch` is open and takes `size` bytes more."""
        return not batch.closed and batch.bytes + size <= self._bytes_max

    def close_open(self, *, now: float | None = None) -> None:
        """Close open batches: all of them, or those whose linger time has passed at `now`."""
        for batch in list(self._open.values()):
            if now is not None and batch.due > now:
                break  # they opened in this order, so all later ones are due later
            self._close(batch)

    def take_ready(self) -> list[Batch[T]]:
        """Closed batches whose lanes are free. Each lane is busy from now on until `done`."""
        taken = []
        while self._ready:
            lane = self._ready.popleft()
            lane.busy = True
            taken.append(lane.closed.popleft())
        return taken

    def done(self, batch: Batch[T]) -> None:
        """`batch` was sent or given up; its lane is free for the next one."""
        lane = self._lanes[batch.lane]
        lane.busy = False
        if lane.closed:
            self._ready.append(lane)
        elif lane.open is None:
            del self._lanes[batch.lane]

    def next_due(self) -> float | None:
        """When the oldest open batch has waited long enough; `None` when none is open."""
        for batch in self._open.values():
            return batch.due
        return None

    def _begin(self, key: Hashable, now: float) -> Batch[T]:
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane()
        batch: Batch[T] = Batch(key, now + self._linger)
        lane.open = self._open[key] = batch
        return batch

    def _close(self, batch: Batch[T]) -> None:
        batch.closed = True
        lane = self._lanes[batch.lane]
        lane.open = None
        del self._open[batch.lane]
        lane.closed.append(batch)
        if not lane.busy and len(lane.closed) == 1:
            self._ready.append(lane)
