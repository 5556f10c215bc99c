"""Where a message waits that is to be delivered at a given time (source: HookUtils.java)."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.core.codes import ResponseCode
from mqframe.core.delay.rules import redirected
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe_delay.rules.timer_rules import slot_time


class TimerPlaces(NamedTuple):
    """Places messages in the timer topic; its `place` is a `PlaceInTime`.

    `precision_ms`: length of a slot; `delay_ms_max`: longest wait; `enabled`: whether the timer runs at all.

    | the time that a message asks for | where it goes |
    |-|-|
    | is to come | timer topic |
    | has passed | where it is sent to |
    | is too far away; has passed, of a recall | it is refused |
    """

    precision_ms: int = 1000
    delay_ms_max: int = 3 * 86_400_000
    enabled: bool = True

    def place(
        self, topic: str, queue_id: int, properties: dict[str, str], wanted: int, now: int
    ) -> tuple[str, int]:
        """Raises `Refusal`: 13 for a time too far away and a place that is none, 1 while switched off."""
        if not self.enabled:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, "delivery at a given time is switched off (timerWheelEnable)"
            )
        if wanted <= now:
            # A recall is no message for consumers: stored in its topic it would reach them.
            if p.TIMER_DELETE_KEY in properties:
                raise Refusal(ResponseCode.MESSAGE_ILLEGAL, "the time of the message to recall has passed")
            return topic, queue_id
        if wanted - now > self.delay_ms_max:
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL,
                f"delivery in {wanted - now} ms is further away than {self.delay_ms_max} ms"
                " (timerMaxDelaySec): ask for an earlier time",
            )
        properties[p.TIMER_OUT_MS] = str(slot_time(wanted, self.precision_ms))
        return redirected(topic, queue_id, properties, TIMER_TOPIC, 0)
