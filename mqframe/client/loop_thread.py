"""An asyncio loop in a thread of its own, for blocking faces."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from mqframe.core.errors import ClosedError

T = TypeVar("T")


class LoopThread:
    """Runs coroutines and functions in one loop, uvloop's where it is installed. `name`: the thread's."""

    def __init__(self, name: str) -> None:
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._closed = False
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """The result of `work`. Raises what it raises; `TimeoutError` after `timeout` seconds, cancelling it."""
        if self._closed or threading.current_thread() is self._thread:
            work.close()
            where = "after it was closed" if self._closed else "in its own loop"
            raise ClosedError(f"the blocking face cannot be called {where}; use the asyncio face there")
        coming = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return coming.result(timeout)
        except (KeyboardInterrupt, concurrent.futures.TimeoutError):
            coming.cancel()
            raise

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call `function` in the loop, soon."""
        if not self._closed:
            self._loop.call_soon_threadsafe(function, *arguments)

    def close(self) -> None:
        """End the loop and its thread. Twice does no harm."""
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            leftover = asyncio.all_tasks(self._loop)
            for task in leftover:
                task.cancel()
            if leftover:
                self._loop.run_until_complete(asyncio.gather(*leftover, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
