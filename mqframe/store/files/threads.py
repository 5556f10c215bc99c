"""Threads for calls that let go of the interpreter lock, and the way back to the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")
_THREADS_MAX: Final = 4


class Threads:
    """A few threads. Without a running loop work is done at once, which suits tests and tools."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(_THREADS_MAX, thread_name_prefix="mqframe-store")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def attach(self) -> None:
        """From now on results come back on the running loop."""
        self._loop = asyncio.get_running_loop()

    def run(self, work: Callable[[], T], done: Callable[[T | None, Exception | None], None]) -> None:
        """Do `work` in a thread, then call `done` on the loop with its result or its exception.

        Once the threads were ended, nothing is done and `done` is not called: files are closed by then, and
        perhaps somebody else's.
        """
        if self._closed:
            return
        if self._loop is None:
            try:
                result = work()
            except Exception as problem:  # whatever it is, it is the caller's: he waits for an end
                done(None, problem)
            else:
                done(result, None)
            return
        loop = self._loop

        def deliver(result: T | None, problem: Exception | None) -> None:
            if not self._closed:
                done(result, problem)

        future = self.pool.submit(work)
        future.add_done_callback(lambda ended: _report(loop, ended, deliver))

    async def run_and_wait(self, work: Callable[[], T]) -> T:
        """Do `work` in a thread and wait for it."""
        return await asyncio.wrap_future(self.pool.submit(work))

    def close(self) -> None:
        """Wait for what is under way, then end the threads."""
        self._closed = True
        self.pool.shutdown(wait=True)


def _report(
    loop: asyncio.AbstractEventLoop, ended: Future[T], done: Callable[[T | None, Exception | None], None]
) -> None:
    problem = ended.exception()
    if loop.is_closed():
        return
    if isinstance(problem, Exception):
        loop.call_soon_threadsafe(done, None, problem)
    else:
        loop.call_soon_threadsafe(lambda: done(ended.result(), None))
