"""Check points of pops, kept up to date: revives what is due, writes down what stays in flight.

Sources: PopBufferMergeService.java, PopReviveService.java.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from mqframe.core.clock import Timer
from mqframe.core.errors import Refusal
from mqframe.core.measuring.family import Metric
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.hooks.interfaces import BrokerPort, BrokerService, OnArrival, Periodic
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_pop.broker.metrics import pop_families
from mqframe_pop.broker.revive import ReviveService
from mqframe_pop.broker.revive_log import ReviveLog
from mqframe_pop.requests import PopRollback
from mqframe_pop.rules.check_point import CheckPoint, Kept, Key
from mqframe_pop.settings import PopSettings

log = get_logger("broker")

FLUSH_SECONDS: Final = 1.0
"""How often acknowledgements of what is in the revive log are written there."""
_AGAIN_MS: Final = 1000
_TIMER_MS: Final = 200
"""How often it is looked whether the timer has delivered what it keeps."""


class CheckPointService(BrokerService):
    """Holds the check points of one broker, and does what falls due.

    `delivered_to`: time, ms, up to which the broker's timer has delivered all that it kept.
    """

    def __init__(
        self,
        port: BrokerPort,
        revive_log: ReviveLog,
        revive: ReviveService,
        delivered_to: Callable[[], int],
    ) -> None:
        self.table = revive_log.table
        self._revive_log = revive_log
        self._reviver = revive
        self._offsets = port.offsets
        self._settings = port.settings(PopSettings)
        self._clock = port.clock
        self._unwritten = Trouble(log, self._clock.monotonic)
        self.steady = revive_log.steady
        self._handed_over_until = 0
        self._timer: Timer | None = None
        self._timer_at = 0
        self._delivered_to = delivered_to
        self._running = False

    def periodic(self) -> list[Periodic]:
        """Writes what became of check points in the revive log."""
        return [Periodic(FLUSH_SECONDS, self.flush, "revive log")]

    async def start(self) -> None:
        """Take up what was in flight when the broker stopped."""
        self._running = True
        self._revive_log.load()
        self._arm()

    async def stop(self) -> None:
        """Write everything down."""
        self._running = False  # what still arrives must not set the timer again: the store is closed then
        self._disarm()
        await self._reviver.stop()
        # What is being handed over is the timer's, and not to be written here.
        await self._revive_log.flushed()
        for point in self.table.in_memory_only():
            self._write(point)
        self.flush()
        await self._revive_log.flushed()
        self.flush()

    def abandon(self) -> None:
        """Let go of timers."""
        self._running = False
        self._disarm()
        self._reviver.abandon()

    def arrivals(self) -> Mapping[str, OnArrival]:
        """Records of the revive log, of which somebody else may have written some."""
        return {self._revive_log.topic: self._arrived}

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        self._revive_log.arrived(queue_id, max_offset)
        self._arm()

    def counters(self) -> dict[str, str]:
        """How many messages are in flight: popped, and not acknowledged yet."""
        return {"popInFlight": str(self.table.all_in_flight)}

    async def metrics(self) -> Sequence[Metric]:
        """What is in flight, and what comes back."""
        return pop_families(self._revive_log, self._reviver)

    # Popping

    def add(self, point: CheckPoint) -> None:
        """A pop took messages, or passed some that its group does not want (a check point without any)."""
        self.table.add(point)
        if not point.offsets:
            self._settle(point.key)
        elif len(self.table) > self._settings.current.check_points_max:
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
            self._revive_log.hand_over(point, handed_over)
        except Refusal as problem:
            log.warning("a check point stays in memory", key=tuple(point.key), problem=str(problem))
            self._arm()

    def _handed_over(self, point: CheckPoint) -> None:
        if point.done:  # while the disk was waited for; the timer's record does not know
            try:
                self._revive_log.acknowledge_handed_over(point)
            except Refusal as problem:
                log.warning("acknowledgements are lost", key=tuple(point.key), problem=str(problem))
        point.confirm(0)
        self._handed_over_until = max(self._handed_over_until, point.key.pop_time + point.invisible_ms)
        self.table.hand_over(point)
        self._settle(point.key)

    def move_to_dlq(self, topic: str, queue_id: int, offset: int, group: str) -> None:
        """Store one message as a dead letter. Raises `Refusal` when the store takes nothing."""
        self._reviver.move_to_dlq(topic, queue_id, offset, group)

    def acknowledge(self, key: Key, offsets: list[int], invisible_ms: int = 0, revive_queue: int = 0) -> int:
        """Messages of a pop are done; returns how many of them were in flight until now.

        `invisible_ms`, `revive_queue`: what the handle says. Raises `Refusal` when that has to be written,
        and the store takes nothing.
        """
        point = self.table.find(key)
        if point is None:
            return self._acknowledge_handed_over(key, offsets, invisible_ms, revive_queue)
        now = self.steady.now_ms()
        done = self.table.finish(point, [offset for offset in offsets if point.is_open(offset, now)])
        if done and point.settled:
            self._settle(key)
        return done

    def _acknowledge_handed_over(
        self, key: Key, offsets: list[int], invisible_ms: int, revive_queue: int
    ) -> int:
        # What the timer keeps cannot be looked at: such acknowledgements are all taken, as the reference
        # takes all, and sorted out when the check point appears.
        ahead = self.steady.ahead_ms()
        point = CheckPoint(key, invisible_ms, tuple(offsets), revive_queue).by_steady(ahead)
        if not self._is_handed_over(key.pop_time + invisible_ms) or not offsets:
            return 0
        for offset in offsets:
            point.finish(offset)
        self._revive_log.acknowledge_handed_over(point)
        return len(offsets)

    def _is_handed_over(self, visible_at: int) -> bool:
        """Whether the timer may keep a check point of which a handle says this time (ms, wall clock)."""
        return self._clock.now_ms() < visible_at <= self._handed_over_until

    def change_invisible_time(
        self, key: Key, visible_at: int, offset: int, anew: CheckPoint, then: Callable[[bool], object]
    ) -> bool:
        """One message of a pop gets a check point of its own, `anew`; returns False when it is not in flight.

        `visible_at`: when it would be visible, ms, as its handle says. The key of `anew` must be a new one;
        `then` is called with whether it is durable. Raises `Refusal` when the store takes nothing.
        """
        point = self.table.find(key)
        # Perhaps the timer keeps it (`hand_over`): what its handle says is enough to make it again.
        if point is None and self._is_handed_over(visible_at):
            ahead = self.steady.ahead_ms()
            point = CheckPoint(key, visible_at - key.pop_time, (offset,), anew.revive_queue)
            point.by_steady(ahead)
        if point is None or not point.is_open(offset, self.steady.now_ms()):
            return False
        # In the table before it is durable, so that the message is never without a check point; the old one
        # is done with only when the new one is durable, or a crash would lose the message for the group.
        self.table.add(anew)
        self._arm()

        def written(durable: bool) -> None:
            self.table.written(anew)
            if durable and self.table.find(key) is point:
                self.table.finish(point, [offset])
                self._settle(key)
            elif durable:
                self._acknowledge_handed_over(key, [offset], point.invisible_ms, point.revive_queue)
            else:
                self.table.finish(anew, list(anew.offsets))
            then(durable)

        try:
            self._revive_log.write(anew, written)
        except Refusal:
            self.table.finish(anew, list(anew.offsets))
            raise
        return True

    def flush(self) -> None:
        """Write down what became of messages since the last time."""
        unwritten = self.table.take_unwritten()
        try:
            for point in unwritten:
                self._revive_log.write_acknowledgements(point)
            self._revive_log.commit()
        except Refusal as problem:
            self._unwritten.note("the revive log cannot be written", problem=str(problem))
            for point in unwritten:
                self.table.written(point)  # those that were not are taken again the next time

    @serves(PopRollback)
    def roll_back(self, fields: PopRollback, call: Call) -> Reply:
        """Nothing is to be moved: pops are noted in memory and in the log, as brokers without RocksDB do."""
        return Reply()

    # Time

    def _arm(self) -> None:
        at = self.table.next_wake_ms()
        if at is None or not self._running or (self._timer is not None and self._timer_at <= at):
            return
        self._disarm()
        self._timer_at = at
        self._timer = self._clock.call_later(max(at - self.steady.now_ms(), 0) / 1000, self._fire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        due = self.table.take_due(self.steady.now_ms())
        for point in due.write:
            self._write(point)
        timed = [point for point in due.revive if point.timed]
        if timed:
            self._revive_log.when_read(partial(self._due_at_timer, timed))
        self._revive([point for point in due.revive if not point.timed])
        self._arm()

    def _due_at_timer(self, points: list[CheckPoint], durable: bool) -> None:
        """The timer may still keep acknowledgements of these: they come before the points are acted on."""
        delivered_to = self._delivered_to() - self.steady.ahead_ms() if durable else 0
        sure = [point for point in points if point.visible_at <= delivered_to]
        self._later([point for point in points if point.visible_at > delivered_to])
        if sure:
            self._revive_log.when_read(lambda read: (self._revive if read else self._later)(sure))

    def _revive(self, points: list[CheckPoint]) -> None:
        if points and self._running:
            self._reviver.take(points, self._revived)

    def _later(self, points: list[CheckPoint]) -> None:
        for point in points:
            point.reviving = False
            self.table.postpone(point, self.steady.now_ms() + _TIMER_MS)
        self._arm()

    def _write(self, point: CheckPoint) -> None:
        try:
            self._revive_log.write(point, partial(self._written, point))
            self._unwritten.over("the revive log is written again")
        except Refusal as problem:
            self._unwritten.note("the revive log cannot be written", problem=str(problem))
            self.table.postpone(point, self.steady.now_ms() + _AGAIN_MS)

    def _written(self, point: CheckPoint, durable: bool) -> None:
        if durable:
            self.table.written(point)
            self._settle(point.key)
        else:
            self.table.postpone(point, self.steady.now_ms() + _AGAIN_MS)

    def _revived(self, point: CheckPoint, offsets: list[int]) -> None:
        """These messages of a check point whose time was over are stored again."""
        self.table.finish(point, offsets)
        if point.finished:
            self._settle(point.key)
        else:
            point.postpone(self.steady.now_ms())
            self.table.postpone(point, point.revive_at)
            self._arm()

    def _settle(self, key: Key) -> None:
        topic, group, queue_id = key.topic, key.group, key.queue_id
        offset = self.table.take_committable((topic, group, queue_id))
        if offset is None or self._offsets.reset_pending(group, topic, queue_id):
            return
        stored = self._offsets.query(group, topic, queue_id)
        if stored is None or offset > stored:
            self._offsets.commit(group, topic, queue_id, offset)
