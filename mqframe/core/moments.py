"""Moments that programs name: a datetime with its zone, or milliseconds since 1970, and nothing near it.

A time without a zone means another moment on each machine, and a number of seconds one of January 1970: both
are refused rather than guessed. What people type is read by whoever knows their zone.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from mqframe.core.errors import FixError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
_SURELY_MS: Final = 100_000_000_000
"""March 1973 in ms; a smaller number is one of seconds."""
_SURELY_MICROSECONDS: Final = range(253_402_300_800_000, 10**16)
"""From the year 10000 in ms, 1978 in microseconds, to the year 2286."""
_SURELY_NANOSECONDS: Final = range(_SURELY_MS * 1_000_000, 4 * 10**18)


def moment_ms(moment: datetime | int, what: str, *, up: bool = False) -> int:
    """Milliseconds since 1970 of `moment`; what is finer is cut off, or counts as a whole one with `up`.

    `what`: how messages call it. 0 and what is below stand for the beginning, or an end. Raises `FixError`
    for a datetime without zone, for seconds, microseconds and nanoseconds, and for what is neither.
    """
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise FixError(
                f"{what} is {moment.isoformat()} without a time zone; give one, for example "
                f"{what}.astimezone() for that of this machine, or .replace(tzinfo=timezone.utc)"
            )
        return -((_EPOCH - moment) // _MS) if up else (moment - _EPOCH) // _MS
    if not isinstance(moment, int) or isinstance(moment, bool):
        raise FixError(f"{what} is {moment!r}; give a datetime or whole ms since 1970")
    if unit := unit_of(moment):
        raise FixError(f"{what} is {moment}; give ms since 1970-01-01 UTC, not {unit}")
    return moment


def unit_of(number: int) -> str:
    """What `number`, which should be ms since 1970, counts instead; "" where it may be what it should."""
    if 0 < number < _SURELY_MS:
        return "seconds"
    if number in _SURELY_MICROSECONDS:
        return "microseconds"
    return "nanoseconds" if number in _SURELY_NANOSECONDS else ""


def read_moment(text: str, what: str) -> int:
    """As `moment_ms`, of what a machine wrote: ISO 8601 with a zone, or digits. Raises `FixError`."""
    word = text.strip()
    if word.isascii() and word.isdecimal():
        return moment_ms(int(word), what)
    try:
        found = datetime.fromisoformat(word)
    except ValueError:
        raise FixError(
            f"{what} is {text!r}; write a time with its zone, as 2026-01-31T12:00+01:00, or ms since 1970"
        ) from None
    if found.tzinfo is None:
        raise FixError(f"{what} is {text} without a time zone; add one, as {text}Z or {text}+01:00")
    return moment_ms(found, what)
