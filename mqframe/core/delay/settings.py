"""The settings of the broker service `delay`."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, one_of, setting, settings
from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.errors import SettingError


def _levels(value: str) -> str | None:
    try:
        return None if parse_levels(value) else "names no level"
    except SettingError as problem:
        return str(problem)


@settings("delay")
class DelaySettings:
    """How messages wait that are delivered later."""

    levels: str = setting(
        DEFAULT_LEVELS,
        doc="delays of levels 1, 2, …",
        check=_levels,
        conf="messageDelayLevel",
        was="store.delay_levels",
    )
    recall: bool = setting(
        True,
        doc="let senders take back messages that wait for a given time",
        conf="recallMessageEnable",
        live=True,
        was="broker.recall",
    )
    timer_enabled: bool = setting(
        True,
        doc="take messages for delivery at a given time",
        conf="timerWheelEnable",
        was="store.timer_enabled",
    )
    timer_precision_ms: int = setting(
        1000,
        doc="longest time by which such a message is late, ms; not to be changed while messages wait",
        check=one_of(100, 200, 500, 1000),
        conf="timerPrecisionMs",
        was="store.timer_precision_ms",
    )
    timer_delay_seconds_max: int = setting(
        3 * 86_400,
        doc="furthest time of delivery, seconds from the send; later ones are refused",
        check=at_least(1),
        conf="timerMaxDelaySec",
        was="store.timer_delay_seconds_max",
    )
    timer_window_slots: int = setting(
        2 * 86_400,
        doc="how far ahead a message is put into the timer wheel, slots; what is due later is put in again",
        check=at_least(2),
        conf="timerRollWindowSlot",
        was="store.timer_window_slots",
    )
    timer_log_file_bytes: int = setting(
        100 << 20,
        doc="size of a timer-log file, bytes",
        check=at_least(4096),
        conf="mappedFileSizeTimerLog",
        was="store.timer_log_file_bytes",
    )
    timer_flush_interval_ms: int = setting(
        1000,
        doc="time between flushes of the timer, ms",
        check=at_least(1),
        conf="timerFlushIntervalMs",
        was="store.timer_flush_interval_ms",
    )
