"""Takes messages from the timer topic into the wheel (TimerMessageStore.enqueue, doEnqueue)."""

from __future__ import annotations

from functools import partial
from typing import Final

from mqframe.broker.delay.timer_parts import TimerParts
from mqframe.core.delay.timer_rules import NEVER_ENQUEUED, delivered_properties
from mqframe.core.errors import MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.storage.left_out import Place
from mqframe.core.wire.frame import Body

_SLICE_MESSAGES: Final = 64
"""Taken in before other work of the loop gets its turn: about 2 ms."""


class TimerEnqueue:
    """Follows the timer topic. What is due already does not go into the wheel, but where it belongs."""

    __slots__ = ("_clock", "_metrics", "_redelivery", "_store", "_timer", "_times", "parts")

    def __init__(self, parts: TimerParts) -> None:
        self.parts = parts
        self._timer, self._store, self._metrics, self._redelivery, self._clock, self._times = parts

    @property
    def behind(self) -> int:
        """Messages of the timer topic that are not taken in."""
        return max(0, self._store.queue_max(TIMER_TOPIC, 0) - self._timer.queue_offset)

    def correct(self) -> None:
        """Let the position lie within the queue."""
        low, high = self._store.queue_min(TIMER_TOPIC, 0), self._store.queue_max(TIMER_TOPIC, 0)
        self._timer.queue_offset = min(max(self._timer.queue_offset, low), high)

    async def take_slice(self) -> None:
        """Take in the next few. Raises `Refusal` when the store takes nothing, OSError; can be repeated."""
        timer = self._timer
        offset = timer.queue_offset
        entries = self._store.entries(TIMER_TOPIC, 0, offset, _SLICE_MESSAGES)
        if not entries:
            self.correct()
            return
        records = await self._store.records_at([(physical, size) for physical, size, _ in entries])
        timer.move_write_time(self._clock.now_ms())
        for (physical, size, _), record in zip(entries, records, strict=True):
            place = Place(TIMER_TOPIC, 0, offset, physical)
            if record is None:
                self._redelivery.gone(place, self._store.min_offset)
            elif not timer.has(physical):
                self._redelivery.attempt(place, partial(self._take, record, place, size))
            offset += 1
            timer.taken_in(offset, physical)

    def _take(self, record: Body, place: Place, size: int) -> None:
        message = self._redelivery.read(record, place)
        if message is None:
            return
        properties = message.properties
        deliver_ms = self._times.due(message)
        topic = properties.get(p.REAL_TOPIC)
        if deliver_ms is None or topic is None:
            raise MessageError("it does not say when and where it is to be delivered")
        recalls = p.TIMER_DELETE_KEY in properties
        if deliver_ms < self._timer.write_time:
            self._deliver_now(message, recalls)
            return
        self._timer.add(deliver_ms, place.log_offset, size, java_hash(topic), recalls=recalls)
        self._metrics.add(topic, -1 if recalls else 1)

    def _deliver_now(self, message: ReceivedMessage, recalls: bool) -> None:
        if recalls:
            return  # what it takes back is delivered already
        now = self._clock.now_ms()
        self._redelivery.put(
            message,
            delivered_properties(message.properties, enqueue_ms=NEVER_ENQUEUED, now=now, rolls=False),
        )
