"""All check points of a broker: messages in flight, how far each group's offset may go, what is due when.

The shell asks `take_due` what has to happen, does it, and says so. Nothing here waits, stores or sends.
Sources: PopBufferMergeService.java, PopReviveService.java.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from mqframe_pop.rules.check_point import CheckPoint, GroupQueue, Kept, Key

IDLE_ENTRIES_MAX: Final = 4096
"""Wake-ups of check points that are gone, above which the list is cleaned."""


class DueCheckPoints(NamedTuple):
    """What has to happen now: check points to write down, and such whose time is over."""

    write: list[CheckPoint]
    revive: list[CheckPoint]


class CheckPointTable:
    """`stay_ms`: how long a check point stays in memory alone; those of which all messages are acknowledged
    within that time are never written."""

    def __init__(self, stay_ms: int = 10_000) -> None:
        self._stay_ms = stay_ms
        self._points: dict[Key, CheckPoint] = {}
        self._queues: dict[GroupQueue, deque[CheckPoint]] = {}
        self._wakes: list[tuple[int, int, CheckPoint]] = []
        self._sequence = 0
        self._unwritten: dict[Key, CheckPoint] = {}
        self._in_flight: dict[tuple[str, str], dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._points)

    def __contains__(self, key: Key) -> bool:
        return key in self._points

    def find(self, key: Key) -> CheckPoint | None:
        """The check point with this key, unless it is gone."""
        return self._points.get(key)

    def in_flight(self, topic: str, group: str, queue_id: int) -> int:
        """How many messages of a queue are in flight."""
        return self._in_flight.get((topic, group), {}).get(queue_id, 0)

    @property
    def all_in_flight(self) -> int:
        """How many messages of all queues are in flight."""
        return sum(sum(queues.values()) for queues in self._in_flight.values())

    def next_offset(self, queue: GroupQueue) -> int:
        """Where the next pop of the queue begins; -1 where the group's stored offset says it."""
        points = self._queues.get(queue)
        return points[-1].next_offset if points else -1

    @property
    def held_offsets(self) -> int:
        """How many check points hold back the offset of their queue."""
        return sum(map(len, self._queues.values()))

    def add(self, point: CheckPoint) -> None:
        """A pop took messages, or skipped some that nobody wants (a check point without messages).

        Raises `ValueError` for a second one with the same key.
        """
        key = point.key
        if point.offsets:
            self._enter(point)
            self._wake(point, min(point.revive_at, point.popped_at + self._stay_ms))
        if point.next_offset >= 0:
            self._queues.setdefault((key.topic, key.group, key.queue_id), deque()).append(point)

    def restore(self, point: CheckPoint) -> None:
        """The revive log holds a check point. A later record of one that is known replaces the earlier."""
        old = self._points.get(point.key)
        if old is not None:
            old.revive_offset = point.revive_offset
            self.finish(old, [o for at, o in enumerate(point.offsets) if point.done >> at & 1])
            old.written |= point.done
            self._forget_if_gone(old)
            return
        if point.finished:
            return
        self._enter(point)
        self._wake(point, point.revive_at)

    def finish(self, point: CheckPoint, offsets: list[int]) -> int:
        """The messages at these offsets are not in flight any more; returns how many of them were."""
        before = point.done
        for offset in offsets:
            point.finish(offset)
        changed = (point.done ^ before).bit_count()
        if changed:
            self._count(point.key, -changed)
            if point.kept is Kept.LOGGED:
                self._unwritten[point.key] = point
            self._forget_if_gone(point)
        return changed

    def written(self, point: CheckPoint) -> None:
        """A check point, or the acknowledgements of one, became durable."""
        if point.kept is Kept.LOGGED and point.done != point.written:
            self._unwritten[point.key] = point
        self._forget_if_gone(point)

    def hand_over(self, point: CheckPoint) -> None:
        """Forget a check point that somebody else keeps until it is nearly due; `restore` brings it back."""
        if self._points.get(point.key) is point:
            del self._points[point.key]
            self._count(point.key, -(point.done ^ point.all_bits).bit_count())

    def take_unwritten(self) -> list[CheckPoint]:
        """The check points whose acknowledgements are to be written now."""
        found = list(self._unwritten.values())
        self._unwritten.clear()
        return found

    def postpone(self, point: CheckPoint, at_ms: int) -> None:
        """Look at a check point again at this time."""
        self._wake(point, at_ms)

    def take_due(self, now_ms: int) -> DueCheckPoints:
        """What has to happen by now. Each check point is given once, until it is postponed or written."""
        due = DueCheckPoints([], [])
        wakes = self._wakes
        while wakes and wakes[0][0] <= now_ms:
            point = heappop(wakes)[2]
            if self._points.get(point.key) is not point or point.finished or point.reviving:
                continue
            if now_ms >= point.revive_at:
                point.reviving = True
                due.revive.append(point)
                continue
            if point.kept is Kept.MEMORY:
                due.write.append(point)
            self._wake(point, point.revive_at)
        return due

    def next_wake_ms(self) -> int | None:
        """When `take_due` has something to give; `None` for never."""
        wakes = self._wakes
        while wakes and self._points.get(wakes[0][2].key) is not wakes[0][2]:
            heappop(wakes)
        return wakes[0][0] if wakes else None

    def in_memory_only(self) -> list[CheckPoint]:
        """The check points that are written nowhere."""
        return [point for point in self._points.values() if point.kept is Kept.MEMORY]

    def take_committable(self, queue: GroupQueue) -> int | None:
        """The offset that the group may commit now; `None` when it does not change."""
        points = self._queues.get(queue)
        if points is None:
            return None
        offset = None
        while points and points[0].settled:
            offset = points.popleft().next_offset
        if not points:
            del self._queues[queue]
        return offset

    def clear_queue(self, queue: GroupQueue) -> None:
        """An operator set the group's offset: what was popped does not hold it any more."""
        self._queues.pop(queue, None)

    def _enter(self, point: CheckPoint) -> None:
        if point.key in self._points:
            raise ValueError(f"there is a check point {point.key} already")
        self._points[point.key] = point
        self._count(point.key, (point.done ^ point.all_bits).bit_count())

    def _count(self, key: Key, change: int) -> None:
        queues = self._in_flight.setdefault((key.topic, key.group), {})
        left = queues.get(key.queue_id, 0) + change
        if left > 0:
            queues[key.queue_id] = left
            return
        queues.pop(key.queue_id, None)
        if not queues:
            del self._in_flight[key.topic, key.group]

    def _forget_if_gone(self, point: CheckPoint) -> None:
        if point.gone and self._points.get(point.key) is point:
            del self._points[point.key]
            self._unwritten.pop(point.key, None)
            if len(self._wakes) > 2 * len(self._points) + IDLE_ENTRIES_MAX:
                self._wakes = [each for each in self._wakes if self._points.get(each[2].key) is each[2]]
                heapify(self._wakes)

    def _wake(self, point: CheckPoint, at_ms: int) -> None:
        self._sequence += 1
        heappush(self._wakes, (at_ms, self._sequence, point))
