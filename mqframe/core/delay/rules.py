"""Where a message that is to be delivered later waits (source: HookUtils.java)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqframe.core.codes import ResponseCode
from mqframe.core.delay.timer_rules import slot_time, wanted_time, wanted_times, whole_number
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import SCHEDULE_TOPIC, TIMER_TOPIC, is_queue_place

_INT_MAX = (1 << 31) - 1


class TimerLimits(NamedTuple):
    """How the timer is set. `precision_ms`: length of a slot; `delay_ms_max`: longest wait."""

    precision_ms: int = 1000
    delay_ms_max: int = 3 * 86_400_000
    enabled: bool = True


class DelayRules:
    """Decides which messages wait, and where.

    | properties | where |
    |-|-|
    | DELAY over 0 | queue of the level in the delay topic; what asks for a time as well loses that |
    | TIMER_DELAY_SEC, TIMER_DELAY_MS or TIMER_DELIVER_MS, the first counts: a time to come | timer topic |
    | the same: a time that has passed | not at all |
    | none of these, DELAY of 0 and less | not at all |

    TIMER_OUT_MS, by which a broker notes that a message waits, says nothing here: what comes out of the timer
    is not placed again, and anybody else may have brought it along.

    `levels`: the delays of levels 1, 2, … in ms; none where nobody delivers such messages. `now_ms`:
    wall-clock time.
    """

    __slots__ = ("_levels", "_now_ms", "_timer")

    def __init__(
        self, levels: tuple[int, ...], now_ms: Callable[[], int], timer: TimerLimits | None = None
    ) -> None:
        self._levels = levels
        self._now_ms = now_ms
        self._timer = timer or TimerLimits()

    def place(self, topic: str, queue_id: int, properties: dict[str, str]) -> tuple[str, int]:
        """Topic and queue in which a message for `topic` and `queue_id` is stored.

        A message that waits gets its real place into `properties`. Raises `Refusal`: 13 for a delay that is
        no number, for a time too far away and for a place that is none, 1 where nobody delivers what waits.
        """
        level = _level(properties)
        if level > 0:
            # Where both are named the level counts, as in Apache RocketMQ.
            for name in (p.TIMER_DELIVER_MS, p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS):
                properties.pop(name, None)
            if not self._levels:
                raise Refusal(ResponseCode.SYSTEM_ERROR, "this broker delivers no delayed messages")
            level = min(level, len(self._levels))
            properties[p.DELAY] = str(level)
            return self._redirect(topic, queue_id, properties, SCHEDULE_TOPIC, level - 1)
        if topic == TIMER_TOPIC:
            return topic, queue_id  # it was placed before
        now = self._now_ms()
        wanted = wanted_time(properties, now)
        if wanted is None:
            return topic, queue_id
        timer = self._timer
        if not timer.enabled:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, "delivery at a given time is switched off (timerWheelEnable)"
            )
        if wanted <= now:
            # A recall is no message for consumers: stored in its topic it would reach them.
            if p.TIMER_DELETE_KEY in properties:
                raise Refusal(ResponseCode.MESSAGE_ILLEGAL, "the time of the message to recall has passed")
            return topic, queue_id
        if wanted - now > timer.delay_ms_max:
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL,
                f"delivery in {wanted - now} ms is further away than {timer.delay_ms_max} ms"
                " (timerMaxDelaySec): ask for an earlier time",
            )
        properties[p.TIMER_OUT_MS] = str(slot_time(wanted, timer.precision_ms))
        return self._redirect(topic, queue_id, properties, TIMER_TOPIC, 0)

    def waits(self, properties: dict[str, str]) -> bool:
        """Whether a message with `properties` is to be delivered later. Raises `Refusal` 13 as `place`."""
        if _level(properties) > 0:
            return True
        now = self._now_ms()
        return (wanted_time(properties, now) or now) > now

    def keep_latest(self, properties: dict[str, str]) -> None:
        """Leave the latest only of the times that `properties` of a message name that is sent on.

        Some are those of its way to whoever sends it on, and nobody can say which: it comes not before the
        last of them. Raises `Refusal` 13 for one that is no number.
        """
        now = self._now_ms()
        times = dict(wanted_times(properties, now))
        level = _level(properties)
        if level > 0 and self._levels:
            times = {p.DELAY: now + self._levels[min(level, len(self._levels)) - 1]} | times
        for name in times.keys() - {max(times, key=times.__getitem__, default="")}:
            del properties[name]

    @staticmethod
    def _redirect(
        topic: str, queue_id: int, properties: dict[str, str], waiting_topic: str, waiting_queue: int
    ) -> tuple[str, int]:
        if not is_queue_place(topic, queue_id):
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL,
                f"queue {queue_id} of topic {topic[:40]!r} cannot be delivered to",
            )
        properties[p.REAL_TOPIC] = topic
        properties[p.REAL_QUEUE_ID] = str(queue_id)
        return waiting_topic, waiting_queue


def _level(properties: dict[str, str]) -> int:
    text = properties.get(p.DELAY)
    if text is None:
        return 0
    level = whole_number(text)
    if level is None or abs(level) > _INT_MAX:
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"property {p.DELAY} is {text!r}: give a delay level")
    return level
