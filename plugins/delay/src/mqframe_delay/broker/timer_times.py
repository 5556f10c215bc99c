"""When a message in the timer is due, whatever was done to the clock since it was sent."""

from __future__ import annotations

from mqframe.core.clock import JUMP_MS, Clock, SetTimes, SteadyClock
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.hooks.interfaces import BrokerStore
from mqframe.log import get_logger
from mqframe_delay.rules.timer_layout import SLOTS
from mqframe_delay.rules.timer_rules import asked_delay, believed_slot, slot_time
from mqframe_delay.settings import DelaySettings

log = get_logger("broker")


class TimerTimes:
    """What a time in a message of the timer topic means.

    | the message asks for | stored | due |
    |-|-|-|
    | a time | any time | when the wall clock says so |
    | a delay | by this process | when so much has passed by the monotonic clock |
    | a delay | before | at the wall-clock time noted then, and not later than the whole delay from now |
    | a delay | before, by a clock that was ahead | at once |
    | a delay | before, and the clock was set back since | when the clock would have shown that time |
    | what no broker takes | any time | see `believed_slot` |
    """

    def __init__(self, store: BrokerStore, settings: DelaySettings, clock: Clock) -> None:
        self._clock = clock
        self._precision = settings.timer_precision_ms
        self._steady = SteadyClock(clock)
        self._set = SetTimes(self._steady, store.queues.max_offset(TIMER_TOPIC, 0))
        self._ahead = 0
        self._went_back = False
        self._started = clock.now_ms()
        self._limit = settings.timer_delay_seconds_max * 1000
        self._round = min(settings.timer_window_slots, SLOTS // 2) * self._precision

    def arrived(self, offset: int) -> None:
        """Messages from queue `offset` on were stored just now."""
        self._set.stored(offset)

    def gone(self, offset: int) -> None:
        """The log holds no messages of the topic before queue `offset` any more."""
        self._set.passed(offset)

    def was_set_back(self) -> bool:
        """Whether the clock was set back since the last call."""
        before, ahead = self._ahead, self._steady.ahead_ms()
        if abs(ahead - before) >= JUMP_MS:
            self._ahead = ahead
        back = ahead <= before - JUMP_MS
        self._went_back = self._went_back or back
        return back

    def due(self, message: ReceivedMessage, slot: int | None = None) -> int | None:
        """The slot, ms, at whose end `message` is to be delivered; `None` when it does not say.

        `slot`: where it waits now, if it does.
        """
        noted = self._noted(message)
        delay = asked_delay(message.properties)
        if noted is None or delay is None:
            return noted
        correction = self._set.correction(message.queue_offset)
        if correction is None:
            return self._due_before(noted, delay, noted if slot is None else slot)
        return self._moved(noted, correction)

    def _due_before(self, noted: int, delay: int, slot: int) -> int:
        now = self._clock.now_ms()
        if noted - delay >= self._started + JUMP_MS:
            return slot_time(now, self._precision) - self._precision  # who knows how long it waits already
        ahead = self._steady.ahead_ms()
        moved = self._moved(noted, ahead) if ahead <= -JUMP_MS else noted
        return min(moved, slot, slot_time(now + delay, self._precision))

    def _moved(self, noted: int, change: int) -> int:
        precision = self._precision
        return noted if change == 0 else -(-(noted + change) // precision) * precision

    def _noted(self, message: ReceivedMessage) -> int | None:
        out = whole_number(message.properties.get(p.TIMER_OUT_MS, ""))
        if out is None:
            return None
        believed = believed_slot(out, message.store_timestamp, self._limit, self._round)
        if believed == out:
            return out
        log.warning(
            "a message waits for a time beyond any limit; it comes earlier",
            offset=message.queue_offset, log_offset=message.commit_log_offset, time=out, comes=believed,
        )  # fmt: skip
        return believed // self._precision * self._precision

    def comes_round_early(self, message: ReceivedMessage) -> bool:
        """Whether a message that rolls waited for less than half a round, since the clock was set forward.

        It is not stored anew then: its record is young, and another one would say a time of that clock.
        """
        correction = self._set.correction(message.queue_offset)
        if correction is None or correction <= 0:
            return False
        waited = self._clock.now_ms() - message.store_timestamp - correction
        return waited < self._round // 2 - self._precision

    def too_early(self, message: ReceivedMessage) -> int | None:
        """The slot to come, ms, of a message whose slot has ended too early; `None` for one that is due."""
        if asked_delay(message.properties) is None:
            return None
        if self._set.correction(message.queue_offset) is None and not self._went_back:
            return None
        due = self.due(message)
        return due if due is not None and due + self._precision > self._clock.now_ms() else None
