"""Servers that cannot be reached: a restart is no news, an outage is."""

from __future__ import annotations

from typing import Any, Final

import attrs

from mqframe.core.clock import Clock
from mqframe.core.errors import AccessError, ConnectError, ConnectionLost, MqframeError
from mqframe.log import get_logger

log = get_logger("client")

QUIET_SECONDS: Final = 10.0
"""For so long a server may be away without a warning: the time of a restart."""
AGAIN_SECONDS: Final = 60.0
"""A warning of the same outage is repeated after this time."""


@attrs.define
class _Outage:
    since: float
    told: float | None = None


class Outages:
    """Who cannot be reached, and since when, and who does not let us in. Belongs to one loop."""

    __slots__ = ("_away", "_clock", "_refusal")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._away: dict[tuple[str, str], _Outage] = {}
        self._refusal: tuple[tuple[str, str], AccessError] | None = None

    def note(self, event: str, whom: str, problem: MqframeError, **values: Any) -> None:
        """Log that `event` came of `problem` with `whom`, a server or what stands for it.

        That there is no connection is INFO at first, and a WARNING once a minute when it lasts; any other
        problem is a WARNING.
        """
        if isinstance(problem, AccessError):
            self._refusal = (event, whom), problem
        if not isinstance(problem, ConnectError | ConnectionLost):
            log.warning(event, **values, reason=str(problem))
            return
        now = self._clock.monotonic()
        outage = self._away.setdefault((event, whom), _Outage(now))
        seconds = now - outage.since
        if seconds < QUIET_SECONDS or (outage.told is not None and now - outage.told < AGAIN_SECONDS):
            log.info(event, **values, reason=str(problem))
            return
        outage.told = now
        log.warning(event, **values, away_seconds=round(seconds), reason=str(problem))

    def over(self, event: str, whom: str) -> None:
        """`event` did not come any more: `whom` was reached."""
        if self._away:
            self._away.pop((event, whom), None)
        if self._refusal is not None and self._refusal[0] == (event, whom):
            self._refusal = None

    def take_refusal(self) -> AccessError | None:
        """The last time that somebody did not let us in, unless that is over; once."""
        refusal, self._refusal = self._refusal, None
        return None if refusal is None else refusal[1]
