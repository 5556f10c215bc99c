"""The requests of one client that wait for their replies (source: RequestFutureHolder.java).

| now     | event                | then    | who waits                                       |
|---------|----------------------|---------|-------------------------------------------------|
| -       | `add`                | sending |                                                 |
| sending | `sent`               | waiting |                                                 |
| either  | `answer`             | -       | gets the reply, also before its send was heard of |
| either  | `remove`             | -       | knows by itself: the send failed, or it gave up |
| sending | its time is up       | -       | gets an error: the send did not end in time     |
| waiting | its time is up       | -       | gets an error: no reply came in time            |
| -       | `answer`             | -       | nobody; the reply came late, or twice           |
"""

from __future__ import annotations

import heapq
from typing import Generic, NamedTuple, TypeVar

from mqframe.core.errors import TooMuchInFlight

W = TypeVar("W")


class Expired(NamedTuple, Generic[W]):
    """A request whose time is up. `sent`: a broker has stored it."""

    correlation_id: str
    waiter: W
    sent: bool


class _Entry(Generic[W]):
    __slots__ = ("deadline", "sent", "waiter")

    def __init__(self, waiter: W, deadline: float) -> None:
        self.waiter = waiter
        self.deadline = deadline
        self.sent = False


class RequestTable(Generic[W]):
    """Waiters by correlation id; deadlines are monotonic seconds. `requests_max`: most that may wait."""

    __slots__ = ("_entries", "_order", "_requests_max")

    def __init__(self, requests_max: int = 100_000) -> None:
        self._requests_max = requests_max
        self._entries: dict[str, _Entry[W]] = {}
        self._order: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, correlation_id: str, waiter: W, deadline: float) -> None:
        """`waiter` waits until `deadline`. Raises `TooMuchInFlight` when as many wait as may."""
        if len(self._entries) >= self._requests_max:
            raise TooMuchInFlight(f"{self._requests_max} requests wait for replies already; nothing was sent")
        self._entries[correlation_id] = _Entry(waiter, deadline)
        heapq.heappush(self._order, (deadline, correlation_id))
        if len(self._order) > 2 * len(self._entries) + 64:
            self._order = [(entry.deadline, name) for name, entry in self._entries.items()]
            heapq.heapify(self._order)

    def sent(self, correlation_id: str) -> None:
        """A broker has stored the request."""
        entry = self._entries.get(correlation_id)
        if entry is not None:
            entry.sent = True

    def answer(self, correlation_id: str) -> W | None:
        """Remove and return the waiter of this reply; `None` when nobody waits."""
        entry = self._entries.pop(correlation_id, None)
        return None if entry is None else entry.waiter

    def remove(self, correlation_id: str) -> None:
        """Nobody waits for it any more."""
        self._entries.pop(correlation_id, None)

    def expire(self, now: float) -> list[Expired[W]]:
        """Those whose time is up, by deadline; they wait no more."""
        due: list[Expired[W]] = []
        order, entries = self._order, self._entries
        while order and order[0][0] <= now:
            deadline, correlation_id = heapq.heappop(order)
            entry = entries.get(correlation_id)
            if entry is not None and entry.deadline == deadline:
                del entries[correlation_id]
                due.append(Expired(correlation_id, entry.waiter, entry.sent))
        return due

    def next_deadline(self) -> float | None:
        """When the next one's time is up; `None` when nobody waits."""
        order, entries = self._order, self._entries
        while order and (order[0][1] not in entries or entries[order[0][1]].deadline != order[0][0]):
            heapq.heappop(order)
        return order[0][0] if order else None

    def clear(self) -> list[W]:
        """Remove and return all waiters."""
        waiters = [entry.waiter for entry in self._entries.values()]
        self._entries.clear()
        self._order.clear()
        return waiters
