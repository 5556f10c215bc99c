"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS_MAX = 120.0


def until(true: Callable[[], bool], seconds: float = SECONDS_MAX) -> None:
    """Wait until `true()`; fails the test when that does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
