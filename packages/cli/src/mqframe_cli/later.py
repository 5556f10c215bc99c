"""Times and delays as they are typed."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import Final

import typer

from mqframe.core.errors import SettingError
from mqframe.core.moments import unit_of
from mqframe.core.printable import shortened

_UNITS: Final = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DIGITS_MAX: Final = 19
"""More do not fit into the 64 bits that times have."""
_SHOWN: Final = 100
_DELAY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|)\Z")


def parse_delay(text: str) -> timedelta:
    """A number and ms, s, m, h or d; seconds without a unit. Raises `SettingError`."""
    match = _DELAY.match(text)
    if match is None:
        shown = shortened(text, _SHOWN)
        raise SettingError(f"--delay {shown}: write a number and ms, s, m, h or d, for example 90s")
    try:
        return timedelta(seconds=float(match[1]) * _UNITS[match[2]])
    except OverflowError:
        raise SettingError(f"--delay {shortened(text, _SHOWN)}: is longer than any calendar") from None


def since_ms(text: str, now: float | None = None, option: str = "--since") -> int:
    """Milliseconds since 1970 of a moment: so long ago ("10m"), a time, or "start". Raises `SettingError`.

    `now`: seconds since 1970; by default the clock's. `option`: what the user wrote it behind.
    """
    if text == "start":
        return 0
    if _DELAY.match(text) and not (text.isdecimal() and len(text) > 8):
        ago = parse_delay(text).total_seconds()
        return max(0, int(((time.time() if now is None else now) - ago) * 1000))
    return typed_ms(option, text, "how long ago, as 10m, start")


def past_ms(text: str, option: str, now: float | None = None) -> int:
    """As `since_ms`; raises `SettingError` for what is still to come, too."""
    clock = time.time() if now is None else now
    found = since_ms(text, clock, option)
    if found > clock * 1000:
        raise SettingError(f"{option} {shortened(text, _SHOWN)}: is yet to come")
    return found


def typed_ms(option: str, text: str, others: str = "") -> int:
    """Milliseconds since 1970 of a time that a person typed behind `option`. Raises `SettingError`.

    ISO 8601, or milliseconds since 1970. A time that names no zone is one of this machine's, and is shown
    back with it on standard error. `others`: what else may stand there, for messages.
    """
    if text.isascii() and text.isdecimal() and 8 < len(text) < _DIGITS_MAX:
        if unit := unit_of(int(text)):
            raise SettingError(f"{option} {text}: these are {unit}; write milliseconds since 1970, or a time")
        return int(text)
    try:
        typed = datetime.fromisoformat(text)
        found = typed.astimezone()
    except (ValueError, OverflowError):
        known = f"{others}, " if others else ""
        raise SettingError(
            f"{option} {shortened(text, _SHOWN)}: write {known}a time, as 2026-12-24T18:00, or milliseconds"
            " since 1970"
        ) from None
    if typed.tzinfo is None:
        typer.echo(f"mqframe: {option} {text} is {found.isoformat()}", err=True)
    return int(found.timestamp() * 1000)


def moment(text: str, option: str = "--to") -> int:
    """What the user wrote behind `option`, as milliseconds since 1970; -1 is the end. Raises `SettingError`.

    A time without zone is local time.
    """
    if text in ("start", "end"):
        return 0 if text == "start" else -1
    return 0 if text == "0" else typed_ms(option, text, "start, end")
