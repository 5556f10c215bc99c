"""Ordered pop: a queue stays blocked for its group until all that the last pop took is done or visible again.

    state of a queue   event                              becomes
    free               popped                             blocked, until the first of its messages is visible
    blocked            popped, the same attempt           blocked anew; nothing counts as tried
    blocked            popped, another attempt            blocked; nothing is given
    blocked            a message done                     blocked; the offset follows the first that is not
    blocked            the last message done              free
    blocked            one hidden anew                    blocked until then, or free where that is earlier
    blocked            every message visible or done      free; what was not done has been tried once more
    any                offset set by an operator          free, and nothing was ever tried

Source: ConsumerOrderInfoManager.java, whose file `config/consumerOrderInfo.json` this reads and writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from mqframe.core.clock import Clock, SteadyClock
from mqframe_pop.rules.bodies import OrderInfo, OrderInfoTable
from mqframe_pop.rules.check_point import GroupQueue

SEPARATOR: Final = "@"
IDLE_MS: Final = 24 * 3600 * 1000
"""A queue that was not popped for so long is forgotten."""


class Commit(Enum):
    """Why a message of an ordered pop cannot be marked as done."""

    UNKNOWN_OFFSET = "the pop did not take this message"
    OTHER_POP = "the queue was popped again since"


class OrderTable:
    """The last ordered pop of each queue by each group. `changes` grows with every change.

    Blocks end by the steady clock. Pops and the times that messages are hidden until are noted by the wall
    clock as it was at the pop; a pop that was loaded and is still to come happened just now.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = SteadyClock(clock)
        self._ahead: dict[GroupQueue, int] = {}
        self._used: dict[GroupQueue, int] = {}
        self._table: dict[tuple[str, str], dict[int, OrderInfo]] = {}
        self.changes = 0

    def now_ms(self) -> int:
        """The steady clock, ms."""
        return self._clock.now_ms()

    def now_of(self, queue: GroupQueue) -> int:
        """The time, ms, by the wall clock as it was at the last pop of `queue`."""
        return self._clock.now_ms() + self._ahead.get(queue, 0)

    def find(self, queue: GroupQueue) -> OrderInfo | None:
        """The last pop of a queue."""
        return self._table.get(queue[:2], {}).get(queue[2])

    def blocks(self, queue: GroupQueue, attempt_id: str | None, invisible_ms: int) -> bool:
        """Whether a pop gets nothing now. `invisible_ms`: the pop's, where the last one's is not known."""
        info = self.find(queue)
        if info is None or (info.attempt_id is not None and info.attempt_id == attempt_id):
            return False
        if not info.invisible_time or info.invisible_time <= 0:
            info.invisible_time = invisible_ms
        now = self.now_of(queue)
        return any(now < _visible_at(info, offset) for offset in open_offsets(info))

    def free_at_ms(self, queue: GroupQueue) -> int | None:
        """When the queue is free unless something changes; `None` when it is."""
        info = self.find(queue)
        if info is None:
            return None
        latest = max((_visible_at(info, offset) for offset in open_offsets(info)), default=0)
        latest -= self._ahead.get(queue, 0)
        return latest if latest > self._clock.now_ms() else None

    def popped(
        self,
        queue: GroupQueue,
        attempt_id: str | None,
        pop_time: int,
        invisible_ms: int,
        offsets: Sequence[int],
    ) -> dict[int, int]:
        """The queue was popped; returns how often each message was tried before, those with 0 left out."""
        old = self.find(queue)
        counts: dict[int, int] = {}
        if old is not None:
            before = old.counts or {}
            if old.attempt_id is not None and old.attempt_id == attempt_id:
                # The client asks again because the answer got lost: nobody has tried anything since.
                counts = before
            else:
                known = set(all_offsets(old))
                counts = {offset: before.get(offset, 0) + 1 for offset in offsets if offset in known}
        info = OrderInfo(
            pop_time=pop_time,
            invisible_time=invisible_ms,
            offsets=[offsets[0], *(offset - offsets[0] for offset in offsets[1:])],
            counts=dict(counts),
            last_consume_timestamp=self._clock.now_ms(),
            attempt_id=attempt_id,
        )
        self._table.setdefault(queue[:2], {})[queue[2]] = info
        self._ahead[queue], self._used[queue] = self._clock.ahead_ms(), self._clock.now_ms()
        self.changes += 1
        return counts

    def commit(self, queue: GroupQueue, offset: int, pop_time: int) -> int | Commit:
        """One message is done: the offset that the group stands at now, or why that cannot be."""
        info = self.find(queue)
        if info is None:
            return offset + 1
        if pop_time != info.pop_time:
            return Commit.OTHER_POP
        known = all_offsets(info)
        if offset not in known:
            return Commit.UNKNOWN_OFFSET
        info.bits |= 1 << known.index(offset)
        self.changes += 1
        still_open = open_offsets(info)
        return still_open[0] if still_open else known[-1] + 1

    def change_invisible_time(self, queue: GroupQueue, offset: int, pop_time: int, visible_at: int) -> bool:
        """One message is hidden until `visible_at` (ms); False when it is done, or visible already."""
        info = self.find(queue)
        if info is None or pop_time != info.pop_time or offset not in open_offsets(info):
            return False
        if self.now_of(queue) >= _visible_at(info, offset):
            return False
        times = dict(info.visible_times or {})
        times[offset] = visible_at
        info.visible_times = times
        self.changes += 1
        return True

    def exhausted(self, queue: GroupQueue, tries_max: int) -> list[int]:
        """Messages of the last pop that are not done and were given `tries_max` times and once more."""
        info = self.find(queue)
        if info is None or not info.counts:
            return []
        return [offset for offset in open_offsets(info) if info.counts.get(offset, 0) >= tries_max]

    def clear(self, queue: GroupQueue) -> None:
        """Forget the last pop of a queue."""
        self._ahead.pop(queue, None)
        self._used.pop(queue, None)
        if self._table.get(queue[:2], {}).pop(queue[2], None) is not None:
            self.changes += 1

    def keep_before(self, queue: GroupQueue, end: int) -> None:
        """The queue ends at `end`: forget its last pop if that took what is not there any more."""
        info = self.find(queue)
        if info is not None and max(all_offsets(info)) >= end:
            self.clear(queue)

    def queues(self) -> list[GroupQueue]:
        """All queues with a pop."""
        return [(*who, queue_id) for who, queues in self._table.items() for queue_id in queues]

    def clean(self) -> None:
        """Forget queues that were not popped for a day."""
        limit = self._clock.now_ms() - IDLE_MS
        for queue in self.queues():
            if self._used.get(queue, limit) < limit:
                self.clear(queue)
        for who in [who for who, queues in self._table.items() if not queues]:
            del self._table[who]

    def load(self, table: OrderInfoTable) -> None:
        """Take over what was saved. Keys that are not "topic@group" are left out."""
        for key, queues in table.table.items():
            topic, found, group = key.partition(SEPARATOR)
            if found and topic and group:
                self._table[topic, group] = {queue: info for queue, info in queues.items() if info.offsets}
        now = self._clock.now_ms()
        for queue in self.queues():
            info = self.find(queue)
            self._used[queue] = now
            self._ahead[queue] = max(0, 0 if info is None else info.pop_time - now)

    def dump(self) -> OrderInfoTable:
        """Everything, as it is saved."""
        return OrderInfoTable(
            table={f"{who[0]}{SEPARATOR}{who[1]}": dict(queues) for who, queues in self._table.items()}
        )


def all_offsets(info: OrderInfo) -> list[int]:
    """The queue offsets of the messages that a pop took."""
    first = info.offsets[0]
    return [first, *(first + distance for distance in info.offsets[1:])]


def open_offsets(info: OrderInfo) -> list[int]:
    """Those that are not done."""
    return [offset for at, offset in enumerate(all_offsets(info)) if not info.bits >> at & 1]


def _visible_at(info: OrderInfo, offset: int) -> int:
    changed = (info.visible_times or {}).get(offset)
    return info.pop_time + (info.invisible_time or 0) if changed is None else changed
