"""How long ago halves were stored, whatever was done to the clocks since."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Final

from mqframe.core.clock import Clock, SteadyClock
from mqframe.core.messages.message import ReceivedMessage
from mqframe_transactions.rules.half_rules import Age, root_of

_STEP_MS: Final = 100
"""Halves stored within such a time are of one age, so that a full queue of them costs little memory."""


class HalfAges:
    """Ages of the halves in one queue.

    For halves that this process stored by the monotonic clock since then. For older ones what the wall clock
    said at the start, and what has passed since: that is as good as the clock was then, but not less than
    nothing. A half that is put back at the end of its queue keeps its age.
    `since`: the first queue offset that this process stores.
    """

    def __init__(self, clock: Clock, since: int) -> None:
        self._clock = SteadyClock(clock)
        self._started = self._clock.now_ms()
        self._since = since
        self._offsets: deque[int] = deque()
        self._times: deque[int] = deque()
        self._put_back: dict[int, int] = {}

    def stored(self, first: int) -> None:
        """Halves from queue offset `first` on were stored just now."""
        now = self._clock.now_ms()
        if not self._times or now - self._times[-1] >= _STEP_MS:
            self._offsets.append(first)
            self._times.append(now)

    def moved(self, half: ReceivedMessage) -> None:
        """`half` is put back at the end of its queue."""
        self._put_back.setdefault(root_of(half), self._stored_at(half))

    def closed(self, root: int) -> None:
        """The transaction `root` has ended."""
        self._put_back.pop(root, None)

    def passed(self, offset: int) -> None:
        """Nothing before queue `offset` is open."""
        while len(self._offsets) > 1 and self._offsets[1] <= offset:
            self._offsets.popleft()
            self._times.popleft()

    def age(self, half: ReceivedMessage) -> Age:
        """How long ago the transaction of `half` began."""
        now, stored = self._clock.now_ms(), self._stored_at(half)
        return Age(now - stored, now - max(stored, self._started))

    def _stored_at(self, half: ReceivedMessage) -> int:
        first = self._put_back.get(root_of(half))
        if first is not None:
            return first
        if half.queue_offset < self._since:
            return min(half.store_timestamp, self._started)
        at = bisect_right(self._offsets, half.queue_offset) - 1
        return self._times[at] if at >= 0 else self._started
