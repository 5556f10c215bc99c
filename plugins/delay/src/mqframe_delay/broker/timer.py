"""Delivery at a given time: takes messages into the wheel and delivers slots that have ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from mqframe.core.errors import Refusal
from mqframe.core.measuring.family import Metric
from mqframe.core.measuring.meter import SAMPLE_SECONDS, Meter
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.requests.admin import GetTimerMetrics
from mqframe.core.requests.serving import Answer, Call, Reply, serves
from mqframe.hooks.interfaces import BrokerPort, BrokerService, OnArrival, Periodic
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_delay.broker.dequeue import TimerDequeue
from mqframe_delay.broker.enqueue import TimerEnqueue
from mqframe_delay.broker.replacing import TimerReplacing
from mqframe_delay.broker.timer_parts import TimerParts
from mqframe_delay.broker.timer_snapshot import timer_families
from mqframe_delay.broker.timer_times import TimerTimes
from mqframe_delay.requests import GetTimerCheckPoint
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_delay.settings import DelaySettings
from mqframe_delay.store.timer_store import TimerDamage, TimerStore

log = get_logger("broker")
_GATHER_MS: Final = 20
"""How long new messages are gathered before they are taken in; far less than a slot is long."""
_RETRY_MS: Final = 500
_CLEAN_SECONDS: Final = 30.0
_LOOK_MS: Final = 5000
"""How often it is looked where no slot waits."""


class TimerService(BrokerService):
    """Runs the timer of one store.

    A message is delivered when its slot has ended: not early, and at most one precision after its time. What
    waits lies in files only. A broker that is killed goes on where its checkpoint stands: it may deliver
    the last second again.
    """

    def __init__(self, port: BrokerPort, settings: DelaySettings, metrics: TimerMetrics) -> None:
        self._store, self._directory = port.store, port.directory
        self._redelivery = port.redelivery
        self._metrics = metrics
        self._clock = clock = port.clock
        self._settings = settings
        self._timer: TimerStore | None = None
        self._intake: TimerEnqueue | None = None
        self._slot: TimerDequeue | None = None
        self._times: TimerTimes | None = None
        self._set_back = True
        self._alarm = port.due_task(self._round, "timer")
        self._flush_alarm = port.due_task(self._flush, "timer flush")
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="mqframe-timer")
        self._saved = b""
        self._failed = False
        self._refused = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._caught_up = False
        self._taken, self._delivered = Meter(clock.monotonic()), Meter(clock.monotonic())

    def periodic(self) -> list[Periodic]:
        """Removing log files that nobody needs, remembering how much passed."""
        return [
            Periodic(_CLEAN_SECONDS, self._clean, "timer clean-up"),
            Periodic(SAMPLE_SECONDS, self._sample, "timer rates"),
        ]

    def _sample(self) -> None:
        now = self._clock.monotonic()
        self._taken.sample(now)
        self._delivered.sample(now)

    async def start(self) -> None:
        """Open and recover the timer's files. Raises `StoreError`, and OSError when they cannot be synced."""
        settings = self._settings
        self._timer = timer = TimerStore(
            self._directory,
            precision_ms=settings.timer_precision_ms,
            window_slots=settings.timer_window_slots,
            log_file_bytes=settings.timer_log_file_bytes,
            now=self._clock.now_ms(),
        )
        self._times = times = TimerTimes(self._store, settings, self._clock)
        parts = TimerParts(timer, self._store, self._metrics, self._redelivery, self._clock, times)
        self._intake = TimerEnqueue(parts)
        if not self._intake.agrees():
            self._take_in_again("its files were lost or damaged")
        before = timer.queue_offset
        self._intake.correct()
        self._saved = timer.checkpoint.encode()
        if timer.queue_offset < before:
            # A crash took what was noted as taken in; what is stored in its place must not be passed over.
            timer.mark(self._store.log.max_offset)
            timer.sync(timer.begin_sync(None, self._clock.now_ms()))
        slot = timer.next_slot(timer.move_write_time(self._clock.now_ms()))
        self._caught_up = slot is None and not self._intake.behind
        self._alarm.ring_in(0)

    async def stop(self) -> None:
        """Deliver nothing further; bring everything to disk."""
        await self._alarm.stop()
        await self._flush_alarm.stop()
        timer, self._timer = self._timer, None
        if timer is None:
            return
        timer.mark(self._store.log.max_offset)
        if await self._store.confirming.flush_log():
            await self._sync(timer, timer.begin_sync(None, self._clock.now_ms()))
        self._disk.shutdown()
        timer.close()

    def abandon(self) -> None:
        """Let go of the files."""
        self._alarm.cancel()
        self._flush_alarm.cancel()
        self._disk.shutdown()
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def arrivals(self) -> Mapping[str, OnArrival]:
        """Messages for the wheel."""
        return {TIMER_TOPIC: self._arrived}

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        if self._times is not None:
            self._times.arrived(max_offset - len(codes))
        self._alarm.ring_in(_GATHER_MS)

    def counters(self) -> dict[str, str]:
        """How far the timer is behind (s and messages) and how much waits, as operators' tools want it."""
        timer, intake = self._timer, self._intake
        if timer is None or intake is None:
            return {}
        now, now_ms = self._clock.monotonic(), self._clock.now_ms()
        due = timer.next_slot(now_ms)  # one that waits for its time, or none, leaves nothing behind
        return {
            "timerReadBehind": str(0 if due is None else max(0, now_ms - due.time) // 1000),
            "timerOffsetBehind": str(intake.behind),
            "timerCongestNum": str(timer.waiting),
            "timerEnqueueTps": f"{self._taken.per_second(now, SAMPLE_SECONDS):.1f}",
            "timerDequeueTps": f"{self._delivered.per_second(now, SAMPLE_SECONDS):.1f}",
            "timerFailures": str(self._alarm.failures.total + self._flush_alarm.failures.total),
        }

    async def metrics(self) -> Sequence[Metric]:
        """How far the timer is behind, and how much waits."""
        timer, intake = self._timer, self._intake
        if timer is None or intake is None:
            return ()
        return await timer_families(timer, intake, self._metrics)

    def delivered_to(self) -> int:
        """Everything that was stored for delivery up to this time (ms), and is due by it, is in the log.

        0 until what fell due while the broker was down is delivered, and while something waits to be taken in
        of which nobody knows when it was stored, since the clock was set back. What is not confirmed is not
        counted.
        """
        timer, now = self._timer, self._clock.now_ms()
        if timer is None or not self._caught_up:
            return 0
        slot = timer.next_slot(now)
        stored = self._store.queues.store_time_at(TIMER_TOPIC, 0, timer.queue_offset)
        if stored is not None and stored > now:
            return 0
        return min(now if slot is None else slot.time, now if stored is None else stored - 1)

    async def _round(self) -> int | None:
        """Take in what is new, deliver what is due; returns the wait before the next round, ms."""
        timer, intake = self._timer, self._intake
        if timer is None or intake is None:
            return None
        try:
            await self._take_and_deliver(timer, intake)
        except TimerDamage as problem:
            self._take_in_again(str(problem))
            return 0
        except (Refusal, OSError) as problem:
            event = "messages for a given time wait: the store takes nothing"
            self._refused.note(event, problem=str(problem))
            return _RETRY_MS
        finally:
            if timer.mark(self._store.log.max_offset):
                self._flush_alarm.ring_in(self._settings.timer_flush_interval_ms)
        self._refused.over("messages for a given time are delivered again")
        return self._wait(timer)

    def _take_in_again(self, problem: str) -> None:
        """Build wheel and log again of the timer topic, which holds all that waits. Raises OSError."""
        timer, intake = self._timer, self._intake
        if timer is None or intake is None:
            return
        log.error("the timer is built again of its topic", problem=problem)
        self._slot = None
        timer.forget()
        self._intake = TimerEnqueue(intake.parts)
        self._intake.correct()

    async def _take_and_deliver(self, timer: TimerStore, intake: TimerEnqueue) -> None:
        while True:
            if self._slot is not None:
                await self._slot.deliver()
                timer.delivered(self._slot.slot)
                self._delivered.total += self._slot.done
                self._slot = None
            await self._follow_clock(timer, intake)
            # First what is new: it may recall what is about to be delivered.
            end = self._store.queues.max_offset(TIMER_TOPIC, 0)
            while timer.queue_offset < end and not timer.is_turn_behind:
                before = timer.queue_offset
                await intake.take_slice()
                self._taken.total += timer.queue_offset - before
                await asyncio.sleep(0)
            now_slot = timer.move_write_time(self._clock.now_ms())
            slot = timer.next_slot(now_slot)
            if slot is not None:
                self._slot = TimerDequeue(slot, intake.parts)
                continue
            timer.skip_to(now_slot)
            if timer.queue_offset >= end:
                self._caught_up = True
                return

    async def _follow_clock(self, timer: TimerStore, intake: TimerEnqueue) -> None:
        timer.move_write_time(self._clock.now_ms())
        times = intake.parts.times
        self._set_back = times.was_set_back() or self._set_back
        if self._set_back:
            await TimerReplacing(intake.parts).run()
            self._set_back = False

    def _wait(self, timer: TimerStore) -> int | None:
        if timer.is_empty:
            return None
        slot = timer.next_slot(timer.read_time + _LOOK_MS)
        if slot is None:
            return _LOOK_MS
        return max(0, slot.time + timer.precision - self._clock.now_ms())

    # On disk

    async def _flush(self) -> int | None:
        timer = self._timer
        if timer is None or self._failed:
            return None
        encoded = timer.begin_sync(self._store.log.lasting_offset, self._clock.now_ms())
        if encoded != self._saved:
            await self._sync(timer, encoded)
        return None if timer.is_settled else self._settings.timer_flush_interval_ms

    async def _sync(self, timer: TimerStore, encoded: bytes) -> None:
        if self._failed:
            return  # a second sync would succeed without what the first one lost
        try:
            await asyncio.get_running_loop().run_in_executor(self._disk, timer.sync, encoded)
        except OSError as problem:
            self._failed = True
            self._store.disk.distrust(problem.filename or "timer", problem)
        else:
            self._saved = encoded

    def _clean(self) -> None:
        if self._times is not None:
            self._times.gone(self._store.queues.min_offset(TIMER_TOPIC, 0))
        if self._timer is not None:
            for path in self._timer.clean(self._store.log.min_offset):
                log.info("timer-log file removed", file=str(path))

    # Shown to others

    @serves(GetTimerCheckPoint)
    def show_checkpoint(self, fields: GetTimerCheckPoint, call: Call) -> Reply:
        return Reply(body=b"" if self._timer is None else self._timer.checkpoint.encode())

    @serves(GetTimerMetrics)
    def show_metrics(self, fields: GetTimerMetrics, call: Call) -> Answer:
        return self._metrics.dump()
