"""Delivers messages of the delay levels when their time has come (source: ScheduleMessageService.java).

Nothing is polled: the head of each level is known, and one timer waits for the earliest. It never waits
longer than `_LONGEST_WAIT_MS`, as wall-clock time may be set while it waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from mqframe.broker.inlet import Inlet
from mqframe.broker.part import Part
from mqframe.core.delay_schedule import DelayOffsets, LevelSchedule, real_place
from mqframe.core.errors import Refusal
from mqframe.core.frame import Body
from mqframe.core.host import encode_host
from mqframe.core.record import RecordError, decode_record
from mqframe.core.topics import SCHEDULE_TOPIC
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, Timer
from mqframe.store.message_store import MessageStore

log = get_logger("broker")
_SLICE_MESSAGES: Final = 64
"""Delivered before other work of the loop gets its turn: about 2 ms."""
_LONGEST_WAIT_MS: Final = 5000
_RETRY_MS: Final = 100
_FAILURE_MS: Final = 10_000


class DelayDelivery(Part):
    """Moves due messages from the delay topic to where they belong.

    `levels`: the delays of levels 1, 2, … in ms. A message is delivered at least once: a broker that is
    killed delivers again what it had not noted on disk yet.
    """

    def __init__(
        self,
        store: MessageStore,
        inlet: Inlet,
        offsets: DelayOffsets,
        levels: tuple[int, ...],
        clock: LoopClock,
    ) -> None:
        self._store = store
        self._inlet = inlet
        self._offsets = offsets
        self._delays = levels
        self._clock = clock
        self._levels: list[LevelSchedule] = []
        self._timer: Timer | None = None
        self._wakes_at = 0
        self._task: asyncio.Task[None] | None = None
        self._refused = False

    async def start(self) -> None:
        """Take up each level where it was left."""
        low, high = self._store.queue_min, self._store.queue_max
        self._levels = [
            LevelSchedule(
                delay,
                self._offsets.saved(queue_id + 1),
                low(SCHEDULE_TOPIC, queue_id),
                high(SCHEDULE_TOPIC, queue_id),
            )
            for queue_id, delay in enumerate(self._delays)
        ]
        self._arm()

    async def stop(self) -> None:
        """Deliver nothing further; what was delivered is saved with the other tables."""
        task = self._task
        self._end()
        if task is not None:
            await asyncio.wait([task])
        # The store flushes everything before its stop counts as an orderly one.
        self._offsets.settle(None)

    def abandon(self) -> None:
        """Let go of the timer."""
        self._end()

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        """A delayed message waits from now on."""
        if topic == SCHEDULE_TOPIC and queue_id < len(self._levels):
            self._levels[queue_id].arrived(max_offset, list(codes))
            self._arm()

    def position(self, level: int) -> int:
        """Queue offset of the next message of `level` (1 is the first) that is to be delivered."""
        return self._levels[level - 1].position

    def _end(self) -> None:
        self._levels = []
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _arm(self, at_least_ms: int = 0) -> None:
        if self._task is not None:
            return
        now = self._clock.now_ms()
        waits = [wait for level in self._levels if (wait := level.wait(now)) is not None]
        if not waits:
            return
        wakes_at = now + min(max(at_least_ms, min(waits)), _LONGEST_WAIT_MS)
        if self._timer is not None:
            if self._wakes_at <= wakes_at:
                return
            self._timer.cancel()
        self._wakes_at = wakes_at
        self._timer = self._clock.call_later((wakes_at - now) / 1000, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        pause = _FAILURE_MS
        try:
            pause = await self._deliver_due()
        except Exception:  # deliveries outlive an error of one round, which is logged
            log.exception("delayed messages could not be delivered; tried again", after_ms=_FAILURE_MS)
        finally:
            self._task = None
            self._arm(pause)

    async def _deliver_due(self) -> int:
        """Deliver until nothing is due; gives the least wait before the next round, ms."""
        self._offsets.settle(self._store.flushed_offset)
        busy = True
        while busy:
            busy = False
            for queue_id, level in enumerate(self._levels):
                if level.wait(self._clock.now_ms()) != 0:
                    continue
                try:
                    busy = await self._deliver(queue_id, level) or busy
                except Refusal as refusal:
                    if not self._refused:
                        log.error("delayed messages wait: the store refuses them", refusal=str(refusal))
                    self._refused = True
                    return _RETRY_MS
                self._refused = False
                await asyncio.sleep(0)
        return 0

    async def _deliver(self, queue_id: int, level: LevelSchedule) -> bool:
        """Deliver a slice of what is due; False when nothing was."""
        start = level.position
        entries = self._store.entries(SCHEDULE_TOPIC, queue_id, start, _SLICE_MESSAGES)
        if not entries:
            low, high = (
                self._store.queue_min(SCHEDULE_TOPIC, queue_id),
                self._store.queue_max(SCHEDULE_TOPIC, queue_id),
            )
            level.end = high
            level.move(min(max(start, low), high))
            return level.position != start
        count = level.take([time for _, _, time in entries], self._clock.now_ms())
        if count == 0:
            return False
        due = entries[:count]
        records = await self._store.records_at([(physical, size) for physical, size, _ in due])
        try:
            for (physical, _, _), record in zip(due, records, strict=True):
                if record is not None:
                    self._put(record, physical)
                level.move(level.position + 1)
        finally:
            self._offsets.delivered(queue_id + 1, level.position, self._store.max_offset)
        return True

    def _put(self, record: Body, physical: int) -> None:
        try:
            message = decode_record(bytes(record))
        except RecordError as problem:
            log.error("a delayed message cannot be read; skipped", offset=physical, problem=str(problem))
            return
        place = real_place(message.properties)
        if place is None:
            log.error("a delayed message does not say where it belongs; skipped", offset=physical)
            return
        self._inlet.put(
            *place,
            message.stored_body,
            message.properties,
            born_timestamp=message.born_timestamp,
            born_host=encode_host(message.born_host),
            flag=message.flag,
            sys_flag=message.sys_flag,
            reconsume_times=message.reconsume_times,
            heed_delay=False,
        )
