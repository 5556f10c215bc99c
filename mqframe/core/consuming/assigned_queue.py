"""Where a lite pull consumer stands in a queue that was assigned to it: no locks, no clock, no loop.

Three offsets (counts of messages) say it all: `next_offset`, which the next pull asks for; `consumed`, past
the last message that was handed out; `settled`, past the last one that the application is known to have done
with, which is what may be committed without asking it. `None`: not known yet.

    event      allowed        next_offset        consumed            settled      what is held
    place(o)   none known     o                  -                   -            -
    pulled     ticket valid   answer's           answer's (1)        -            answer's messages added
    moved(o)   ticket valid   o                  o                   o            emptied, tickets void
    seek(o)    not dropped    o                  o                   o            emptied, tickets void
    take(n)    not dropped    -                  past the last (2)   -            first n handed out
    settle     not dropped    -                  -                   consumed     -
    drop       always         -                  -                   -            emptied, tickets void

(1) only when nothing is held, so that messages that nobody wanted do not hold progress back; (2) where the
next pull begins when nothing is left. A sought offset thus goes before that of the pulls, and that before the
one that the broker or another store keeps. A ticket is what is held when a pull begins: an answer that comes
after a seek finds another, and is void. A paused queue is pulled no more, but what is held of it is handed
out. A dropped queue stays so. Sources: AssignedMessageQueue.java, DefaultLitePullConsumerImpl.java.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.process_queue import ProcessQueue


class Position:
    """One assigned queue. `now`: monotonic seconds; `offset`: where to begin, `None` when not known yet."""

    __slots__ = ("consumed", "dropped", "held", "next_offset", "paused", "queue", "settled")

    def __init__(self, queue: MessageQueue, now: float, offset: int | None = None) -> None:
        self.queue = queue
        self.held = ProcessQueue(queue, now)
        self.next_offset = offset
        self.consumed: int | None = None
        self.settled: int | None = None
        self.paused = False
        self.dropped = False

    def place(self, offset: int) -> None:
        """Begin at `offset`, which a store or a broker gave, unless a better one is known by now."""
        if self.next_offset is None:
            self.next_offset = offset

    def seek(self, offset: int, now: float) -> None:
        """Go to `offset`; what is held, and what pulls under way will bring, is forgotten."""
        if not self.dropped:
            self._empty(now)
            self.next_offset = self.consumed = self.settled = offset

    def pulled(self, ticket: ProcessQueue, messages: Sequence[ReceivedMessage], next_offset: int) -> bool:
        """Take in the answer of a pull that began when `ticket` was `held`; whether it was still valid."""
        if ticket is not self.held or self.dropped:
            return False
        self.next_offset = next_offset
        self.held.put(messages)
        if not self.held.message_count:
            self.consumed = next_offset
        return True

    def moved(self, ticket: ProcessQueue, offset: int, now: float) -> bool:
        """The offset that was asked for does not exist: go to `offset`; whether the pull was still valid."""
        if ticket is not self.held or self.dropped:
            return False
        self.seek(offset, now)
        return True

    def take(self, count_max: int) -> list[ReceivedMessage]:
        """Hand out up to `count_max` messages in the order of their offsets; empty when none is held."""
        messages = self.held.take(count_max)
        if messages:
            lowest = self.held.remove(messages)
            self.consumed = lowest if self.held.message_count else self.next_offset
        return messages

    def settle(self) -> None:
        """Everything handed out so far was done with."""
        if not self.dropped:
            self.settled = self.consumed

    def drop(self, now: float) -> None:
        """The queue is somebody else's now."""
        self._empty(now)
        self.dropped = True

    def _empty(self, now: float) -> None:
        self.held.dropped = True
        self.held = ProcessQueue(self.queue, now)
