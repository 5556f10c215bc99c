"""Times and delays as they are typed."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import Final

from mqframe.core.errors import SettingError

_UNITS: Final = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DELAY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|)\Z")


def parse_delay(text: str) -> timedelta:
    """A number and ms, s, m, h or d; seconds without a unit. Raises `SettingError`."""
    match = _DELAY.match(text)
    if match is None:
        raise SettingError(f"--delay {text}: write a number and ms, s, m, h or d, for example 90s")
    return timedelta(seconds=float(match[1]) * _UNITS[match[2]])


def since_ms(text: str, now: float | None = None) -> int:
    """Milliseconds since 1970 of a moment: so long ago ("10m"), a time, or "start". Raises `SettingError`.

    `now`: seconds since 1970; by default the clock's.
    """
    if text == "start":
        return 0
    if _DELAY.match(text) and not (text.isdecimal() and len(text) > 8):
        ago = parse_delay(text).total_seconds()
        return max(0, int(((time.time() if now is None else now) - ago) * 1000))
    try:
        found = parse_time(text)
    except SettingError:
        raise SettingError(
            f"--since {text}: write how long ago, as 10m, or a time, as 2026-12-24T18:00, or start"
        ) from None
    return found if isinstance(found, int) else int(found.timestamp() * 1000)


def parse_time(text: str) -> datetime | int:
    """Milliseconds since 1970, or an ISO 8601 time, of this machine's zone if it names none.

    Raises `SettingError`.
    """
    if text.isascii() and text.isdecimal() and len(text) > 8:
        return int(text)
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise SettingError(
            f"--deliver-at {text}: write a time, for example 2026-12-24T18:00, or ms since 1970"
        ) from None
