"""Thread pools that do their work at once, so that the order of things follows from the calls."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from mqframe.testing.at_once import AtOnce

_spent = 0.0


def spent_in_pools() -> float:
    """Processor time that work took which would have been a thread's, seconds."""
    return _spent


def work_at_once(patch: pytest.MonkeyPatch) -> None:
    """From now on whatever is given to a thread pool is done when `submit` returns."""

    def submit(pool: ThreadPoolExecutor, work: Any, /, *args: Any, **more: Any) -> Future[Any]:
        global _spent
        before = time.thread_time()
        future = at_once.submit(work, *args, **more)
        _spent += time.thread_time() - before
        return future

    at_once = AtOnce()
    patch.setattr(ThreadPoolExecutor, "submit", submit)
