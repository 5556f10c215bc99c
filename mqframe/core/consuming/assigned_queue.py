"""A queue assigned to a consumer: where its next pull begins, and how far it was consumed; no clock, no loop.

Three offsets (counts of messages) say it all: `next_offset`, which the next pull asks for; `consumed`, past
the last message that a poll returned; `settled`, past the last one that the application is known to have
consumed, which is what may be committed without asking it. `None`: not known yet. The last two move only in
consumers that poll (`take`); where listeners are called, the process queue says what may be committed.

    event      allowed        next_offset        consumed            settled      process queue
    place(o)   none known     o                  -                   -            -
    pulled     ticket valid   answer's           answer's (1)        -            answer's messages added
    moved(o)   ticket valid   o                  o                   o            replaced, tickets void
    seek(o)    not dropped    o                  o                   o            replaced, tickets void
    take(n)    not dropped    -                  past the last (2)   -            first n removed
    settle     not dropped    -                  -                   consumed     -
    drop       always         -                  -                   -            replaced, tickets void

(1) only when nothing is held, so that messages that the filter drops do not hold progress back; (2) where the
next pull begins when nothing is left. A sought offset thus goes before that of the pulls, and that before the
one that the broker or another store keeps. A ticket is the process queue that a pull began with: an answer
that comes after a seek finds another one, and is void. A paused queue is not pulled, but what is held of it
is still consumed. A dropped queue stays so. Sources: AssignedMessageQueue.java,
DefaultLitePullConsumerImpl.java, DefaultMQPushConsumerImpl.java.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue, ReceivedMessage


class AssignedQueue:
    """One assigned queue and its process queue, `held`.

    `now`: monotonic seconds; `offset`: where to begin, `None` when not known yet; `drained`: called by each
    process queue that is not dropped, after messages were removed from it.
    """

    __slots__ = ("_drained", "consumed", "dropped", "held", "next_offset", "paused", "queue", "settled")

    def __init__(
        self,
        queue: MessageQueue,
        now: float,
        offset: int | None = None,
        drained: Callable[[ProcessQueue], None] | None = None,
    ) -> None:
        self.queue = queue
        self._drained = drained
        self.held = ProcessQueue(queue, now, drained)
        self.next_offset = offset
        self.consumed: int | None = None
        self.settled: int | None = None
        self.paused = False
        self.dropped = False

    def place(self, offset: int) -> None:
        """Begin at `offset`, which a store or a broker named, unless a better one is known by now."""
        if self.next_offset is None:
            self.next_offset = offset

    def seek(self, offset: int, now: float) -> None:
        """Go to `offset`; what is held, and what pulls under way will bring, is dropped."""
        if not self.dropped:
            self._empty(now)
            self.next_offset = self.consumed = self.settled = offset

    def pulled(self, ticket: ProcessQueue, messages: Sequence[ReceivedMessage], next_offset: int) -> bool:
        """Take in the answer of a pull that began when `ticket` was `held`; whether it was still valid."""
        if ticket is not self.held or self.dropped:
            return False
        self.next_offset = next_offset
        if messages:
            ticket.put(messages)
        ticket.passed(next_offset)
        if not ticket.message_count:
            self.consumed = next_offset
        return True

    def moved(self, ticket: ProcessQueue, offset: int, now: float) -> bool:
        """The offset that was asked for does not exist: go to `offset`; whether the pull was still valid."""
        if ticket is not self.held or self.dropped:
            return False
        self.seek(offset, now)
        return True

    def take(self, count_max: int) -> list[ReceivedMessage]:
        """Up to `count_max` messages in the order of their offsets, for a poll; empty when none is held."""
        messages = self.held.take(count_max)
        if messages:
            lowest = self.held.remove(messages)
            self.consumed = lowest if self.held.message_count else self.next_offset
        return messages

    def settle(self) -> None:
        """Everything that polls returned so far was consumed."""
        if not self.dropped:
            self.settled = self.consumed

    def drop(self, now: float) -> None:
        """The queue is assigned to another member now."""
        self._empty(now)
        self.dropped = True

    def _empty(self, now: float) -> None:
        self.held.dropped = True
        self.held = ProcessQueue(self.queue, now, self._drained)
