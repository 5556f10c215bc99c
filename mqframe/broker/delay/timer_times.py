"""When a message in the timer is due, whatever was done to the clock since it was sent."""

from __future__ import annotations

from mqframe.core.clock import JUMP_MS, Clock, SetTimes, SteadyClock
from mqframe.core.delay.timer_rules import asked_delay, slot_time, whole_number
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.store.reading.reads import StoreReads


class TimerTimes:
    """What a time in a message of the timer topic means.

    | the message asks for | stored | due |
    |-|-|-|
    | a time | any time | when the wall clock says so |
    | a delay | by this process | when so much has passed by the monotonic clock |
    | a delay | before | at the wall-clock time noted then, and not later than the whole delay from now |
    """

    def __init__(self, store: StoreReads, precision_ms: int, clock: Clock) -> None:
        self._clock = clock
        self._precision = precision_ms
        self._steady = SteadyClock(clock)
        self._set = SetTimes(self._steady, store.queue_max(TIMER_TOPIC, 0))
        self._ahead = 0

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
        return ahead <= before - JUMP_MS

    def due(self, message: ReceivedMessage, slot: int | None = None) -> int | None:
        """The slot, ms, at whose end `message` is to be delivered; `None` when it does not say.

        `slot`: where it waits now, if it does.
        """
        noted = whole_number(message.properties.get(p.TIMER_OUT_MS, ""))
        delay = asked_delay(message.properties)
        if noted is None or delay is None:
            return noted
        correction = self._set.correction(message.queue_offset)
        if correction is None:
            latest = slot_time(self._clock.now_ms() + delay, self._precision)
            return min(noted if slot is None else slot, latest)
        precision = self._precision
        return noted if correction == 0 else -(-(noted + correction) // precision) * precision

    def too_early(self, message: ReceivedMessage) -> int | None:
        """The slot to come, ms, of a message whose slot has ended too early; `None` for one that is due."""
        if asked_delay(message.properties) is None or self._set.correction(message.queue_offset) is None:
            return None
        due = self.due(message)
        return due if due is not None and due + self._precision > self._clock.now_ms() else None
