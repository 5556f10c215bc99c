"""A timer's files beside a store, as the tests of its two directions use them."""

from __future__ import annotations

from typing import Any

from mqframe_delay.broker.enqueue import TimerEnqueue
from mqframe_delay.broker.timer_parts import TimerParts
from mqframe_delay.broker.timer_times import TimerTimes
from mqframe_delay.rules.timer_layout import Unit
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_delay.settings import DelaySettings
from mqframe_delay.store.timer_store import TimerStore

from mqframe.core.storage.stored import Stored

NOW = 1_700_000_000_000
TIMER_TOPIC = "rmq_sys_wheel_timer"


class Timer:
    """What enqueue and dequeue share: wheel and log, counts of what waits, the way back into queues."""

    def __init__(self, local: Any, window_slots: int = 1000) -> None:
        self.local = local
        self.files = TimerStore(
            local.store.settings.directory, precision_ms=1000, window_slots=window_slots,
            log_file_bytes=1 << 20, now=local.clock.now_ms(),
        )  # fmt: skip
        self.files.move_write_time(local.clock.now_ms())
        self.metrics = TimerMetrics(local.clock)
        self.times = TimerTimes(local.store, DelaySettings(), local.clock)
        self.parts = TimerParts(
            self.files, local.store, self.metrics, local.redelivery, local.clock, self.times
        )

    def sent(self, body: bytes, seconds: float, **more: Any) -> Stored:
        """A message for queue 1 of `t` in the timer topic, due in the slot that begins in `seconds`."""
        values = {"TIMER_OUT_MS": NOW + round(seconds * 1000), "REAL_TOPIC": "t", "REAL_QID": 1, **more}
        stored: Stored = self.local.put(TIMER_TOPIC, body, **values)
        self.times.arrived(stored.queue_offset)
        return stored

    async def take_all(self) -> None:
        """Take in what the timer topic holds."""
        enqueue = TimerEnqueue(self.parts)
        while enqueue.behind:
            await enqueue.take_slice()

    def waiting(self, seconds: float) -> list[Unit]:
        """What waits in the slot that begins in `seconds`, in the order in which it came."""
        slot = next((s for s in self.slots() if s.time == NOW + seconds * 1000), None)
        return [] if slot is None else [unit for _, unit in self.files.chain(slot)][::-1]

    def slots(self) -> list[Any]:
        """The slots in use, earliest first."""
        found, read_time = [], self.files.read_time
        while (slot := self.files.next_slot(NOW + 10_000_000)) is not None:
            found.append(slot)
            self.files.skip_to(slot.time + 1000)
        self.files.read_time = read_time
        return found
