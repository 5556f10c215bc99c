"""The timer's wheel, log and checkpoint compared with one another and with the commit log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from mqframe_delay.rules.timer_layout import CHECKPOINT, SLOT, SLOTS, UNIT, Unit
from mqframe_delay.store.checkpoint import TimerCheckpoint
from mqframe_delay.store.log import TimerLog
from mqframe_delay.store.wheel import Slot, TimerWheel

from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.checking.findings import Findings
from mqframe.store.files.layout import Layout, file_name, sized_files

_WHEEL_BYTES: Final = SLOTS * SLOT.size


class TimerCheck:
    """`precision_ms`: of the wheel; `record_at`: what lies at a commit-log offset; `log_start`: the first one
    that is kept; `topic_end`: queue offset behind the last message of the timer topic."""

    def __init__(
        self,
        layout: Layout,
        precision_ms: int,
        record_at: Callable[[int], LogRecord | None],
        log_start: int,
        topic_end: int,
    ) -> None:
        self._layout = layout
        self._precision = precision_ms
        self._record_at = record_at
        self._log_start = log_start
        self._topic_end = topic_end

    def run(self, findings: Findings) -> None:
        """Tell `findings` what does not agree. Raises OSError."""
        layout = self._layout
        files = sized_files(layout.timer_log)
        checkpoint = TimerCheckpoint(layout.timer_checkpoint)
        used = bool(files) or (layout.timer_wheel.exists() and checkpoint.exists)
        if layout.timer_checkpoint.exists() and not checkpoint.exists:
            size = layout.timer_checkpoint.stat().st_size
            findings.add(layout.timer_checkpoint, size, f"{size} bytes", f"at least {CHECKPOINT.size}")
        if not used:
            return
        if checkpoint.queue_offset > self._topic_end:
            found = f"the timer topic taken in up to {checkpoint.queue_offset}"
            findings.add(layout.timer_checkpoint, 16, found, f"at most {self._topic_end}, its end")
        sizes = Counter(size for _, _, size in files)
        file_bytes = max(sizes, key=lambda size: (sizes[size], size), default=UNIT.size)
        for number, (base, path, size) in enumerate(files):
            if size != file_bytes:
                findings.add(path, min(size, file_bytes), f"{size} bytes", f"{file_bytes} bytes")
            if base != files[0][0] + number * file_bytes:
                before = file_name(files[0][0] + number * file_bytes)
                findings.add(path, 0, "no file before it", f"the file {before}")
        log = TimerLog(layout.timer_log, file_bytes, writable=False) if files else None
        try:
            slots = self._slots(log, checkpoint, file_bytes, findings) if log is not None else {}
            self._compare_wheel(slots, checkpoint.read_time, findings)
        finally:
            if log is not None:
                log.close()

    def _slots(
        self, log: TimerLog, checkpoint: TimerCheckpoint, file_bytes: int, findings: Findings
    ) -> dict[int, Slot]:
        """What the wheel has to say of each slot by what the log says."""
        slots: dict[int, Slot] = {}
        end = log.start
        for position, unit in log.units_from(log.start):
            end = position + UNIT.size
            time = unit.time // self._precision * self._precision
            slot, change = slots.get(time), -1 if unit.recalls else 1
            path = self._layout.timer_log / file_name(position - position % file_bytes)
            at = position % file_bytes
            if unit.previous < 0 or slot is None:
                if unit.previous >= log.start:
                    findings.add(path, at + 4, f"unit {unit.previous} before it in its slot", "none")
                slots[time] = Slot(time, position, position, change)
            else:
                if unit.previous != slot.last:
                    findings.add(path, at + 4, f"unit {unit.previous} before it in its slot", f"{slot.last}")
                slots[time] = Slot(time, slot.first, position, slot.messages + change)
            if time >= checkpoint.read_time:
                self._compare_record(unit, (path, at), findings)
        known = checkpoint.position
        if end < known and not log.is_unused(end, known):
            base = end - end % file_bytes
            found = "no unit, though the checkpoint says that the log goes on"
            findings.add(
                self._layout.timer_log / file_name(base), end - base, found, f"units up to position {known}"
            )
        return slots

    def _compare_record(self, unit: Unit, place: tuple[object, int], findings: Findings) -> None:
        if unit.log_offset < self._log_start:
            return
        record = self._record_at(unit.log_offset)
        if record is None or record.size != unit.size:
            what = "no record" if record is None else f"one of {record.size} bytes"
            findings.add(
                str(place[0]), place[1] + 28, f"commit-log offset {unit.log_offset}, {unit.size} bytes",
                f"a record that lies there: there is {what}",
            )  # fmt: skip

    def _compare_wheel(self, slots: dict[int, Slot], read_time: int, findings: Findings) -> None:
        path = self._layout.timer_wheel
        size = path.stat().st_size if path.exists() else -1
        if size != _WHEEL_BYTES:
            found = "no file" if size < 0 else f"{size} bytes"
            findings.add(path, max(0, min(size, _WHEEL_BYTES)), found, f"a wheel of {_WHEEL_BYTES} bytes")
            return
        wheel = TimerWheel(path, self._precision, writable=False)
        try:
            turn = SLOTS * self._precision
            for held in wheel.used(read_time, read_time + turn):
                if held.time not in slots:
                    findings.add(path, wheel.place(held.time), _slot_text(held), "an empty slot")
            for expected in slots.values():
                if expected.time < read_time or wheel.is_emptied(expected.time):
                    continue
                found_slot = wheel.slot(expected.time)
                if found_slot == expected:
                    continue
                if findings.killed:
                    findings.note("slots of the timer wheel are behind its log; the next start sets them")
                    continue
                findings.add(path, wheel.place(expected.time), _slot_text(found_slot), _slot_text(expected))
        finally:
            wheel.close()


def _slot_text(slot: Slot | None) -> str:
    if slot is None:
        return "a slot of another time"
    return f"slot {slot.time} ms: units {slot.first} to {slot.last}, {slot.messages} messages"
