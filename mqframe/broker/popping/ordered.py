"""Ordered pops: who is blocked, until when, and who is told (source: ConsumerOrderInfoLockManager.java)."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.broker.part import Part, Periodic
from mqframe.broker.pop_waiting import WaitingPops
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.offset_table import OffsetTable
from mqframe.core.pop_handle import offset_count_text, queue_count_text, retry_mark
from mqframe.core.pop_ledger import Lane
from mqframe.core.pop_order import Commit, OrderTable
from mqframe.core.requests.pop import PopMessage
from mqframe.net.clock import LoopClock, Timer

_CLEAN_SECONDS = 600.0


class OrderKeeper(Part):
    """Keeps `table`; when a block ends, the pops that wait for the queue are woken."""

    def __init__(
        self, table: OrderTable, offsets: OffsetTable, waiting: WaitingPops, clock: LoopClock
    ) -> None:
        self._table = table
        self._offsets = offsets
        self._waiting = waiting
        self._clock = clock
        self._timers: dict[Lane, Timer] = {}
        self.blocks = table.blocks
        self.exhausted = table.exhausted

    def periodic(self) -> list[Periodic]:
        """Forgets queues that nobody pops any more."""
        return [Periodic(_CLEAN_SECONDS, self._table.clean, "ordered pops")]

    async def start(self) -> None:
        """Blocks from before the broker stopped go on."""
        for lane in self._table.lanes():
            self._watch(lane)

    async def stop(self) -> None:
        """Set no timer any more."""
        self.abandon()

    def abandon(self) -> None:
        """Set no timer any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def give(self, lane: Lane, fields: PopMessage, pop_time: int, offsets: Sequence[int]) -> list[str]:
        """The queue was popped; gives the pieces of `PopAnswer.order_count_info`."""
        counts = self._table.give(lane, fields.attempt_id, pop_time, fields.invisible_time, offsets)
        self._watch(lane)
        topic, _, queue_id = lane
        mark = retry_mark(topic)
        texts = [offset_count_text(mark, queue_id, offset, count) for offset, count in counts.items()]
        least = min(counts.values(), default=0) if len(counts) == len(offsets) else 0
        return [*texts, queue_count_text(mark, queue_id, least)]

    def clear(self, lane: Lane) -> None:
        """An operator set the group's offset."""
        self._table.clear(lane)
        self._watch(lane)

    def acknowledge(self, lane: Lane, offset: int, pop_time: int) -> None:
        """One message is done.

        Raises `Refusal`: 208 when it was done before or the queue was popped again since, 13 for a message
        that the pop did not take.
        """
        topic, group, queue_id = lane
        stored = self._offsets.query(group, topic, queue_id)
        if stored is not None and offset < stored:
            raise Refusal(
                ResponseCode.NO_MESSAGE, f"message {offset} of {topic}/{queue_id} was acknowledged before"
            )
        following = self._table.commit(lane, offset, pop_time)
        if isinstance(following, Commit):
            unknown = following is Commit.UNKNOWN_OFFSET
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL if unknown else ResponseCode.NO_MESSAGE,
                f"message {offset} of {topic}/{queue_id}, popped at {pop_time}: {following.value}",
            )
        if not self._offsets.reset_pending(group, topic, queue_id):
            self._offsets.commit(group, topic, queue_id, following)
        self._watch(lane)
        if self._table.free_at_ms(lane) is None:
            self._waiting.wake(topic, group, queue_id)

    def give_up(self, lane: Lane, offset: int) -> int:
        """One message of the last pop went elsewhere; gives where the group stands now."""
        topic, group, queue_id = lane
        info = self._table.find(lane)
        following = None if info is None else self._table.commit(lane, offset, info.pop_time)
        if isinstance(following, int):
            self._offsets.commit(group, topic, queue_id, following)
        return self._offsets.query(group, topic, queue_id) or 0

    def hide_anew(self, lane: Lane, offset: int, pop_time: int, visible_at: int) -> bool:
        """One message is hidden until `visible_at` (ms); False when it is done, or visible already."""
        if not self._table.hide_anew(lane, offset, pop_time, visible_at):
            return False
        self._watch(lane)
        return True

    def _watch(self, lane: Lane) -> None:
        old = self._timers.pop(lane, None)
        if old is not None:
            old.cancel()
        free_at = self._table.free_at_ms(lane)
        if free_at is not None:
            seconds = (free_at - self._clock.now_ms()) / 1000
            self._timers[lane] = self._clock.call_later(seconds, lambda: self._free(lane))

    def _free(self, lane: Lane) -> None:
        self._timers.pop(lane, None)
        if self._table.free_at_ms(lane) is None:
            topic, group, queue_id = lane
            self._waiting.wake(topic, group, queue_id)
        else:
            self._watch(lane)
