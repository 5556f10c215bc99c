"""Waiting, in real time, for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS_MAX = 120.0
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 0.01, 0.1
"""Between two looks, at first and at last: what others are busy with takes longer the more they are asked."""


def until(true: Callable[[], object], seconds: float = SECONDS_MAX) -> None:
    """Wait until `true()`; fails the test when that does not come."""
    assert came(true, seconds), "it did not happen in time"


def came(true: Callable[[], object], seconds: float) -> bool:
    """Wait until `true()`, at most `seconds`; whether it came."""
    end = time.monotonic() + seconds
    pause = _PAUSE_SECONDS
    while not true():
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
        pause = min(pause * 1.3, _PAUSE_SECONDS_MAX)
    return True
