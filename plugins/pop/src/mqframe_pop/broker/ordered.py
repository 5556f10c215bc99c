"""Ordered pops: which queues are blocked, and until when (source: ConsumerOrderInfoLockManager.java)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.hooks.interfaces import OffsetLookup
from mqframe_pop.requests import PopMessage
from mqframe_pop.rules.check_point import GroupQueue
from mqframe_pop.rules.order import Commit, OrderTable
from mqframe_pop.rules.receipt_handle import offset_count_text, queue_text, retry_mark


class OrderedPops:
    """Keeps `table` and the offsets of its groups, and says for whom a queue is free again.

    Blocks from before the broker stopped go on.
    """

    def __init__(
        self, table: OrderTable, offsets: OffsetLookup, clock: Clock, queue_max: Callable[[str, int], int]
    ) -> None:
        """`queue_max`: the end of a queue, by topic and queue id."""
        self._table = table
        self._offsets = offsets
        self._clock = clock
        self._queue_max = queue_max
        self._ends: dict[GroupQueue, int] = {}
        self.blocks = table.blocks

    def resume(self) -> None:
        """`table` was loaded: its blocks end in time. Pops of messages that a crash took are forgotten."""
        for queue in self._table.queues():
            topic, _, queue_id = queue
            self._table.keep_before(queue, self._queue_max(topic, queue_id))
            self._watch(queue)

    def popped(
        self, queue: GroupQueue, fields: PopMessage, pop_time: int, offsets: Sequence[int]
    ) -> list[str]:
        """The queue was popped; returns the pieces of `PopAnswer.order_count_info`."""
        counts = self._table.popped(queue, fields.attempt_id, pop_time, fields.invisible_time, offsets)
        self._watch(queue)
        topic, _, queue_id = queue
        mark = retry_mark(topic)
        texts = [offset_count_text(mark, queue_id, offset, count) for offset, count in counts.items()]
        least = min(counts.values(), default=0) if len(counts) == len(offsets) else 0
        return [*texts, queue_text(mark, queue_id, least)]

    def clear(self, queue: GroupQueue) -> None:
        """An operator set the group's offset."""
        self._table.clear(queue)
        self._watch(queue)

    def acknowledge(self, queue: GroupQueue, offset: int, pop_time: int) -> bool:
        """One message is done. Returns whether the queue is free now, so that who waits there can be served.

        Raises `Refusal`: 208 when it was done before or the queue was popped again since, 13 for a message
        that the pop did not take.
        """
        topic, group, queue_id = queue
        stored = self._offsets.query(group, topic, queue_id)
        if stored is not None and offset < stored:
            raise Refusal(
                ResponseCode.NO_MESSAGE, f"message {offset} of {topic}/{queue_id} was acknowledged before"
            )
        end = self._queue_max(topic, queue_id)
        if not 0 <= offset < end:
            # Were it committed, the group would pass over what is stored there later.
            raise Refusal(
                ResponseCode.NO_MESSAGE, f"{topic}/{queue_id} has no message {offset}, but {end} messages"
            )
        following = self._table.commit(queue, offset, pop_time)
        if isinstance(following, Commit):
            unknown = following is Commit.UNKNOWN_OFFSET
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL if unknown else ResponseCode.NO_MESSAGE,
                f"message {offset} of {topic}/{queue_id}, popped at {pop_time}: {following.value}",
            )
        if not self._offsets.reset_pending(group, topic, queue_id):
            self._offsets.commit(group, topic, queue_id, following)
        return self._watch(queue)

    def exhausted(self, queue: GroupQueue, attempts_max: int) -> list[int]:
        """Messages of the last pop that failed more than `attempts_max` times: they become dead letters."""
        return self._table.exhausted(queue, attempts_max)

    def moved_to_dlq(self, queue: GroupQueue, offset: int) -> int:
        """One message is a dead letter now. Returns where the next pop begins."""
        topic, group, queue_id = queue
        info = self._table.find(queue)
        following = None if info is None else self._table.commit(queue, offset, info.pop_time)
        if isinstance(following, int):
            self._offsets.commit(group, topic, queue_id, following)
        return self._offsets.query(group, topic, queue_id) or 0

    def change_invisible_time(self, queue: GroupQueue, offset: int, pop_time: int, visible_at: int) -> bool:
        """One message is hidden until `visible_at` (ms); False when it is done, or visible already."""
        if not self._table.change_invisible_time(queue, offset, pop_time, visible_at):
            return False
        self._watch(queue)
        return True

    def now_of(self, queue: GroupQueue) -> int:
        """The time, ms, by the clock as it was when `queue` was popped."""
        return self._table.now_of(queue)

    def now_ms(self) -> int:
        """The time by which blocks end, ms: steady."""
        return self._table.now_ms()

    def freed(self) -> tuple[Sequence[GroupQueue], int | None]:
        """Queues whose block ended by itself, and when the next one may, ms; `None`: none is blocked."""
        now = self._table.now_ms()
        freed = [queue for queue, end in tuple(self._ends.items()) if end <= now and self._watch(queue)]
        return freed, min(self._ends.values(), default=None)

    def clean(self) -> None:
        """Forget queues that nobody pops any more."""
        self._table.clean()

    def _watch(self, queue: GroupQueue) -> bool:
        """Remember until when a queue is blocked. Returns whether it is free."""
        end = self._table.free_at_ms(queue)
        if end is None:
            self._ends.pop(queue, None)
        else:
            self._ends[queue] = end
        return end is None
