"""Who is out, kept up to date: wakes what is due, writes down what stays out, moves the groups' offsets.

Sources: PopBufferMergeService.java, PopReviveService.java.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part, Periodic
from mqframe.broker.pop_journal import PopJournal
from mqframe.broker.pop_revival import PopRevival
from mqframe.core.errors import Refusal
from mqframe.core.offset_table import OffsetTable
from mqframe.core.pop_check_point import CheckPoint, Kept, Key
from mqframe.core.pop_ledger import Lane, PopLedger
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, Timer

log = get_logger("broker")

FLUSH_SECONDS: Final = 1.0
"""How often acknowledgements of what is in the journal are written there."""
_AGAIN_MS: Final = 1000
_TIMER_MS: Final = 200
"""How often it is looked whether the timer has delivered what it keeps."""


class PopKeeper(Part):
    """Holds the ledger of one broker, and does what it says is due.

    `delivered_to`: time, ms, up to which the broker's timer has delivered all that it kept.
    """

    def __init__(
        self,
        ledger: PopLedger,
        journal: PopJournal,
        revival: PopRevival,
        offsets: OffsetTable,
        live: LiveSettings,
        clock: LoopClock,
        delivered_to: Callable[[], int],
    ) -> None:
        self.ledger = ledger
        self._journal = journal
        self._revival = revival
        self._offsets = offsets
        self._live = live
        self._clock = clock
        self._handed_over_until = 0
        self._timer: Timer | None = None
        self._timer_at = 0
        self._delivered_to = delivered_to
        self._running = False
        revival.done = self._revived

    def periodic(self) -> list[Periodic]:
        """Writes what became of check points in the journal."""
        return [Periodic(FLUSH_SECONDS, self.flush, "pop journal")]

    async def start(self) -> None:
        """Take up what was out when the broker stopped."""
        self._running = True
        self._journal.load()
        self._arm()

    async def stop(self) -> None:
        """Write everything down."""
        self._running = False  # what still arrives must not set the timer again: the store is closed then
        self._disarm()
        await self._revival.stop()
        await self._journal.flushed()  # what is being handed over is the timer's, and not to be written here
        for point in self.ledger.in_memory_only():
            self._write(point)
        self.flush()
        await self._journal.flushed()
        self.flush()

    def abandon(self) -> None:
        """Let go of timers."""
        self._running = False
        self._disarm()
        self._revival.abandon()

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        """Looks at records of the journal that somebody else wrote."""
        if topic == self._journal.topic:
            self._journal.arrived(queue_id, max_offset)
            self._arm()

    # Popping

    def next_offset(self, lane: Lane) -> int:
        """Where the next pop of a queue begins; -1 where the group's stored offset says it."""
        return self.ledger.next_offset(lane)

    def add(self, point: CheckPoint) -> None:
        """A pop took messages, or passed some that its group does not want (a check point without any)."""
        self.ledger.add(point)
        if not point.offsets:
            self._settle(point.key)
        elif len(self.ledger) > self._live.current.pop_check_points_max:
            self._hand_over(point)
        else:
            self._arm()

    def _hand_over(self, point: CheckPoint) -> None:
        """Memory holds enough check points: the timer is to keep this one."""

        def handed_over(durable: bool) -> None:
            if durable and point.kept is Kept.MEMORY and not point.reviving:
                self._handed_over(point)
            else:
                self._arm()

        try:
            self._journal.hand_over(point, handed_over)
        except Refusal as problem:
            log.warning("a check point stays in memory", key=tuple(point.key), problem=str(problem))
            self._arm()

    def _handed_over(self, point: CheckPoint) -> None:
        if point.done:  # while the disk was waited for; the timer's record does not know
            try:
                self._journal.acknowledge_handed_over(point)
            except Refusal as problem:
                log.warning("acknowledgements are lost", key=tuple(point.key), problem=str(problem))
        point.confirm(0)
        self._handed_over_until = max(self._handed_over_until, point.visible_at)
        self.ledger.hand_over(point)
        self._settle(point.key)

    def clear_lane(self, lane: Lane) -> None:
        """An operator set the group's offset; what is out still comes back."""
        self.ledger.clear_lane(lane)

    def acknowledge(self, key: Key, offsets: list[int], invisible_ms: int = 0, revive_queue: int = 0) -> int:
        """Messages of a pop are done; gives how many of them were out until now.

        `invisible_ms`, `revive_queue`: what the handle says. Raises `Refusal` when that has to be written,
        and the store takes nothing.
        """
        point = self.ledger.find(key)
        if point is None:
            return self._acknowledge_handed_over(key, offsets, invisible_ms, revive_queue)
        now = self._clock.now_ms()
        done = self.ledger.finish(point, [offset for offset in offsets if point.is_open(offset, now)])
        if done and point.settled:
            self._settle(key)
        return done

    def _acknowledge_handed_over(
        self, key: Key, offsets: list[int], invisible_ms: int, revive_queue: int
    ) -> int:
        # What the timer keeps cannot be looked at: such acknowledgements are all taken, as the reference
        # takes all, and sorted out when the check point appears.
        point = CheckPoint(key, invisible_ms, tuple(offsets), revive_queue)
        if not self._clock.now_ms() < point.visible_at <= self._handed_over_until or not offsets:
            return 0
        for offset in offsets:
            point.finish(offset)
        self._journal.acknowledge_handed_over(point)
        return len(offsets)

    def hide_anew(
        self, key: Key, visible_at: int, offset: int, anew: CheckPoint, then: Callable[[bool], object]
    ) -> bool:
        """One message of a pop gets a check point of its own, `anew`; gives False when it is not out.

        `visible_at`: when it would be visible, ms, as its handle says.

        The key of `anew` must be a new one. `then` is told whether that is durable. Raises `Refusal` when the
        store takes nothing.
        """
        point = self.ledger.find(key)
        if point is None and self._clock.now_ms() < visible_at <= self._handed_over_until:
            point = CheckPoint(key, visible_at - key.pop_time, (offset,), anew.revive_queue)
        if point is None or not point.is_open(offset, self._clock.now_ms()):
            return False
        self.ledger.add(anew)
        self._arm()

        def written(durable: bool) -> None:
            self.ledger.written(anew)
            if durable and self.ledger.find(key) is point:
                self.ledger.finish(point, [offset])
                self._settle(key)
            elif durable:
                self._acknowledge_handed_over(key, [offset], point.invisible_ms, point.revive_queue)
            else:
                self.ledger.finish(anew, list(anew.offsets))
            then(durable)

        try:
            self._journal.write(anew, written)
        except Refusal:
            self.ledger.finish(anew, list(anew.offsets))
            raise
        return True

    def flush(self) -> None:
        """Write down what became of messages since the last time."""
        unwritten = self.ledger.take_unwritten()
        try:
            for point in unwritten:
                self._journal.write_acknowledgements(point)
            self._journal.commit()
        except Refusal as problem:
            log.warning("the pop journal cannot be written", problem=str(problem))
            for point in unwritten:
                self.ledger.written(point)  # those that were not are taken again the next time

    # Time

    def _arm(self) -> None:
        at = self.ledger.next_wake_ms()
        if at is None or not self._running or (self._timer is not None and self._timer_at <= at):
            return
        self._disarm()
        self._timer_at = at
        self._timer = self._clock.call_later(max(at - self._clock.now_ms(), 0) / 1000, self._fire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        due = self.ledger.take_due(self._clock.now_ms())
        for point in due.write:
            self._write(point)
        timed = [point for point in due.revive if point.timed]
        if timed:
            self._journal.when_read(partial(self._due_at_timer, timed))
        self._revive([point for point in due.revive if not point.timed])
        self._arm()

    def _due_at_timer(self, points: list[CheckPoint], durable: bool) -> None:
        """The timer may still keep acknowledgements of these: they come before the points are acted on."""
        delivered_to = self._delivered_to() if durable else 0
        sure = [point for point in points if point.visible_at <= delivered_to]
        self._later([point for point in points if point.visible_at > delivered_to])
        if sure:
            self._journal.when_read(lambda read: (self._revive if read else self._later)(sure))

    def _revive(self, points: list[CheckPoint]) -> None:
        if points and self._running:
            self._revival.take(points)

    def _later(self, points: list[CheckPoint]) -> None:
        for point in points:
            point.reviving = False
            self.ledger.postpone(point, self._clock.now_ms() + _TIMER_MS)
        self._arm()

    def _write(self, point: CheckPoint) -> None:
        try:
            self._journal.write(point, partial(self._written, point))
        except Refusal as problem:
            log.warning("a check point cannot be written", key=tuple(point.key), problem=str(problem))
            self.ledger.postpone(point, self._clock.now_ms() + _AGAIN_MS)

    def _written(self, point: CheckPoint, durable: bool) -> None:
        if durable:
            self.ledger.written(point)
            self._settle(point.key)
        else:
            self.ledger.postpone(point, self._clock.now_ms() + _AGAIN_MS)

    def _revived(self, point: CheckPoint, offsets: list[int]) -> None:
        """These messages of a check point whose time was over are stored again."""
        self.ledger.finish(point, offsets)
        if point.finished:
            self._settle(point.key)
        else:
            point.postpone(self._clock.now_ms())
            self.ledger.postpone(point, point.revive_at)
            self._arm()

    def _settle(self, key: Key) -> None:
        topic, group, queue_id = key.topic, key.group, key.queue_id
        offset = self.ledger.take_committable((topic, group, queue_id))
        if offset is None or self._offsets.reset_pending(group, topic, queue_id):
            return
        stored = self._offsets.query(group, topic, queue_id)
        if stored is None or offset > stored:
            self._offsets.commit(group, topic, queue_id, offset)
