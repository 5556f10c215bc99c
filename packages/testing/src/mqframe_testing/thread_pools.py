"""Waiting for the threads of a test that moves its clock: files are written and synced in real time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
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
        add, told = future.add_done_callback, list[Callable[[Future[Any]], object]]()

        def add_before_the_end(fn: Callable[[Future[Any]], object]) -> None:
            told.append(fn)
            add(lambda done: _tell(fn, done))

        # A loop hears of the end by a callback: it is under way until that was called.
        future.add_done_callback = add_before_the_end  # type: ignore[method-assign]
        add(lambda done: None if told else _under_way.discard(done))
        return future

    _watched = True
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        _watched = False
        ThreadPoolExecutor.submit = before  # type: ignore[method-assign]


def _tell(fn: Callable[[Future[Any]], object], done: Future[Any]) -> None:
    try:
        fn(done)
    finally:
        _under_way.discard(done)


async def at_rest() -> None:
    """Return once thread pools have done all that they were given, and the loop has heard of it."""
    end = time.monotonic() + REAL_SECONDS_MAX
    turns = 0
    while turns < _CALM_TURNS:
        turns = 0 if _under_way else turns + 1
        assert time.monotonic() < end, "the threads did not come to rest"
        await asyncio.sleep(0 if turns else 0.001)
