"""The process queue: messages of one queue that were pulled and not yet consumed; no locks, clock or loop.

Where a message is, and what moves it:

    absent  --put-->       waiting     already held: stays where it is
    waiting --take-->      taken       in the order of offsets
    taken   --put_back-->  waiting     to be consumed again
    taken   --roll_back--> waiting     all of them: ordered consumption begins anew at the smallest offset
    taken   --remove-->    absent      acknowledged, or given up
    waiting --remove-->    absent

The queue itself goes one way, from owned to dropped; a dropped one may still be emptied, but nothing that
comes of it is committed. Ordered consumption takes here too: whose turn it is says `OrderedTurn`, and
what was consumed is removed in the order in which it was taken. Source: ProcessQueue.java.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from operator import lt
from typing import Final

from mqframe.core.messages.many import many_of
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

PULL_IDLE_SECONDS_MAX: Final = 120.0
"""A queue that was not pulled for so long is dropped and taken again."""


class HeldPlace(Enum):
    """Where a message that is held stands."""

    WAITING = "waiting"
    TAKEN = "taken"


class ProcessQueue:
    """The messages of `queue` that were pulled and not yet acknowledged.

    `now`: seconds on the monotonic clock. `message_count` and `byte_count` (whole records) are what flow
    control looks at; `last_pull` and `last_consume` are monotonic seconds. `drained`: called after messages
    were removed from a queue that is not dropped, so that a pull that waits for room can be made.
    """

    __slots__ = (
        "_drained", "_held", "_highest", "_order", "_taken", "_waiting", "byte_count", "dropped",
        "last_consume", "last_pull", "queue",
    )  # fmt: skip

    def __init__(
        self, queue: MessageQueue, now: float, drained: Callable[[ProcessQueue], None] | None = None
    ) -> None:
        self.queue = queue
        self._drained = drained
        self.dropped = False
        self.byte_count = 0
        self.last_pull = now
        self.last_consume = now
        self._held: dict[int, ReceivedMessage] = {}
        # Offsets in ascending order. Pulls go forward and most removals come off the front, so a deque whose
        # two ends are always held replaces a sorted structure; what was removed in between stays until then.
        self._order: deque[int] = deque()
        self._waiting: deque[int] = deque()
        self._taken: set[int] = set()
        self._highest = -1

    @property
    def message_count(self) -> int:
        """How many messages are held, waiting or taken."""
        return len(self._held)

    @property
    def waiting_count(self) -> int:
        """How many messages nobody has taken yet."""
        return len(self._waiting)

    @property
    def span(self) -> int:
        """Distance between the largest and the smallest offset held; 0 when empty."""
        order = self._order
        return order[-1] - order[0] if order else 0

    @property
    def lowest(self) -> int | None:
        """The smallest offset held."""
        return self._order[0] if self._order else None

    def place(self, offset: int) -> HeldPlace | None:
        """Where the message at `offset` stands, `None` when it is not held."""
        if offset not in self._held:
            return None
        return HeldPlace.TAKEN if offset in self._taken else HeldPlace.WAITING

    def put(self, messages: Sequence[ReceivedMessage]) -> int:
        """Take in what was pulled; returns how many were new. One that is held already is left alone."""
        held, order, waiting = self._held, self._order, self._waiting
        many = many_of(messages)
        offsets = many.offsets(messages)
        # As pulls bring them: behind all others, in order.
        if offsets and offsets[0] > self._highest and all(map(lt, offsets, offsets[1:])):
            held.update(zip(offsets, messages, strict=True))
            order.extend(offsets)
            waiting.extend(offsets)
            new = messages
        else:
            new = []
            for offset, message in zip(offsets, messages, strict=True):
                if offset not in held:
                    held[offset] = message
                    insort(order, offset)
                    insort(waiting, offset)
                    new.append(message)
        if order:
            self._highest = max(self._highest, order[-1])
        self.byte_count += many.store_bytes(new)
        return len(new)

    def passed(self, next_offset: int) -> None:
        """The next pull begins at `next_offset`: what lies before it and was not put, the filter dropped."""
        self._highest = max(self._highest, next_offset - 1)

    def take(self, count_max: int) -> list[ReceivedMessage]:
        """Up to `count_max` waiting messages, smallest offsets first; empty when none waits."""
        waiting = self._waiting
        if not waiting:
            return []
        if count_max < len(waiting):
            offsets = [waiting.popleft() for _ in range(count_max)]
        else:
            offsets = list(waiting)
            waiting.clear()
        self._taken.update(offsets)
        return list(map(self._held.__getitem__, offsets))

    def put_back(self, messages: Iterable[ReceivedMessage]) -> int:
        """Let taken messages wait again; returns how many did. What is no longer held is left out."""
        taken, count = self._taken, 0
        for message in messages:
            offset = message.queue_offset
            if offset in taken:
                taken.discard(offset)
                insort(self._waiting, offset)
                count += 1
        return count

    def roll_back(self) -> int:
        """Let everything that was taken wait again, in the order of offsets; returns how many did."""
        taken = self._taken
        count = len(taken)
        if count:
            self._waiting = deque(sorted([*taken, *self._waiting]))
            taken.clear()
        return count

    def remove(self, messages: Sequence[ReceivedMessage]) -> int | None:
        """Let go of `messages`; returns the offset that may be committed now, `None` when nothing was held.

        The offset is the smallest still held; when nothing is, where the next pull begins, or one past the
        largest that was put.
        """
        held, taken, order = self._held, self._taken, self._order
        if not held:
            return None
        many = many_of(messages)
        offsets = many.offsets(messages)
        if not taken.issuperset(offsets):
            for offset in (held.keys() & offsets) - taken:
                self._waiting.remove(offset)
        taken.difference_update(offsets)
        gone = [message for offset in offsets if (message := held.pop(offset, None)) is not None]
        self.byte_count -= many.store_bytes(gone)
        if not held:
            order.clear()
        while order and order[0] not in held:
            order.popleft()
        while order and order[-1] not in held:
            order.pop()
        if self._drained is not None and not self.dropped:
            self._drained(self)
        return order[0] if order else self._highest + 1

    def pull_expired(self, now: float) -> bool:
        """Whether nobody tried to pull for 120 s: something is stuck, and the queue is to be taken anew."""
        return now - self.last_pull > PULL_IDLE_SECONDS_MAX
