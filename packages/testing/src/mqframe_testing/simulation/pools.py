"""Thread pools that do their work at once, so that the order of things follows from the calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from mqframe_testing.at_once import AtOnce

_spent = 0.0


def spent_in_pools() -> float:
    """Processor time that work took which would have been a thread's, seconds."""
    return _spent


@contextmanager
def work_at_once() -> Iterator[None]:
    """Inside, whatever is given to a `ThreadPoolExecutor` is done when `submit` returns."""

    def submit(pool: ThreadPoolExecutor, work: Any, /, *args: Any, **more: Any) -> Future[Any]:
        global _spent
        before = time.thread_time()
        future: Future[Any] = at_once.submit(work, *args, **more)
        _spent += time.thread_time() - before
        return future

    at_once, before = AtOnce(), ThreadPoolExecutor.submit
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ThreadPoolExecutor.submit = before  # type: ignore[method-assign]
