"""Moves messages in the wheel that wait in the wrong slot because the clock was set back."""

from __future__ import annotations

import asyncio
from typing import Final

from mqframe.core.delay.recall_handle import delete_key
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.log import get_logger
from mqframe_delay.broker.dequeue import place_of_unit
from mqframe_delay.broker.timer_parts import TimerParts
from mqframe_delay.rules.timer_layout import Unit
from mqframe_delay.rules.timer_rules import slot_of_write, taken_back
from mqframe_delay.store.wheel import Slot

log = get_logger("broker")
_SLICE_MESSAGES: Final = 64


class TimerReplacing:
    """A message that asked for a delay of ten seconds an hour ago by the clock before waits in a slot that
    comes in an hour now.

    Looked at are the messages of this process, and what a clock ahead of the one of now has put into the
    wheel before it. Those that are to move are in both slots until their old one is written: a kill in
    between delivers twice, and loses nothing.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: TimerParts) -> None:
        self._parts = parts

    async def run(self) -> None:
        """Look through the wheel. Raises OSError; can be repeated."""
        timer = self._parts.timer
        slots, newest = timer.slots_written_since(timer.first_position)
        moved = 0
        for time in sorted(slots):
            slot = timer.waiting_slot(time)
            if slot is not None:
                moved += await self._replace(slot, newest)
        if moved:
            log.warning("the clock was set back: messages of the timer got other slots", moved=moved)

    async def _replace(self, slot: Slot, newest: dict[int, int]) -> int:
        """Let messages of `slot` move where they belong; returns how many did."""
        timer, times = self._parts.timer, self._parts.times
        units = [unit for at, unit in timer.chain(slot) if newest.get(unit.log_offset, at) == at][::-1]
        stay: list[Unit] = []
        move: list[tuple[Unit, int, str]] = []
        recalled: set[str | None] = set()
        for start in range(0, len(units), _SLICE_MESSAGES):
            some = units[start : start + _SLICE_MESSAGES]
            for unit, message in zip(some, await self._read(some), strict=True):
                due = None if message is None or unit.recalls else times.due(message, slot.time)
                if message is not None and unit.recalls:
                    recalled.add(taken_back(message.properties))
                if message is None or due is None or due == slot.time or (unit.rolls and due > slot.time):
                    stay.append(unit)
                else:
                    properties = message.properties
                    key = delete_key(properties.get(p.REAL_TOPIC, ""), properties.get(p.UNIQUE_KEY, ""))
                    move.append((unit, due, key))
            await asyncio.sleep(0)
        if not move:
            return 0
        for unit, due, key in move:
            if key not in recalled:
                out = max(slot_of_write(due, timer.precision), timer.write_time)
                timer.add(out, unit.log_offset, unit.size, unit.topic_hash, recalls=False)
        timer.replace(slot, stay)
        return len(move)

    async def _read(self, units: list[Unit]) -> list[ReceivedMessage | None]:
        records = await self._parts.store.reads.records_at([(unit.log_offset, unit.size) for unit in units])
        read = self._parts.redelivery.read
        return [
            None if record is None else read(record, place_of_unit(unit))
            for unit, record in zip(units, records, strict=True)
        ]
