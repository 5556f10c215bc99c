"""How many messages are with handlers at once: who may begin, and who waits for others to end; no loop."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final

NO_LIMIT: Final = 0


class InFlight:
    """At most `limit` messages at once (0: any number), begun in the order in which they came to wait.

    Who has more than `limit` by itself begins alone. Any thread may call it.
    """

    __slots__ = ("_limit", "_lock", "_waiting", "count")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._waiting: dict[Callable[[], object], int] = {}
        self.count = 0
        """How many there are now."""

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self._waiting)

    def enter(self, count: int, wake: Callable[[], object]) -> bool:
        """Begin with `count`; whether that may be now. Else `wake`, one for each call, is called then."""
        with self._lock:
            if self._waiting or not self._has_room(count):
                self._waiting[wake] = count
                return False
            self.count += count
            return True

    def leave(self, count: int) -> None:
        """`count` messages that began have ended."""
        begun = []
        with self._lock:
            self.count -= count
            while self._waiting:
                wake, wanted = next(iter(self._waiting.items()))
                if not self._has_room(wanted):
                    break
                del self._waiting[wake]
                self.count += wanted
                begun.append(wake)
        for wake in begun:
            wake()

    def give_up(self, count: int, wake: Callable[[], object]) -> None:
        """Who waits for `wake` waits no longer; where it began meanwhile, its `count` messages have ended."""
        with self._lock:
            if self._waiting.pop(wake, None) is not None:
                self.count += count  # it leaves as if it had begun: others may have waited behind it alone
        self.leave(count)

    def _has_room(self, count: int) -> bool:
        return self._limit == NO_LIMIT or not self.count or self.count + count <= self._limit
