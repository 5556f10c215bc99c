"""Servers that cannot be reached: a restart is no news, an outage is."""

from __future__ import annotations

import logging
from typing import Any

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AccessError, AnswerError, ConnectError, ConnectionLost, MqframeError
from mqframe.log import get_logger
from mqframe.trouble import QUIET_SECONDS, Troubles

log = get_logger("client")


class Outages:
    """Who cannot be reached, and since when, and who does not let us in. Belongs to one loop."""

    __slots__ = ("_refusal", "_troubles")

    def __init__(self, clock: Clock) -> None:
        self._troubles = Troubles(log, clock.monotonic, rest=logging.INFO)
        self._refusal: tuple[tuple[str, str], AccessError] | None = None

    def note(self, event: str, whom: str, problem: MqframeError, **values: Any) -> None:
        """Log that `event` came of `problem` with `whom`, a server or what stands for it.

        That there is no connection, or that a broker which comes back has no heartbeat yet, is INFO at first,
        and a WARNING once a minute when it lasts; another problem is a WARNING at once. What is repeated
        within the minute is INFO.
        """
        if isinstance(problem, AccessError):
            self._refusal = (event, whom), problem
        trouble = self._troubles.of((event, whom))
        away = isinstance(problem, ConnectError | ConnectionLost) or (
            isinstance(problem, AnswerError) and problem.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
        )
        if away and trouble.seconds >= QUIET_SECONDS:
            values["away_seconds"] = round(trouble.seconds)
        trouble.note(event, kind=type(problem).__name__, may_pass=away, **values, reason=str(problem))

    def over(self, event: str, whom: str) -> None:
        """`event` did not come any more: `whom` was reached, which is told as loud as that it was not."""
        if self._troubles:
            self._troubles.over((event, whom))
        if self._refusal is not None and self._refusal[0] == (event, whom):
            self._refusal = None

    def take_refusal(self) -> AccessError | None:
        """The last time that somebody did not let us in, unless that is over; once."""
        refusal, self._refusal = self._refusal, None
        return None if refusal is None else refusal[1]
