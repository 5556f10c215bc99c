"""The settings of the broker service `delay`."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, one_of, setting, settings


@settings("delay")
class DelaySettings:
    """How messages wait that are delivered at a given time."""

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
