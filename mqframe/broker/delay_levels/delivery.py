"""Delivers messages of the delay levels when their time has come (source: ScheduleMessageService.java).

Nothing is polled: the head of each level is known, and one alarm waits for the earliest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Final

from mqframe.core.clock import JUMP_MS, NOTED_MS, SetTimes, SteadyClock
from mqframe.core.delay.schedule import DelayOffsets, LevelSchedule
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.requests.admin import GetAllDelayOffset
from mqframe.core.requests.serving import Answer, Call, serves
from mqframe.core.storage.left_out import MessagePlace
from mqframe.hooks.interfaces import BrokerPort, BrokerService, OnArrival
from mqframe.log import get_logger
from mqframe.trouble import Trouble

log = get_logger("broker")
_SLICE_MESSAGES: Final = 64
"""Delivered before other work of the loop gets its turn: about 2 ms."""
_RETRY_MS: Final = 100
_SETTLE_MS: Final = 1000
"""How soon to look whether the disk has what was delivered."""


class LevelDelivery(BrokerService):
    """Moves due messages from the delay topic to where they belong.

    `offsets`: how far each level is. A message is delivered at least once: a broker that is killed delivers
    again what it had not noted on disk yet.

    Setting the clock changes nothing about what this broker took: its delay passes by the monotonic clock.
    What was stored before the start is due when either clock says so, rather early than late.
    """

    def __init__(self, port: BrokerPort, offsets: DelayOffsets) -> None:
        self._store = port.store
        self._redelivery = port.redelivery
        self._offsets = offsets
        self._delays = port.delays.levels
        self._clock = clock = port.clock
        self._levels: list[LevelSchedule] = []
        self._steady = SteadyClock(clock)
        self._set: list[SetTimes] = []
        self._ahead = 0
        self._started = 0
        self._alarm = port.due_task(self._deliver_due, "delay levels")
        self._refused = Trouble(log, clock.monotonic, level=logging.ERROR)

    async def start(self) -> None:
        """Take up each level where it was left."""
        self._levels = [
            LevelSchedule(delay, self._offsets.saved(queue_id + 1), *self._bounds(queue_id))
            for queue_id, delay in enumerate(self._delays)
        ]
        for number, level in enumerate(self._levels, 1):
            if level.position < self._offsets.saved(number):
                # What lay there a crash took; what is stored from now on must not be passed over.
                self._offsets.correct(number, level.position)
        self._steady = SteadyClock(self._clock)
        self._set = [SetTimes(self._steady, level.end) for level in self._levels]
        self._ahead, self._started = 0, self._clock.now_ms()
        self._ring()

    async def stop(self) -> None:
        """Deliver nothing further; what was delivered is saved with the other tables."""
        await self._alarm.stop()
        # The store flushes everything before its stop counts as an orderly one.
        self._offsets.settle(None)

    def abandon(self) -> None:
        """Let go of the timer."""
        self._alarm.cancel()

    def arrivals(self) -> Mapping[str, OnArrival]:
        """Delayed messages."""
        return {SCHEDULE_TOPIC: self._arrived}

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        if queue_id < len(self._levels):
            self._set[queue_id].stored(max_offset - len(codes))
            self._levels[queue_id].arrived(max_offset, list(codes))
            self._ring()

    def counters(self) -> dict[str, str]:
        """For each level in use how far it is delivered, and where its queue ends; rounds that failed."""
        places = {
            f"scheduleMessageOffset_{number}": f"{level.position},{level.end}"
            for number, level in enumerate(self._levels, 1)
            if level.end
        }
        return {"scheduleFailures": str(self._alarm.failures.total), **places}

    def _bounds(self, queue_id: int) -> tuple[int, int]:
        store = self._store
        return store.queues.bounds(SCHEDULE_TOPIC, queue_id)

    def _ring(self) -> None:
        wait = self._next_wait()
        if wait is not None:
            self._alarm.ring_in(wait)

    def _now(self) -> int:
        """The wall clock, ms; whoever set it changed what the times in the queues mean."""
        ahead = self._steady.ahead_ms()
        if abs(ahead - self._ahead) >= JUMP_MS:
            self._ahead = ahead
            for level in self._levels:
                level.forget_head()
        return self._clock.now_ms()

    def _due(self, queue_id: int, offset: int, time: int, now: int) -> int:
        """When, by the wall clock of now, what lies at `offset` is due; `time`: what its entry says, ms.

        A little further ahead than its delay it waits for no longer: the clock was set back a little.
        """
        delay = self._delays[queue_id]
        correction = self._set[queue_id].correction(offset)
        if correction is None:
            if time - delay >= self._started + JUMP_MS:
                return self._started  # stored by a clock that was ahead: who knows how long it waits already
            ahead = self._steady.ahead_ms()
            correction = ahead if ahead <= -NOTED_MS else 0
        due = time + correction
        return due if due >= now + delay + JUMP_MS else min(due, now + delay)

    def _next_wait(self) -> int | None:
        now = self._now()
        return min([wait for level in self._levels if (wait := level.wait(now)) is not None], default=None)

    async def _deliver_due(self) -> int | None:
        """Deliver until nothing is due; returns the wait before the next round, ms."""
        self._offsets.settle(self._store.log.lasting_offset)
        busy = True
        while busy:
            busy = False
            for queue_id, level in enumerate(self._levels):
                if level.wait(self._now()) != 0:
                    continue
                try:
                    busy = await self._deliver(queue_id, level) or busy
                except Refusal as refusal:
                    event = "delayed messages wait: the store takes nothing"
                    self._refused.note(event, problem=str(refusal))
                    return _RETRY_MS
                self._refused.over("delayed messages are delivered again")
                await asyncio.sleep(0)
        wait = self._next_wait()
        if self._offsets.is_settled:
            return wait
        return _SETTLE_MS if wait is None else min(wait, _SETTLE_MS)

    async def _deliver(self, queue_id: int, level: LevelSchedule) -> bool:
        """Deliver a slice of what is due; False when nothing was."""
        start = level.position
        entries = self._store.reads.entries(SCHEDULE_TOPIC, queue_id, start, _SLICE_MESSAGES)
        if not entries:
            level.correct(*self._bounds(queue_id))
            return level.position != start
        now = self._now()
        times = [self._due(queue_id, start + at, time, now) for at, (_, _, time) in enumerate(entries)]
        count = level.take(times, now)
        if count == 0:
            return False
        due = entries[:count]
        records = await self._store.reads.records_at([(physical, size) for physical, size, _ in due])
        try:
            for (physical, _, _), record in zip(due, records, strict=True):
                place = MessagePlace(SCHEDULE_TOPIC, queue_id, level.position, physical)
                if record is None:
                    self._redelivery.gone(place, self._store.log.min_offset)
                elif (message := self._redelivery.read(record, place)) is not None:
                    self._redelivery.put(message)
                level.move(level.position + 1)
        finally:
            self._set[queue_id].passed(level.position)
            self._offsets.delivered(queue_id + 1, level.position, self._store.log.max_offset)
        return True

    @serves(GetAllDelayOffset)
    def saved_offsets(self, fields: GetAllDelayOffset, call: Call) -> Answer:
        return self._offsets.dump()
