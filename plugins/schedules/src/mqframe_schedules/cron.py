"""When a cron expression falls due in a time zone.

Five fields (minute, hour, day of month, month, day of week) follow Debian's cron, also where clocks change:
what is due at fixed hours comes once, moved to the end of the gap where its time does not exist, and at the
first of two equal times; what is due every so often (`*` in minute or hour) follows the time that passes.

With six fields, seconds first, the local clock counts alone: nothing in the gap, twice in the doubled hour.
Local times are computed by `cronsim`, and put in order here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from mqframe.core.errors import FixError
from mqframe.core.printable import shortened

_EXAMPLE = "minute hour day month weekday, as in '30 8 * * MON-FRI', or six fields with seconds first"

EXPRESSION_CHARACTERS_MAX = 1000
"""All minutes, hours, days and months one by one are half as many."""
_SHOWN = 100


class Cron:
    """An expression in a time zone. Raises `FixError` for what cannot be read, and for what never falls due.

    `now_ms`: since 1970; a first time is looked for from there on, for fifty years.
    """

    __slots__ = ("_expression", "_zone")

    def __init__(self, expression: str, zone: str, now_ms: int) -> None:
        if len(expression) > EXPRESSION_CHARACTERS_MAX:
            raise FixError(
                f"cron expression {shortened(expression, _SHOWN)!r}: at most {EXPRESSION_CHARACTERS_MAX}"
                f" characters; give {_EXAMPLE}"
            )
        self._expression = expression
        self._zone = _zone(zone)
        try:
            first = self.next_after(now_ms)
        except CronSimError as problem:
            raise FixError(
                f"cron expression {expression!r}: {str(problem).lower()}; give {_EXAMPLE}"
            ) from None
        if first is None:
            raise FixError(
                f"cron expression {expression!r} never falls due within fifty years; check day and month"
            )

    def next_after(self, after_ms: int) -> int | None:
        """The first time after `after_ms`, ms since 1970; `None` when there is none within fifty years."""
        start = datetime.fromtimestamp(after_ms // 1000, self._zone)
        for local in CronSim(self._expression, start):
            # From within the second of two equal hours, or out of a gap, times come that are over already.
            time = int(local.astimezone(UTC).timestamp()) * 1000
            if time > after_ms:
                return time
        return None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):  # not found, a folder, a path, no zone file
        raise FixError(
            f"time zone {shortened(name, _SHOWN)!r} is not known; give one of the IANA names, as"
            " Europe/Berlin, or UTC"
        ) from None
