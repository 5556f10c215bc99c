"""Delivers the messages of one slot of the wheel (TimerMessageStore.dequeue)."""

from __future__ import annotations

import asyncio
from array import array
from functools import partial
from typing import Final

from mqframe.core.delay.recall_handle import delete_key
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.storage.left_out import MessagePlace
from mqframe.core.wire.frame import Body
from mqframe_delay.broker.timer_parts import TimerParts, names
from mqframe_delay.rules.timer_layout import Unit
from mqframe_delay.rules.timer_rules import delivered_properties, taken_back
from mqframe_delay.store.timer_store import TimerDamage
from mqframe_delay.store.wheel import Slot

_SLICE_UNITS: Final = 1024
_SLICE_MESSAGES: Final = 64


class TimerDequeue:
    """Delivers `slot`: oldest message first, without those that are recalled in the same slot.

    Of what waits in the slot only positions in the timer log are held, 8 bytes a message. `deliver` can be
    called again after an error, and goes on where it was.
    """

    __slots__ = (
        "_at", "_clock", "_listed", "_metrics", "_positions", "_recalled", "_redelivery", "_store", "_timer",
        "_times", "slot",
    )  # fmt: skip

    def __init__(self, slot: Slot, parts: TimerParts) -> None:
        self.slot = slot
        self._timer, self._store, self._metrics, self._redelivery, self._clock, self._times = parts
        self._positions = array("q")
        self._recalled: set[str] = set()
        self._listed = False
        self._at = 0

    @property
    def done(self) -> int:
        """Messages that were delivered, or not, because they were taken back, so far."""
        return self._at

    async def deliver(self) -> None:
        """Deliver all. Raises `Refusal` when the store takes nothing, `TimerDamage`, OSError."""
        if not self._listed:
            await self._list()
            self._listed = True
        positions = self._positions
        while self._at < len(positions):
            end = min(self._at + _SLICE_MESSAGES, len(positions))
            units = self._timer.units(positions[self._at : end])
            records = await self._store.reads.records_at([(unit.log_offset, unit.size) for unit in units])
            for unit, record in zip(units, records, strict=True):
                place = place_of_unit(unit)
                if unit.log_offset >= self._store.log.min_offset and not names(unit, record):
                    raise TimerDamage(f"a unit of slot {self.slot.time} names no message of the timer topic")
                if record is None:
                    self._redelivery.gone(place, self._store.log.min_offset)
                else:
                    self._redelivery.attempt(place, partial(self._redeliver, unit, record))
                self._at += 1  # so that a message is not stored again when a later one is refused
            self._at = end
            await asyncio.sleep(0)

    async def _list(self) -> None:
        """Walk back through the slot, then look up what is recalled."""
        positions, recalls = array("q"), array("q")
        for position, unit in self._timer.chain(self.slot):
            (recalls if unit.recalls else positions).append(position)
            if (len(positions) + len(recalls)) % _SLICE_UNITS == 0:
                await asyncio.sleep(0)
        positions.reverse()
        self._positions = positions
        for start in range(0, len(recalls), _SLICE_MESSAGES):
            units = self._timer.units(recalls[start : start + _SLICE_MESSAGES])
            for unit, record in zip(
                units,
                await self._store.reads.records_at([(u.log_offset, u.size) for u in units]),
                strict=True,
            ):
                message = None if record is None else self._redelivery.read(record, place_of_unit(unit))
                key = None if message is None else taken_back(message.properties)
                if key is not None:
                    self._recalled.add(key)
            await asyncio.sleep(0)

    def _redeliver(self, unit: Unit, record: Body) -> None:
        message = self._redelivery.read(record, place_of_unit(unit))
        if message is None:
            return
        properties = message.properties
        topic = properties.get(p.REAL_TOPIC, "")
        if self._recalled and delete_key(topic, properties.get(p.UNIQUE_KEY, "")) in self._recalled:
            return
        later = self._times.too_early(message)
        if later is not None and (not unit.rolls or self._times.comes_round_early(message)):
            # The clock was set forward: the delay that it asked for is not over.
            self._timer.add(later, unit.log_offset, unit.size, unit.topic_hash, recalls=False)
            return
        if unit.rolls and (out := self._times.due(message)) is not None:
            # What was noted by a clock that was set since is not stored by the one of now.
            properties = properties | {p.TIMER_OUT_MS: str(out)}
        more = delivered_properties(
            properties, enqueue_ms=unit.write_time, now=self._clock.now_ms(), rolls=unit.rolls
        )
        self._redelivery.put(message, more, (TIMER_TOPIC, 0) if unit.rolls else None)
        if topic:
            self._metrics.add(topic, -1)
            if not unit.rolls:
                self._metrics.delivered(topic)


def place_of_unit(unit: Unit) -> MessagePlace:
    """Where the message of `unit` lies."""
    return MessagePlace(TIMER_TOPIC, 0, -1, unit.log_offset)  # the wheel does not know the queue offset
