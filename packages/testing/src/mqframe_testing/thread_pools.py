"""Waiting for the threads of a test that moves its clock: files are written and synced in real time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

REAL_SECONDS_MAX: Final = 120.0
_CALM_TURNS: Final = 5
_under_way: set[Future[Any]] = set()
_watched = False


@contextmanager
def watched() -> Iterator[None]:
    """Within it, `at_rest` knows of the work that thread pools are given. It may be nested."""
    global _watched
    if _watched:
        yield
        return
    before = ThreadPoolExecutor.submit

    def submit(pool: ThreadPoolExecutor, /, *call: Any, **more: Any) -> Future[Any]:
        future = before(pool, *call, **more)
        _under_way.add(future)
        future.add_done_callback(_under_way.discard)
        return future

    _watched = True
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        _watched = False
        ThreadPoolExecutor.submit = before  # type: ignore[method-assign]


async def at_rest() -> None:
    """Return once thread pools have done all that they were given, and the loop has heard of it."""
    end = time.monotonic() + REAL_SECONDS_MAX
    turns = 0
    while turns < _CALM_TURNS:
        turns = 0 if _under_way else turns + 1
        assert time.monotonic() < end, "the threads did not come to rest"
        await asyncio.sleep(0 if turns else 0.001)
