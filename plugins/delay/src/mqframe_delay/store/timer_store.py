"""The timer's files behind one object, and how they are brought together again after a kill.

Source: TimerMessageStore.java (recover, doEnqueue, dequeue, prepareTimerCheckPoint).
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from mqframe.core.errors import RetryError
from mqframe.core.storage.agreement import samples
from mqframe.log import get_logger
from mqframe.store.files.layout import Layout
from mqframe_delay.rules.timer_layout import MAGIC_DELETE, MAGIC_PLAIN, MAGIC_ROLL, UNIT, Unit
from mqframe_delay.rules.timer_rules import placed, slot_of_write
from mqframe_delay.store.checkpoint import TimerCheckpoint
from mqframe_delay.store.log import TimerLog
from mqframe_delay.store.wheel import Slot, TimerWheel

log: Final = get_logger("store")
_REACH_SLOTS: Final = 7 * 86_400
_SPARE_SLOTS: Final = 60
_IDLE_MARK_MS: Final = 60_000


class TimerDamage(RetryError):
    """Wheel and log of the timer contradict each other, or the commit log."""


class TimerStore:
    """Wheel, log and checkpoint of one store. Belongs to one loop; `sync` may run in a thread.

    `read_time`: the first slot that is not delivered, ms, never one that is to come; `queue_offset`: first
    message of the timer topic that is not taken in; `waiting`: messages in the wheel.

    Made by a start, which recovers: what the log holds beyond the checkpoint is entered into the wheel again,
    what is no unit ends the log, and slots that say something else than the log are written anew. `lost`: the
    log itself lacks units that it had; then `forget` and take the timer topic in again. `taken_before`: what
    of the topic was taken in before that, and may be delivered. `now`: wall-clock time, ms. Raises OSError.
    """

    def __init__(
        self, root: Path, *, precision_ms: int, window_slots: int, log_file_bytes: int, now: int
    ) -> None:
        layout = Layout(root)
        self.precision = precision_ms
        reach = _REACH_SLOTS - _SPARE_SLOTS
        self._window = window_slots if 2 <= window_slots <= reach else reach
        self._wheel = TimerWheel(layout.timer_wheel, precision_ms)
        self._log = TimerLog(layout.timer_log, log_file_bytes)
        self.checkpoint = TimerCheckpoint(layout.timer_checkpoint)
        self.read_time = 0
        self.write_time = 0
        self.queue_offset = min(self.checkpoint.queue_offset, self.checkpoint.master_offset)
        self.taken_before = self.checkpoint.master_offset
        self.lost = False
        self.record_end = 0
        self.waiting = 0
        self._taken: dict[int, int] = {}
        self._last_taken = -1
        self._changed = False
        self._marks: deque[tuple[int, int, int, int]] = deque()
        self._recover(now)
        self.first_position = self._log.end
        """Where in the log the units of this process begin."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever put into the wheel, as far as the log is kept."""
        return self._log.end == self._log.start

    # Taking in

    def move_write_time(self, now: int) -> int:
        """The slot of `now`, ms, into which nothing earlier is put.

        Where the clock was set back, the slots that come once more are emptied: what they held is delivered.
        Not to be called while a slot is being delivered. Raises OSError.
        """
        self.write_time = slot_of_write(now, self.precision)
        if self.write_time < self.read_time:
            self._turn_back(self.write_time)
        return self.write_time

    @property
    def is_turn_behind(self) -> bool:
        """Whether the wheel has no room for new messages before older ones are delivered."""
        return self.write_time - self.read_time >= (_REACH_SLOTS + _SPARE_SLOTS) * self.precision

    def _turn_back(self, time: int) -> None:
        self._wheel.clear_between(time, self.read_time)
        self.read_time = time
        self._changed = True

    def has(self, log_offset: int) -> bool:
        """Whether the message at this commit-log offset was in the wheel already before the last start."""
        return bool(self._taken) and log_offset in self._taken

    def add(self, out_time: int, log_offset: int, size: int, topic_hash: int, *, recalls: bool) -> None:
        """Put a message due in slot `out_time` (ms, not before `write_time`) into the wheel.

        `recalls`: it takes back another one. Raises OSError, and can be tried again then.
        """
        write = self.write_time
        time, rolls = placed(out_time, write, self._window, self.precision)
        magic = MAGIC_PLAIN | rolls * MAGIC_ROLL | recalls * MAGIC_DELETE
        slot = self._wheel.slot(time)
        previous = -1 if slot is None else slot.last
        position = self._log.append(Unit(previous, magic, write, time, log_offset, size, topic_hash))
        change = -1 if recalls else 1
        first, count = (position, 0) if slot is None or slot.first < 0 else (slot.first, slot.messages)
        self._wheel.put(Slot(time, first, position, count + change))
        self.waiting += change

    def taken_in(self, queue_offset: int, last_taken: int) -> None:
        """The timer topic is taken in up to `queue_offset`; `last_taken`: commit-log offset of the last."""
        self.queue_offset = queue_offset
        if self._taken and last_taken >= self._last_taken:
            self._taken = {}

    # Giving out

    def next_slot(self, end: int) -> Slot | None:
        """The earliest slot before `end` (ms) that is in use and was not delivered."""
        return next(self._wheel.used(self.read_time, end), None)

    def chain(self, slot: Slot) -> Iterator[tuple[int, Unit]]:
        """Position and unit of each message of `slot`, the newest first. Raises `TimerDamage`."""
        position, precision = slot.last, self.precision
        while position >= 0:
            unit = self._log.unit(position)
            if unit is None or unit.time // precision * precision != slot.time or unit.previous >= position:
                if position < self._log.start:
                    return  # its record is gone from the commit log, too
                raise TimerDamage(f"the timer log has no unit of slot {slot.time} at position {position}")
            yield position, unit
            position = unit.previous

    def units(self, positions: array[int]) -> list[Unit]:
        """The units at these positions, those that are still there."""
        return [unit for position in positions if (unit := self._log.unit(position)) is not None]

    def delivered(self, slot: Slot) -> None:
        """All of `slot` is delivered."""
        self.waiting -= slot.messages
        self._changed = True
        self.read_time = slot.time + self.precision

    def slots_written_since(self, position: int) -> tuple[set[int], dict[int, int]]:
        """Slots (ms) of the units from `position` on, and of those before it by a clock ahead of now.

        With them, for each commit-log offset named there, where its newest unit lies: only that one counts.
        """
        slots: set[int] = set()
        newest: dict[int, int] = {}
        for at, unit in self._log.units_back():
            if at < position and unit.write_time <= self.write_time:
                break
            newest.setdefault(unit.log_offset, at)
            slots.add(slot_of_write(unit.time, self.precision))
        return slots, newest

    def waiting_slot(self, time: int) -> Slot | None:
        """The slot of `time` (ms), if it is in use and not delivered."""
        slot = self._wheel.slot(time) if time >= self.read_time else None
        return None if slot is None or slot.first < 0 else slot

    def replace(self, slot: Slot, units: list[Unit]) -> None:
        """Let `slot` hold these units, the oldest first, instead of what it holds. Raises OSError."""
        first = last = -1
        messages = 0
        for unit in units:
            last = self._log.append(unit._replace(previous=last, write_time=self.write_time))
            first = last if first < 0 else first
            messages += -1 if unit.recalls else 1
        if units:
            self._wheel.put(Slot(slot.time, first, last, messages))
        else:
            self._wheel.clear(slot.time)
        self.waiting += messages - slot.messages
        self._changed = True

    def count_between(self, start: int, end: int) -> int:
        """How many messages wait in the slots with times in [`start`, `end`), ms."""
        return sum(slot.messages for slot in self._wheel.used(max(start, self.read_time), end))

    def skip_to(self, time: int) -> None:
        """No slot before `time` (ms) is in use."""
        self.read_time = max(self.read_time, time)

    # On disk

    def mark(self, log_end: int) -> bool:
        """What was delivered and taken in until now lies before `log_end` in the commit log.

        Returns whether the checkpoint is to follow; it need not for every second in which nothing was due.
        """
        saved = self.checkpoint
        noted = self._marks[-1] if self._marks else (0, saved.read_time, saved.queue_offset, 0)
        idle = self.queue_offset == noted[2] and not self._changed
        if idle and self.read_time - noted[1] < _IDLE_MARK_MS:
            return bool(self._marks)
        self._changed = False
        self._marks.append((log_end, self.read_time, self.queue_offset, self._log.end))
        return True

    @property
    def is_settled(self) -> bool:
        """Whether the checkpoint says all that was marked."""
        return not self._marks

    def begin_sync(self, flushed: int | None, now: int) -> bytes:
        """What the checkpoint will say once wheel and log are on disk; hand it to `sync`.

        `flushed`: the commit log is on disk up to there; `None`: all of it is, or will be before anything
        else. What was delivered later is not noted: after a power cut it comes twice, rather than never.
        """
        saved = self.checkpoint
        # The position belongs to the offset: units behind it tell after a kill what is in the wheel already.
        read_time, queue_offset, position = saved.read_time, saved.queue_offset, saved.position
        while self._marks and (flushed is None or self._marks[0][0] <= flushed):
            _, read_time, queue_offset, position = self._marks.popleft()
        saved.advance(read_time, position, queue_offset, now, self.taken_before)
        return saved.encode()

    def sync(self, encoded: bytes) -> None:
        """Bring log, wheel and checkpoint to disk. For a thread. Raises OSError."""
        self._log.sync()
        self._wheel.sync()
        self.checkpoint.save(encoded)

    def clean(self, log_start: int) -> list[Path]:
        """Remove log files whose messages lie before commit-log offset `log_start`; returns their paths."""
        return self._log.remove_before(log_start)

    def close(self) -> None:
        """Close all files."""
        self._log.close()
        self._wheel.close()

    # Starting

    def forget(self) -> None:
        """Empty wheel and log: the timer topic is to be taken in again from its start. Raises OSError."""
        self.taken_before = max(self.taken_before, self.queue_offset)
        self.queue_offset = self.waiting = 0
        self._marks.clear()
        self._taken = {}
        # On disk first: what a kill leaves half built must not count as whole.
        self.checkpoint.advance(self.read_time, 0, 0, self.checkpoint.timestamp, self.taken_before)
        self.checkpoint.save(self.checkpoint.encode())
        self._log.empty()
        self._wheel.empty()
        self.first_position = 0
        self.lost = False

    @property
    def first_unit(self) -> Unit | None:
        """The oldest unit that is kept, whether it waits or not."""
        return next((unit for _, unit in self._log.units_from(self._log.start)), None)

    def sample(self, count: int) -> list[Unit]:
        """Some units that wait, the last among them."""
        slots = list(islice(self._wheel.used(self.read_time, self.read_time + self._turn), 1 << 16))
        found = [self._log.unit(slots[number].last) for number in samples(0, len(slots), count)]
        if self._log.end:
            found.append(self._log.unit(self._log.end - UNIT.size))
        return [unit for unit in found if unit is not None]

    def _recover(self, now: int) -> None:
        known = self.checkpoint.position
        today = slot_of_write(now, self.precision)
        # However long ago it was: no clock that is far ahead may skip what waits.
        delivered = self.checkpoint.read_time or self._first_slot(today)
        self.read_time = delivered
        if today < delivered:
            self._turn_back(today)
        self.lost = self._log.is_broken or bool(known and not self._log.reaches(known))
        end = self._log.start
        for position, unit in self._log.units_from(self._log.start):
            end = position + UNIT.size
            self.record_end = max(self.record_end, unit.log_offset + unit.size)
            if position >= known:
                self._taken[unit.log_offset] = position
        # Behind a file's last unit there may be room that is too small for one.
        self.lost = self.lost or (end < known and not self._log.is_unused(end, known))
        if not self.lost:
            self._log.cut(max(end, known))
            self._last_taken = max(self._taken, default=-1)
            self._set(self._slots(known, delivered))
        self.checkpoint.read_time = self.read_time
        self.checkpoint.queue_offset = self.queue_offset

    def _first_slot(self, today: int) -> int:
        """A slot before which none was ever used, for a timer without a checkpoint."""
        oldest = today - (_REACH_SLOTS - _SPARE_SLOTS) * self.precision
        first = next(self._log.units_from(self._log.start), None)
        return oldest if first is None else min(oldest, slot_of_write(first[1].write_time, self.precision))

    def _slots(self, known: int, delivered: int) -> dict[int, Slot]:
        """What the wheel has to say: slots of units, of those before position `known` from `delivered` on.

        Where a slot was emptied, only units behind `known` count, which may not have got into it any more.
        """
        slots: dict[int, Slot] = {}
        emptied: dict[int, bool] = {}
        for position, unit in self._log.units_from(self._log.start):
            time = slot_of_write(unit.time, self.precision)
            # What was moved to another slot lies there twice; the last one counts.
            moved = position >= known and self._taken.get(unit.log_offset, position) != position
            if moved or time < (self.read_time if position >= known else delivered):
                continue
            if position < known:
                if time not in emptied:
                    emptied[time] = self._wheel.is_emptied(time)
                if emptied[time]:
                    continue
            self._count_in(slots, time, position, unit)
        return slots

    def _count_in(self, slots: dict[int, Slot], time: int, position: int, unit: Unit) -> None:
        """Let the unit's slot name it; the unit has to name the one before it in its slot."""
        slot, change = slots.get(time), -1 if unit.recalls else 1
        if slot is None or unit.previous < 0:
            # The first one, or the slot was emptied before it.
            slots[time] = Slot(time, position, position, change)
            if unit.previous >= self._log.start:
                self._log.relink(position, unit._replace(previous=-1))
            return
        if unit.previous != slot.last:
            self._log.relink(position, unit._replace(previous=slot.last))
        slots[time] = Slot(time, slot.first, position, slot.messages + change)

    def _set(self, slots: dict[int, Slot]) -> None:
        """Let the wheel say what the log says, from `read_time` on."""
        wrong = 0
        for slot in list(self._wheel.used(self.read_time, self.read_time + self._turn)):
            expected = slots.get(slot.time)
            if expected is None:
                self._wheel.clear(slot.time)
                wrong += 1
        for slot in slots.values():
            if self._wheel.slot(slot.time) != slot:
                self._wheel.put(slot)
                wrong += 1
        self.waiting = sum(slot.messages for slot in slots.values())
        if wrong:
            log.info("slots of the timer wheel were set by its log", slots=wrong)

    @property
    def _turn(self) -> int:
        return 2 * _REACH_SLOTS * self.precision
