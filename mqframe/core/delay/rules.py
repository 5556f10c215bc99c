"""Where a message that is to be delivered later waits (source: HookUtils.java)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.delay.wanted_times import wanted_time, wanted_times
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import SCHEDULE_TOPIC, TIMER_TOPIC, is_queue_place
from mqframe.core.messages.whole_numbers import whole_number

_INT_MAX = (1 << 31) - 1
NO_LEVELS: Final = "this broker delivers no delayed messages"
NO_TIMES: Final = "this broker delivers nothing at a given time"
PlaceInTime = Callable[[str, int, dict[str, str], int, int], tuple[str, int]]
"""Given topic, queue, properties, the wanted time of delivery and the time of now, both ms: where the message
waits, topic and queue, with what is noted of it in its properties; its own place where it does not wait.
Raises `Refusal`."""


def redirected(
    topic: str, queue_id: int, properties: dict[str, str], waiting_topic: str, waiting_queue: int
) -> tuple[str, int]:
    """The place where a message for `topic` and `queue_id` waits; its real place gets into `properties`.

    Raises `Refusal` 13 for a place that is none.
    """
    if not is_queue_place(topic, queue_id):
        raise Refusal(
            ResponseCode.MESSAGE_ILLEGAL, f"queue {queue_id} of topic {topic[:40]!r} cannot be delivered to"
        )
    properties[p.REAL_TOPIC] = topic
    properties[p.REAL_QUEUE_ID] = str(queue_id)
    return waiting_topic, waiting_queue


class DelayRules:
    """Decides which messages wait, and where.

    | properties | where |
    |-|-|
    | DELAY over 0 | queue of the level in the delay topic; what asks for a time as well loses that |
    | TIMER_DELAY_SEC, TIMER_DELAY_MS or TIMER_DELIVER_MS, the first counts | as `place_in_time` says |
    | none of these, DELAY of 0 and less | not at all |

    TIMER_OUT_MS, by which a broker notes that a message waits, says nothing here: what comes out of the timer
    is not placed again, and anybody else may have brought it along.

    `levels`: the delays of levels 1, 2, … in ms; none where nobody delivers such messages. `now_ms`:
    wall-clock time. `no_levels`, `no_times`: what a sender is told where nobody delivers such messages.
    """

    __slots__ = ("_no_levels", "_no_times", "_now_ms", "levels", "place_in_time")

    def __init__(
        self,
        levels: tuple[int, ...],
        now_ms: Callable[[], int],
        no_levels: str = NO_LEVELS,
        no_times: str = NO_TIMES,
    ) -> None:
        self.levels = levels
        self._now_ms = now_ms
        self._no_levels = no_levels
        self._no_times = no_times
        self.place_in_time: PlaceInTime | None = None
        """Where messages wait for a given time; `None` while no service delivers these."""

    def place(self, topic: str, queue_id: int, properties: dict[str, str]) -> tuple[str, int]:
        """Topic and queue in which a message for `topic` and `queue_id` is stored.

        A message that waits gets its real place into `properties`. Raises `Refusal`: 13 for a delay that is
        no number, for a time too far away and for a place that is none, 1 where nobody delivers what waits.
        """
        if _level(properties) > 0:
            return self.place_by_level(topic, queue_id, properties)
        return self.place_by_time(topic, queue_id, properties)

    def place_by_level(self, topic: str, queue_id: int, properties: dict[str, str]) -> tuple[str, int]:
        """As `place`, of a message that may name a level; one that only asks for a time stays."""
        level = _level(properties)
        if level <= 0:
            return topic, queue_id
        # Where both are named the level counts, as in Apache RocketMQ.
        for name in (p.TIMER_DELIVER_MS, p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS):
            properties.pop(name, None)
        if not self.levels:
            raise Refusal(ResponseCode.SYSTEM_ERROR, self._no_levels)
        level = min(level, len(self.levels))
        properties[p.DELAY] = str(level)
        return redirected(topic, queue_id, properties, SCHEDULE_TOPIC, level - 1)

    def place_by_time(self, topic: str, queue_id: int, properties: dict[str, str]) -> tuple[str, int]:
        """As `place`, of a message that may ask for a time; one that names a level stays."""
        if topic == TIMER_TOPIC or _level(properties) > 0:
            return topic, queue_id  # it was placed before, or is placed by its level
        now = self._now_ms()
        wanted = wanted_time(properties, now)
        if wanted is None:
            return topic, queue_id
        if self.place_in_time is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, self._no_times)
        return self.place_in_time(topic, queue_id, properties, wanted, now)

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
        if level > 0 and self.levels:
            times = {p.DELAY: now + self.levels[min(level, len(self.levels)) - 1]} | times
        for name in times.keys() - {max(times, key=times.__getitem__, default="")}:
            del properties[name]


def _level(properties: dict[str, str]) -> int:
    text = properties.get(p.DELAY)
    if text is None:
        return 0
    level = whole_number(text)
    if level is None or abs(level) > _INT_MAX:
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"property {p.DELAY} is {text!r}: give a delay level")
    return level
