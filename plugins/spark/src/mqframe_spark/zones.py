"""Time zones of times that name none: the session's where there is one, else nobody guesses.

A source is planned in a process that sees no session, so its option `timeZone` says the zone; jobs, which
have a session, give it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from mqframe.core.errors import SettingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION_ZONE: Final = "spark.sql.session.timeZone"
OPTION: Final = "timeZone"
TIMES: Final = ("startingtimestamp", "endingtimestamp")
"""Options with times, in small letters."""
_OFFSET: Final = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d\d))?\Z")


def zone_of(name: str) -> tzinfo:
    """The zone that Spark calls `name`: "Europe/Berlin", "UTC", "+01:00", "GMT+8". Raises `SettingError`."""
    found = _OFFSET.match(name)
    if found is not None:
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        if minutes <= 18 * 60:
            return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
    try:
        return ZoneInfo("UTC" if name == "Z" else name)
    except (KeyError, ValueError, OSError):
        raise SettingError(f"{name!r} is no time zone; write one as Europe/Berlin, UTC or +01:00") from None


def in_zone(text: str, zone: tzinfo | None) -> str:
    """`text`, a time or JSON with times by queue, whose times are of `zone` where they name none.

    `zone`: `None` is that of this machine. What is no time stays as it is.
    """
    if not text.lstrip().startswith("{"):
        return _in_zone(text, zone)
    try:
        table = json.loads(text)
    except ValueError:
        return text
    return json.dumps(_all_in_zone(table, zone)) if isinstance(table, dict) else text


def zoned(spark: SparkSession, source: Mapping[str, str]) -> dict[str, str]:
    """Options of the source, with the zone of the session `spark` where they have times and say none."""
    names = {name.lower() for name in source}
    if OPTION.lower() in names or names.isdisjoint(TIMES):
        return dict(source)
    return {**source, OPTION: spark.conf.get(SESSION_ZONE) or "UTC"}


def _all_in_zone(value: Any, zone: tzinfo | None) -> Any:
    if isinstance(value, dict):
        return {key: _all_in_zone(each, zone) for key, each in value.items()}
    return _in_zone(value, zone) if isinstance(value, str) else value


def _in_zone(text: str, zone: tzinfo | None) -> str:
    word = text.strip()
    if word.isdecimal():  # milliseconds, though it may read as a date
        return text
    try:
        found = datetime.fromisoformat(word)
        if found.tzinfo is not None:
            return text
        return (found.astimezone() if zone is None else found.replace(tzinfo=zone)).isoformat()
    except (ValueError, OverflowError):
        return text
