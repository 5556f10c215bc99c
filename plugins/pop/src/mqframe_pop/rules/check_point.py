"""One pop of one queue: which of its messages are still in flight, and where that is written down.

States are a pair of `kept` and of whether something is still in flight:

    kept     event                        becomes
    MEMORY   last message done            gone; nothing was ever written
    MEMORY   time in memory is over       WRITING
    MEMORY   due                          reviving, until all in flight is stored again; then gone
    WRITING  durable                      LOGGED
    WRITING  refused by the store         MEMORY, tried again later
    LOGGED   a message done               LOGGED, and the acknowledgement is to be written
    LOGGED   due                          reviving, until all in flight is stored again
    LOGGED   last done, and that written  gone

A message is in flight until it is acknowledged, its invisible time is changed (which gives it a check point
of its own), or it is stored again because its time was over: each of these sets its bit. What is reviving, or
due, takes no acknowledgement any more.
The consumer's offset may pass a check point that is gone or in the revive log: no kill loses it then.
Sources: PopCheckPoint.java, PopBufferMergeService.java, PopReviveService.java.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from mqframe.core.messages.names import is_path_part, is_queue_place
from mqframe_pop.rules.bodies import MESSAGES_MAX, AckBody, CheckPointBody

RETRY_AFTER_SECONDS: Final = (
    10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200,
)  # fmt: skip
"""How long to wait after each failure to store a message again."""

_INT: Final = 1 << 32
_OFFSET_MAX: Final = 1 << 62
_TIME_MAX: Final = 1 << 53
"""Times are computed with as fractions of a second, too."""


class Kept(Enum):
    """Where a check point is written down."""

    MEMORY = "memory"
    WRITING = "writing"
    LOGGED = "logged"


GroupQueue = tuple[str, str, int]
"""Topic, group and queue id."""


class Key(NamedTuple):
    """What tells one pop of a queue from all others; the time is in ms."""

    topic: str
    group: str
    queue_id: int
    start_offset: int
    pop_time: int


class CheckPoint:
    """The messages that one pop took from one queue.

    `offsets`: their queue offsets, in order; `next_offset`: where the next pop of the queue begins; `done`,
    `written`: bits of the messages that are not in flight any more, and of those that the revive log knows.
    `visible_at`: ms of the steady clock, when its time is over; `revive_at`: when to act on that, later after
    each of the `failures` to do so. `timed`: whether it was read from the revive log, so that the broker's
    timer may keep acknowledgements of it, which are in the revive log only when the timer has come past
    `visible_at`.
    """

    __slots__ = (
        "done", "failures", "invisible_ms", "kept", "key", "next_offset", "offsets", "popped_at", "revive_at",
        "revive_offset", "revive_queue", "reviving", "timed", "visible_at", "written",
    )  # fmt: skip

    def __init__(
        self,
        key: Key,
        invisible_ms: int,
        offsets: tuple[int, ...],
        revive_queue: int,
        next_offset: int = -1,
    ) -> None:
        self.key = key
        self.invisible_ms = invisible_ms
        self.offsets = offsets
        self.revive_queue = revive_queue
        self.next_offset = next_offset
        self.done = 0
        self.written = 0
        self.kept = Kept.MEMORY
        self.revive_offset = -1
        self.reviving = False
        self.timed = False
        self.popped_at = key.pop_time
        self.visible_at = self.revive_at = key.pop_time + invisible_ms
        self.failures = 0

    def by_steady(self, ahead_ms: int) -> CheckPoint:
        """Itself, by the steady clock; the wall clock, which its key goes by, is `ahead_ms` ahead of that."""
        self.popped_at = self.key.pop_time - ahead_ms
        self.visible_at = self.revive_at = self.popped_at + self.invisible_ms
        return self

    @property
    def all_bits(self) -> int:
        """The bits of all messages."""
        return (1 << len(self.offsets)) - 1

    @property
    def finished(self) -> bool:
        """Whether no message is in flight any more."""
        return self.done == self.all_bits

    @property
    def settled(self) -> bool:
        """Whether the consumer's offset may pass it."""
        return self.kept is Kept.LOGGED or (self.kept is Kept.MEMORY and self.finished)

    @property
    def gone(self) -> bool:
        """Whether nothing is left to be done or to be written."""
        return self.finished and (
            self.kept is Kept.MEMORY or (self.kept is Kept.LOGGED and self.written == self.done)
        )

    def is_open(self, offset: int, now_ms: int) -> bool:
        """Whether the message at queue `offset` is in flight and may still be acknowledged or changed."""
        if now_ms >= self.visible_at:
            return False
        place = self._place(offset)
        return place >= 0 and not self.done >> place & 1

    def finish(self, offset: int) -> None:
        """The message at queue `offset` is not in flight any more. Without effect for one of another pop."""
        place = self._place(offset)
        if place >= 0:
            self.done |= 1 << place

    def _place(self, offset: int) -> int:
        """Which of the messages lies at queue `offset`; -1: none of them."""
        offsets = self.offsets
        place = offset - offsets[0] if offsets else -1
        # Most pops take what lies side by side.
        if 0 <= place < len(offsets) and offsets[place] == offset:
            return place
        return offsets.index(offset) if offset in offsets else -1

    def begin_revival(self) -> tuple[int, ...]:
        """It is due: the offsets of the messages that are to be stored again."""
        self.reviving = True
        return tuple(offset for at, offset in enumerate(self.offsets) if not self.done >> at & 1)

    def postpone(self, now_ms: int) -> None:
        """Storing a message again failed; it is tried once more, later and later."""
        after = RETRY_AFTER_SECONDS[min(self.failures, len(RETRY_AFTER_SECONDS) - 1)]
        self.failures += 1
        self.reviving = False
        self.revive_at = now_ms + after * 1000

    # Being written down

    def write(self) -> None:
        """Its record is on the way into the revive log, with everything that is done so far."""
        self.kept = Kept.WRITING
        self.written = self.done

    def confirm(self, revive_offset: int) -> None:
        """Its record is durable, at this offset of its revive queue."""
        self.kept = Kept.LOGGED
        self.revive_offset = revive_offset

    def refuse(self) -> None:
        """The store did not take it; an earlier record of it, if there is one, counts on."""
        self.kept = Kept.MEMORY if self.revive_offset < 0 else Kept.LOGGED
        self.written = 0

    def take_unwritten(self) -> list[int]:
        """Queue offsets of messages that are done but not in the revive log, which are being written now."""
        fresh = self.done & ~self.written
        self.written = self.done
        return [offset for at, offset in enumerate(self.offsets) if fresh >> at & 1]

    # As it is stored

    def body(self, broker_name: str) -> CheckPointBody:
        """The record that stands for it in the revive log."""
        key = self.key
        return CheckPointBody(
            topic=key.topic,
            group=key.group,
            queue_id=key.queue_id,
            start_offset=key.start_offset,
            pop_time=key.pop_time,
            invisible_time=self.invisible_ms,
            bits=self.done - _INT if self.done >= _INT >> 1 else self.done,  # a Java int
            count=len(self.offsets),
            distances=[offset - key.start_offset for offset in self.offsets],
            broker_name=broker_name,
            reput_times=str(self.failures) if self.failures else None,
        )

    def acknowledgement(self, offsets: list[int], broker_name: str) -> AckBody:
        """The record that says that the messages at `offsets` are done."""
        key = self.key
        return AckBody(
            topic=key.topic,
            group=key.group,
            queue_id=key.queue_id,
            start_offset=key.start_offset,
            pop_time=key.pop_time,
            broker_name=broker_name,
            offset=offsets[0] if len(offsets) == 1 else -1,
            offsets=offsets if len(offsets) > 1 else None,
        )

    @classmethod
    def restored(
        cls,
        body: CheckPointBody,
        revive_queue: int,
        revive_offset: int,
        now_ms: int | None = None,
        ahead_ms: int = 0,
    ) -> CheckPoint | None:
        """The check point that a record of the revive log stands for; `None` when no pop can have made it.

        `now_ms`: steady; one that was written by a clock ahead of it is hidden from now on.
        """
        key = key_of(body)
        if key is None or not 0 <= body.count <= MESSAGES_MAX or not 0 <= body.invisible_time <= _TIME_MAX:
            return None
        distances = body.distances or list(range(body.count))
        if len(distances) > MESSAGES_MAX or not all(0 <= each <= _OFFSET_MAX for each in distances):
            return None
        offsets = tuple(key.start_offset + distance for distance in distances)
        if now_ms is not None:
            ahead_ms = max(ahead_ms, key.pop_time - now_ms)
        point = cls(key, body.invisible_time, offsets, revive_queue).by_steady(ahead_ms)
        point.done = point.written = (body.bits % _INT) & point.all_bits
        point.confirm(revive_offset)
        point.timed = True
        return point


def key_of(body: CheckPointBody | AckBody) -> Key | None:
    """The key that a record names; `None` for one that names no topic or group, or no place in a queue."""
    if not body.topic or not body.group or not is_path_part(body.group):
        return None
    if not is_queue_place(body.topic, body.queue_id):
        return None
    if not (0 <= body.start_offset <= _OFFSET_MAX and 0 <= body.pop_time <= _TIME_MAX):
        return None
    return Key(body.topic, body.group, body.queue_id, body.start_offset, body.pop_time)
