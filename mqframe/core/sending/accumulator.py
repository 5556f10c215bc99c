"""Which submitted messages travel together, and when.

Messages gather for each queue. A queue's newest batch is open until it is full, until the linger time since
its first message has passed, or until a message comes that must travel alone. Closed batches leave in order,
one at a time for each queue: the next one leaves when the one before it is done, so that the queue keeps the
order of `add` whatever happens on the way.

Nothing here waits or sends: `take_ready` returns what is to be sent now, `next_due` when to ask again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Batch(Generic[T]):
    """Messages that travel together. `bytes`: their size; `closed`: nothing can be added any more.

    `items`: an empty list to keep them in.
    """

    __slots__ = ("bytes", "closed", "due", "items", "queue")

    def __init__(self, queue: Hashable, due: float, items: list[T] | None = None) -> None:
        self.queue = queue
        self.due = due
        self.items: list[T] = [] if items is None else items
        self.bytes = 0
        self.closed = False


class _QueueBatches(Generic[T]):
    """The batches of one queue. `busy`: one of them is under way."""

    __slots__ = ("busy", "closed", "open")

    def __init__(self) -> None:
        self.open: Batch[T] | None = None
        self.closed: deque[Batch[T]] = deque()
        self.busy = False


class Accumulator(Generic[T]):
    """Gathers items into batches.

    `messages_max`, `bytes_max`: limits of a batch; `linger_seconds`: how long an open batch waits for more
    from its first message on; `batch`: makes an empty one. Times are readings of one monotonic clock.
    """

    def __init__(
        self,
        messages_max: int,
        bytes_max: int,
        linger_seconds: float,
        batch: Callable[[Hashable, float], Batch[T]] = Batch,
    ) -> None:
        self._make_batch = batch
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._linger = linger_seconds
        self._queues: dict[Hashable, _QueueBatches[T]] = {}
        self._ready: deque[_QueueBatches[T]] = deque()
        self._open: dict[Hashable, Batch[T]] = {}

    @property
    def empty(self) -> bool:
        """Whether nothing is waiting or under way."""
        return not self._queues

    @property
    def has_ready(self) -> bool:
        """Whether `take_ready` would return something without a clock."""
        return bool(self._ready)

    def add(
        self, queue: Hashable, item: T, size: int, now: float, *, alone: bool = False, count: int = 1
    ) -> Batch[T]:
        """Put `item`, `count` messages of `size` bytes, at the end of `queue`; returns the batch it is in."""
        batch = self._open.get(queue)
        if batch is None or alone or not self.join(batch, item, size, count):
            if batch is not None:
                self._close(batch)
            batch = self._begin(queue, now)
            batch.items.append(item)
            batch.bytes = size
            if alone or len(batch.items) >= self._messages_max or size >= self._bytes_max:
                self._close(batch)
        return batch

    def join(self, batch: Batch[T], item: T, size: int, count: int = 1) -> bool:
        """Put `item` at the end of `batch` if that is open and has room for it; returns whether it did."""
        items, total = batch.items, batch.bytes + size
        if batch.closed or total > self._bytes_max or len(items) + count > self._messages_max:
            return False
        items.append(item)
        batch.bytes = total
        if len(items) >= self._messages_max or total >= self._bytes_max:
            self._close(batch)
        return True

    def close_open(self, *, now: float | None = None) -> None:
        """Close open batches: all of them, or those whose linger time has passed at `now`."""
        for batch in list(self._open.values()):
            if now is not None and batch.due > now:
                break  # they opened in this order, so all later ones are due later
            self._close(batch)

    def take_ready(self) -> list[Batch[T]]:
        """Closed batches whose queues are free. Each queue is busy from now on until `done`."""
        taken = []
        while self._ready:
            batches = self._ready.popleft()
            batches.busy = True
            taken.append(batches.closed.popleft())
        return taken

    def done(self, batch: Batch[T]) -> None:
        """`batch` was sent or given up; its queue is free for the next one."""
        batches = self._queues[batch.queue]
        batches.busy = False
        if batches.closed:
            self._ready.append(batches)
        elif batches.open is None:
            del self._queues[batch.queue]

    def next_due(self) -> float | None:
        """When the oldest open batch has waited long enough; `None` when none is open."""
        for batch in self._open.values():
            return batch.due
        return None

    def _begin(self, queue: Hashable, now: float) -> Batch[T]:
        batches = self._queues.get(queue)
        if batches is None:
            batches = self._queues[queue] = _QueueBatches()
        batch = self._make_batch(queue, now + self._linger)
        batches.open = self._open[queue] = batch
        return batch

    def _close(self, batch: Batch[T]) -> None:
        batch.closed = True
        batches = self._queues[batch.queue]
        batches.open = None
        del self._open[batch.queue]
        batches.closed.append(batch)
        if not batches.busy and len(batches.closed) == 1:
            self._ready.append(batches)
