"""An asyncio loop in a thread of its own, for what a blocking client does beside its callers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from mqframe.core.errors import CallTimeout, ClosedError

T = TypeVar("T")


_STOPPED: Final = "the client was stopped, or its thread would wait for itself"
_LAST_ROUNDS: Final = 10
"""How often tasks that begin while the loop ends are cancelled, before they are left alone."""


class LoopThread:
    """Runs from its construction until `stop`. A daemon: it does not keep a process alive.

    Whatever was handed over gets an end: what the loop does not get to any more ends with `ClosedError`.
    """

    def __init__(self, name: str) -> None:
        self.loop = _new_loop()
        self._lock = threading.Lock()
        self._ended = False
        self._handed_over: set[concurrent.futures.Future[Any]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return self._thread is threading.current_thread()

    def call(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """The result of `work`, run on the loop. Raises `CallTimeout` after `seconds`, and what it raises.

        Raises `ClosedError` when the loop ends first, and in its own thread.
        """
        if self.is_current:
            work.close()
            raise ClosedError(_STOPPED)
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            self._hand_over(work, future)
            return future.result(seconds)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise
            future.cancel()
            raise CallTimeout(f"not done within {seconds} s") from None
        except KeyboardInterrupt:
            future.cancel()  # nobody is left to take its result
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """The future of the result of `work`, run on the loop. Cancelling it cancels the work.

        Raises `ClosedError` once the loop ends.
        """
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._hand_over(work, future)
        return future

    def _hand_over(self, work: Coroutine[Any, Any, T], future: concurrent.futures.Future[T]) -> None:
        with self._lock:
            if self._ended:
                work.close()
                raise ClosedError(_STOPPED)
            self._handed_over.add(future)
            self.loop.call_soon_threadsafe(self._begin, work, future)

    def _begin(self, work: Coroutine[Any, Any, T], future: concurrent.futures.Future[T]) -> None:
        task = self.loop.create_task(work)

        def cancel(cancelled: concurrent.futures.Future[T]) -> None:
            self._handed_over.discard(cancelled)
            if cancelled.cancelled():
                with contextlib.suppress(RuntimeError):  # the loop ended meanwhile
                    self.loop.call_soon_threadsafe(task.cancel)

        task.add_done_callback(lambda _: _settle(future, task))
        future.add_done_callback(cancel)

    def stop(self) -> None:
        """End the loop and wait for its thread."""
        with self._lock:
            if not self._ended:
                self._ended = True  # from here on nothing is handed over, so the loop sees all there is
                self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self._cancel_rest()
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()
            for future in tuple(self._handed_over):
                if future.set_running_or_notify_cancel():
                    future.set_exception(ClosedError(_STOPPED))

    def _cancel_rest(self) -> None:
        for _ in range(_LAST_ROUNDS):
            self.loop.run_until_complete(asyncio.sleep(0))  # what was handed over last begins
            tasks = asyncio.all_tasks(self.loop)
            if not tasks:
                return
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def _settle(future: concurrent.futures.Future[T], task: asyncio.Task[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    problem = ClosedError(_STOPPED) if task.cancelled() else task.exception()
    if problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(task.result())


def _new_loop() -> asyncio.AbstractEventLoop:
    # Half of the time that a consumer or a producer spends on small messages goes into the loop itself.
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
