"""Calls made again while they fail in a way that may pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from mqframe.core.errors import RetryError

T = TypeVar("T")

PAUSES_SECONDS: Final = (0.05, 0.2, 0.8, 2.0)
"""Waited before the second try and those after it. All calls of the source read, so repeating is safe."""


def growing(first_seconds: float, count: int) -> tuple[float, ...]:
    """`count` pauses (s): `first_seconds`, each next one four times as long, but 2 s or the first at most."""
    longest = max(PAUSES_SECONDS[-1], first_seconds)
    return tuple(min(first_seconds * 4.0**number, longest) for number in range(count))


def retrying(
    call: Callable[[], T],
    *,
    sleep: Callable[[float], None] = time.sleep,
    pauses: tuple[float, ...] = PAUSES_SECONDS,
) -> T:
    """The result of `call`, tried again after each of `pauses` (s). Raises the last `RetryError`."""
    for pause in pauses:
        try:
            return call()
        except RetryError:
            sleep(pause)
    return call()
