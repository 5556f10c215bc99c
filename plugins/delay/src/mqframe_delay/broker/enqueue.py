"""Takes messages from the timer topic into the wheel (TimerMessageStore.enqueue, doEnqueue)."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from mqframe.core.errors import MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.storage.agreement import is_of, place_of
from mqframe.core.storage.left_out import MessagePlace
from mqframe.core.wire.frame import Body
from mqframe_delay.broker.timer_parts import TimerParts, names
from mqframe_delay.rules.timer_rules import NEVER_ENQUEUED, delivered_properties

_SLICE_MESSAGES: Final = 64
"""Taken in before other work of the loop gets its turn: about 2 ms."""

_SAMPLES: Final = 64
_Round = tuple[str, str, int]


def _rolls(message: ReceivedMessage) -> int:
    return whole_number(message.properties.get(p.TIMER_ROLL_TIMES, "0")) or 0


def _round(message: ReceivedMessage, times: int) -> _Round:
    """What a message is in all its rounds, and how many of them lie before. No other one has the same."""
    unique = message.properties.get(p.UNIQUE_KEY) or f"{message.born_timestamp} {message.body_crc}"
    return message.properties.get(p.REAL_TOPIC, ""), unique, times


class TimerEnqueue:
    """Follows the timer topic. What is due already does not go into the wheel, but where it belongs."""

    __slots__ = ("_clock", "_metrics", "_redelivery", "_rolled", "_store", "_timer", "_times", "parts")

    def __init__(self, parts: TimerParts) -> None:
        self.parts = parts
        self._timer, self._store, self._metrics, self._redelivery, self._clock, self._times = parts
        self._rolled: frozenset[_Round] | None = None

    @property
    def behind(self) -> int:
        """Messages of the timer topic that are not taken in."""
        return max(0, self._store.queues.max_offset(TIMER_TOPIC, 0) - self._timer.queue_offset)

    def correct(self) -> None:
        """Let the position lie within the queue."""
        low, high = self._store.queues.bounds(TIMER_TOPIC, 0)
        self._timer.queue_offset = min(max(self._timer.queue_offset, low), high)
        self._timer.taken_before = min(self._timer.taken_before, high)

    def agrees(self) -> bool:
        """Whether the timer's files are whole, as far as ends and samples of them and of the topic tell."""
        timer, store = self._timer, self._store
        if timer.lost or timer.record_end > store.log.max_offset:
            return False
        for unit in timer.sample(_SAMPLES):
            record = store.search.record_at(unit.log_offset, unconfirmed=True)
            if unit.log_offset >= store.log.min_offset and not names(unit, record):
                return False
        return not self._lacks_first()

    def _lacks_first(self) -> bool:
        """Whether a file of the timer log is gone, though the topic holds messages of it that wait."""
        first = self._timer.first_unit
        if first is None:
            return False
        low = self._store.queues.min_offset(TIMER_TOPIC, 0)
        for physical, _, _ in self._store.reads.entries(TIMER_TOPIC, 0, low, _SAMPLES):
            if physical >= first.log_offset:
                return False
            record = self._store.search.record_at(physical, unconfirmed=True)
            message = None if record is None else self._read(record, physical)
            if message is None:
                continue
            out = whole_number(message.properties.get(p.TIMER_OUT_MS, ""))
            if out is not None and out >= self._timer.read_time:
                return True
        return False

    def _read(self, record: Body, physical: int) -> ReceivedMessage | None:
        place = place_of(record, 0)
        if place is None or place[3] != physical or not is_of(record, 0, TIMER_TOPIC):
            return None
        return self._redelivery.read(record, MessagePlace(TIMER_TOPIC, 0, place[2], physical))

    async def _find_rolled(self) -> frozenset[_Round]:
        """The rounds of messages that have gone into a further one: these are not to be taken in again."""
        found = set()
        offset, end = self._store.queues.bounds(TIMER_TOPIC, 0)
        while offset < end:
            entries = self._store.reads.entries(TIMER_TOPIC, 0, offset, _SLICE_MESSAGES)
            records = await self._store.reads.records_at([(physical, size) for physical, size, _ in entries])
            for (physical, _, _), record in zip(entries, records, strict=True):
                message = None if record is None else self._read(record, physical)
                times = 0 if message is None else _rolls(message)
                if message is not None and times:
                    found.add(_round(message, times - 1))
            offset += len(entries) or _SLICE_MESSAGES
            await asyncio.sleep(0)
        return frozenset(found)

    async def take_slice(self) -> None:
        """Take in the next few. Raises `Refusal` when the store takes nothing, OSError; can be repeated."""
        timer = self._timer
        offset = timer.queue_offset
        entries = self._store.reads.entries(TIMER_TOPIC, 0, offset, _SLICE_MESSAGES)
        if not entries:
            self.correct()
            return
        if offset < timer.taken_before and self._rolled is None:
            self._rolled = await self._find_rolled()
        records = await self._store.reads.records_at([(physical, size) for physical, size, _ in entries])
        timer.move_write_time(self._clock.now_ms())
        for (physical, size, _), record in zip(entries, records, strict=True):
            place = MessagePlace(TIMER_TOPIC, 0, offset, physical)
            if record is None:
                self._redelivery.gone(place, self._store.log.min_offset)
            elif not timer.has(physical):
                self._redelivery.attempt(place, partial(self._take, record, place, size))
            offset += 1
            timer.taken_in(offset, physical)

    def _take(self, record: Body, place: MessagePlace, size: int) -> None:
        message = self._redelivery.read(record, place)
        if message is None:
            return
        properties = message.properties
        deliver_ms = self._times.due(message)
        topic = properties.get(p.REAL_TOPIC)
        if deliver_ms is None or topic is None:
            raise MessageError("it does not say when and where it is to be delivered")
        recalls = p.TIMER_DELETE_KEY in properties
        if self._timer.queue_offset < self._timer.taken_before:
            # Once more through the topic: what was due is delivered, or has gone into a further round.
            if deliver_ms >= self._timer.read_time and _round(message, _rolls(message)) not in self._again:
                self._timer.add(deliver_ms, place.log_offset, size, java_hash(topic), recalls=recalls)
            return
        if deliver_ms < self._timer.write_time:
            self._deliver_now(message, recalls)
            return
        self._timer.add(deliver_ms, place.log_offset, size, java_hash(topic), recalls=recalls)
        self._metrics.add(topic, -1 if recalls else 1)
        if not recalls:
            self._metrics.taken_in(topic, (deliver_ms - message.born_timestamp) / 1000)

    @property
    def _again(self) -> frozenset[_Round]:
        return self._rolled or frozenset()

    def _deliver_now(self, message: ReceivedMessage, recalls: bool) -> None:
        if recalls:
            return  # what it takes back is delivered already
        now = self._clock.now_ms()
        self._redelivery.put(
            message,
            delivered_properties(message.properties, enqueue_ms=NEVER_ENQUEUED, now=now, rolls=False),
        )
