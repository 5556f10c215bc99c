"""An asyncio loop in a thread of its own, for what a blocking client does beside its callers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from mqframe.core.errors import CallTimeout, ClosedError

T = TypeVar("T")


class LoopThread:
    """Runs from its construction until `stop`. A daemon: it does not keep a process alive."""

    def __init__(self, name: str) -> None:
        self.loop = _new_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return self._thread is threading.current_thread()

    def call(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """The result of `work`, run on the loop. Raises `CallTimeout` after `seconds`, and what it raises."""
        if not self._thread.is_alive() or self.is_current:
            work.close()
            raise ClosedError("the client's thread is not running, or it would wait for itself")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise
            future.cancel()
            raise CallTimeout(f"not done within {seconds} s") from None
        except KeyboardInterrupt:
            future.cancel()  # nobody is left to take its result
            raise

    def stop(self) -> None:
        """End the loop and wait for its thread."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    # Half of the time that a consumer or a producer spends on small messages goes into the loop itself.
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
