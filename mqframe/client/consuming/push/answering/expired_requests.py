"""Requests that no listener got, since nobody waits for their replies any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import ReceivedMessage
from mqframe.log import get_logger

log = get_logger("client")

TOLD_AGAIN_SECONDS: Final = 60.0
"""Between two lines about them."""


class ExpiredRequests:
    """Counts them, and logs a line about them at most once a minute. `count`: all that there were.

    Belongs to the loop. `monotonic`: seconds that only ever grow; `now_ms`: ms since 1970.
    """

    def __init__(self, group: str, monotonic: Callable[[], float], now_ms: Callable[[], int]) -> None:
        self._group = group
        self._monotonic = monotonic
        self._now_ms = now_ms
        self._told_at: float | None = None
        self._told = 0
        self.count = 0

    def note(self, messages: Sequence[ReceivedMessage]) -> None:
        """`messages` were dropped."""
        self.count += len(messages)
        now = self._monotonic()
        if self._told_at is not None and now - self._told_at < TOLD_AGAIN_SECONDS:
            return
        log.warning(
            "requests were dropped: nobody waits for their replies any more",
            dropped=self.count - self._told,
            in_all=self.count,
            seconds_old=round((self._now_ms() - messages[0].born_timestamp) / 1000, 1),
            **log_fields(messages[:1], self._group),
        )
        self._told_at, self._told = now, self.count
