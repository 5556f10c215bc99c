"""Waiting for the threads of a test that moves its clock: files are written and synced in real time."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

REAL_SECONDS_MAX = 120.0
_under_way: set[Future[Any]] = set()


def watch(patch: pytest.MonkeyPatch) -> None:
    """From now on, `at_rest` knows of the work of all thread pools."""
    submit = ThreadPoolExecutor.submit

    def submitting(pool: ThreadPoolExecutor, /, *call: Any, **more: Any) -> Future[Any]:
        future = submit(pool, *call, **more)
        _under_way.add(future)
        future.add_done_callback(_under_way.discard)
        return future

    patch.setattr(ThreadPoolExecutor, "submit", submitting)


async def at_rest() -> None:
    """Return once thread pools have done all that they were given, and the loop has heard of it."""
    end = time.monotonic() + REAL_SECONDS_MAX
    turns = 0
    while turns < 5:
        turns = 0 if _under_way else turns + 1
        assert time.monotonic() < end, "the threads did not come to rest"
        await asyncio.sleep(0 if turns else 0.001)
