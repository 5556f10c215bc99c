"""Thread pools that do their work at once, in the caller's thread: the order of things follows from the calls."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

_spent = 0.0


def spent_in_pools() -> float:
    """Processor time that work took which would have been a thread's, seconds."""
    return _spent


def work_at_once(patch: pytest.MonkeyPatch) -> None:
    """From now on whatever is given to a thread pool is done when `submit` returns."""

    def submit(pool: ThreadPoolExecutor, work: Any, /, *args: Any, **more: Any) -> Future[Any]:
        global _spent
        future: Future[Any] = Future()
        before = time.thread_time()
        try:
            result = work(*args, **more)
        except BaseException as problem:
            future.set_exception(problem)
        else:
            future.set_result(result)
        finally:
            _spent += time.thread_time() - before
        return future

    patch.setattr(ThreadPoolExecutor, "submit", submit)
