"""When messages of the delay levels are due, and how far each level has come.

Source: ScheduleMessageService.java. All messages of a level wait equally long, so its queue is in the order
of delivery and only its head has to be looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import FORBIDDEN_TO_PRODUCERS, TIMER_TOPIC, is_queue_place
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.wire.bodies import Body, DataVersion

_NOWHERE: Final = FORBIDDEN_TO_PRODUCERS | {TIMER_TOPIC}


class DelayOffsetTable(Body):
    """`config/delayOffset.json`: delay level to offset of its queue."""

    data_version: DataVersion | None = None
    offset_table: dict[int, int] = {}


def is_due(time: int, now: int, delay_ms: int) -> bool:
    """Whether a message whose delivery time is `time` is delivered at `now` (both ms).

    A time further ahead than the level's own delay comes from a clock that was ahead, or from other levels:
    such a message does not wait again.
    """
    return time <= now or time > now + delay_ms


def real_place(properties: dict[str, str]) -> tuple[str, int] | None:
    """Topic and queue that a delayed message goes to; `None` when it names none that it may go to.

    What is stored is not trusted more than what is sent: it was written by others perhaps, or before it was
    checked. The revive log is no place that a sender may name, but acknowledgements go there by the timer.
    """
    topic, queue_id = properties.get(p.REAL_TOPIC), whole_number(properties.get(p.REAL_QUEUE_ID, ""))
    if topic is None or queue_id is None or topic in _NOWHERE or not is_queue_place(topic, queue_id):
        return None
    return topic, queue_id


class LevelSchedule:
    """One level's way through its queue.

    | state | `arrived` | `take`, some due | `take`, none due | `move` |
    |-|-|-|-|-|
    | empty: nothing lies at `position` | waiting, its time known | – | – | empty or unread |
    | unread: time at `position` unknown | unread | due | waiting | empty or unread |
    | waiting: `head` is the time at `position` | waiting | due | waiting | empty or unread |

    `delay_ms`: how long a message of this level waits; `position`: queue offset of the next one; `end`:
    offset behind the last one known of; `head`: delivery time of the next one, ms, `None` while unknown.
    """

    __slots__ = ("delay_ms", "end", "head", "position")

    def __init__(self, delay_ms: int, position: int, low: int, high: int) -> None:
        """`position`: where it was; corrected to lie within the queue, which has offsets `low` to `high`."""
        self.delay_ms = delay_ms
        self.position = min(max(position, low), high)
        self.end = high
        self.head: int | None = None

    def arrived(self, end: int, times: Sequence[int]) -> None:
        """Messages due at `times` are in the queue now, which ends at `end`."""
        if self.position == end - len(times):
            self.head = times[0]
        self.end = end

    def wait(self, now: int) -> int | None:
        """How many ms from `now` the level has to be looked at; `None`: not before something arrives."""
        if self.position >= self.end:
            return None
        if self.head is None or is_due(self.head, now, self.delay_ms):
            return 0
        return self.head - now

    def forget_head(self) -> None:
        """The time at `position` may mean another moment now: it is to be read again."""
        self.head = None

    def take(self, times: Sequence[int], now: int) -> int:
        """How many messages from `position` on are due; `times`: when the next ones in the queue are."""
        for count, time in enumerate(times):
            if not is_due(time, now, self.delay_ms):
                if count == 0:
                    self.head = time
                return count
        return len(times)

    def correct(self, low: int, high: int) -> None:
        """The queue has the offsets from `low` to `high`."""
        self.end = high
        self.move(min(max(self.position, low), high))

    def move(self, position: int) -> None:
        """Everything before `position` is done."""
        if position != self.position:
            self.position = position
            self.head = None


class DelayOffsets:
    """Up to which queue offset each level is delivered: the table behind delayOffset.json.

    What is saved never runs ahead of the disk: an offset counts once the messages delivered for it are
    durable, so that a power cut delivers twice rather than never. `changes` grows with what is saved.
    """

    __slots__ = ("_clock", "_marks", "_saved", "changes", "version")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._saved: dict[int, int] = {}
        self._marks: deque[tuple[int, int, int]] = deque()
        self.version = DataVersion(timestamp=clock.now_ms())
        self.changes = 0

    def saved(self, level: int) -> int:
        """The offset from which `level` (1 is the first) is delivered after a restart."""
        return self._saved.get(level, 0)

    def correct(self, level: int, position: int) -> None:
        """The queue of `level` has no offset that was saved: it goes on at `position`."""
        self._saved[level] = position
        self.changes += 1

    def delivered(self, level: int, offset: int, log_end: int) -> None:
        """Everything of `level` before queue `offset` is delivered; it lies before `log_end` in the log."""
        self._marks.append((log_end, level, offset))

    def settle(self, flushed: int | None) -> None:
        """The log is on disk up to `flushed`; `None`: all of it is, or will be before anything else."""
        marks = self._marks
        while marks and (flushed is None or marks[0][0] <= flushed):
            _, level, offset = marks.popleft()
            self._saved[level] = offset
            self.changes += 1

    @property
    def is_settled(self) -> bool:
        """Whether what is to be saved says all that was delivered."""
        return not self._marks

    def load(self, table: DelayOffsetTable) -> None:
        """Take over what was saved."""
        self._saved = dict(table.offset_table)
        self.version = table.data_version or self.version

    def dump(self) -> DelayOffsetTable:
        """Everything that is saved."""
        if self.changes:
            self.version = self.version.next(self._clock.now_ms())
        return DelayOffsetTable(data_version=self.version, offset_table=dict(self._saved))
