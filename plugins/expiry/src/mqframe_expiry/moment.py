"""The moment at which a message expires: set by its sender, kept in a property."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Final

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, ReceivedMessage, with_properties

EXPIRES: Final = "MQFRAME_EXPIRES"
"""Property of a message: the moment, ms since 1970, from which on nobody is to handle it."""
_MARK: Final = EXPIRES.encode()
_DIGITS_MAX: Final = 18


def expiring(
    message: Message, *, after: float | timedelta | None = None, at: datetime | int | None = None
) -> Message:
    """A copy of `message` that expires.

    `after`: seconds from now, or a `timedelta`; `at`: a `datetime` with its zone, or ms since 1970. Raises
    `FixError` for both or neither, for a time without a zone, and for seconds that are not above 0.
    """
    if (after is None) is (at is None):
        raise FixError("a message expires `after` some seconds or `at` a moment: give one of the two")
    if after is not None:
        seconds = after.total_seconds() if isinstance(after, timedelta) else after
        return with_properties(message, {EXPIRES: moment(time.time_ns() // 1_000_000, seconds)})
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise FixError(f"at = {at}: a time without a zone is another moment elsewhere; add one")
        at = int(at.timestamp() * 1000)
    if not isinstance(at, int) or not 0 <= at < 10**_DIGITS_MAX:
        raise FixError(f"at = {at!r}: must be a datetime, or ms since 1970")
    return with_properties(message, {EXPIRES: str(at)})


def moment(now_ms: int, seconds: float) -> str:
    """`seconds` after `now_ms`, as the property has it. Raises `FixError` unless they are above 0."""
    if not 0 < seconds < float("inf"):
        raise FixError(f"a message cannot expire after {seconds!r} seconds: must be above 0")
    return str(now_ms + max(1, int(seconds * 1000)))


def expires_ms(message: ReceivedMessage) -> int | None:
    """When `message` expires, ms since 1970; `None` for never, also where its property is no such number."""
    if not message.may_have(_MARK):  # quicker than to split what most do not have
        return None
    text = message.properties.get(EXPIRES, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


def is_expired(message: ReceivedMessage, now_ms: int | None = None) -> bool:
    """Whether `message` has expired by `now_ms`, by default by now: for consumers that ask for messages."""
    expires = expires_ms(message)
    return expires is not None and expires <= (time.time_ns() // 1_000_000 if now_ms is None else now_ms)
