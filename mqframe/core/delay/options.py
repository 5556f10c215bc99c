"""Properties by which a sender asks for a later delivery: how they are made, and their names."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from mqframe.core.errors import FixError, MessageError
from mqframe.core.messages import properties as p
from mqframe.core.moments import moment_ms

_MS: Final = timedelta(milliseconds=1)
_LONG_MAX: Final = (1 << 63) - 1
TIMERS_SINCE: Final = "5.0.0"
"""The first version of brokers that deliver at a given time; older ones deliver such a message at once."""
LEVEL_NAMES: Final = frozenset((p.DELAY,))
"""Properties of messages that wait for a delay level."""
TIME_NAMES: Final = frozenset(
    (p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS, p.TIMER_DELIVER_MS, p.TIMER_DELETE_KEY, "TIMER_DELAY_LEVEL")
)
"""Properties of messages that are to be delivered at a given time, or that recall such ones."""
DELAY_NAMES: Final = LEVEL_NAMES | TIME_NAMES
"""Properties of messages that are to be delivered later, or that recall such ones."""
DELAY_HINT: Final = "DEL"
"""What all of `DELAY_NAMES` contain."""


def delay_properties(
    delay: float | timedelta | None, deliver_at: datetime | int | None, delay_level: int | None
) -> str:
    """The properties, in text form, that ask for a later delivery. Takes one of the three.

    `delay`: seconds or a timedelta, from when the broker has the message; `deliver_at`: a datetime with time
    zone, or ms since 1970-01-01 UTC; `delay_level`: 1 is the first. Raises `MessageError`.
    """
    if (delay is not None) + (deliver_at is not None) + (delay_level is not None) > 1:
        raise MessageError("give one of delay, deliver_at and delay_level, not several")
    if delay is not None:
        return _pair(p.TIMER_DELAY_MS, _delay_ms(delay))
    if deliver_at is not None:
        return _pair(p.TIMER_DELIVER_MS, _time_ms(deliver_at))
    if not isinstance(delay_level, int) or isinstance(delay_level, bool):
        raise MessageError(f"delay_level is {delay_level!r}; give a whole number, 1 is the first level")
    if not 1 <= delay_level < 1 << 31:
        raise MessageError(f"delay_level is {delay_level}; the first level is 1")
    return _pair(p.DELAY, delay_level)


def asks_for_time(text: str) -> bool:
    """Whether `text`, made by `delay_properties`, asks for a time, not a level (see `TIMERS_SINCE`)."""
    return text.startswith((p.TIMER_DELAY_MS, p.TIMER_DELIVER_MS))


def _delay_ms(delay: float | timedelta) -> int:
    if isinstance(delay, timedelta):
        milliseconds = delay / _MS
    elif isinstance(delay, int | float) and not isinstance(delay, bool) and math.isfinite(delay):
        milliseconds = delay * 1000
    else:
        raise MessageError(f"delay is {delay!r}; give seconds or a timedelta")
    if not 0 <= milliseconds < _LONG_MAX:
        raise MessageError(f"delay is {delay!r}; it cannot be negative, nor longer than time itself")
    return math.ceil(milliseconds)


def _time_ms(deliver_at: datetime | int) -> int:
    try:
        found = moment_ms(deliver_at, "deliver_at", up=True)
    except FixError as problem:
        raise MessageError(str(problem)) from None
    if not isinstance(deliver_at, datetime) and not 0 < found <= _LONG_MAX:
        raise MessageError(f"deliver_at is {deliver_at}; give ms since 1970-01-01 UTC")
    return found


def _pair(name: str, value: int) -> str:
    return f"{name}{p.NAME_END}{value}{p.PAIR_END}"
