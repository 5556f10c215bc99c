"""What the blocking faces of clients share: an asyncio client in a loop of its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from mqframe.client.identity import SameProcess
from mqframe.client.loop_thread import LoopThread
from mqframe.core.errors import ClosedError

T = TypeVar("T")


class Startable(Protocol):
    """An asyncio client."""

    async def start(self) -> None:
        """Begin to work."""
        ...

    async def stop(self) -> None:
        """End in good order."""
        ...


class LoopFace:
    """Starts `client` in a thread, and carries calls of other threads there. Any thread may use it.

    `title`: what error messages call the client; `thread_name`: of its thread; `kind`: what it is in a word.
    """

    def __init__(self, title: str, client: Startable, thread_name: str, kind: str = "consumer") -> None:
        self._title = title
        self._client = client
        self._thread_name = thread_name
        self._process = SameProcess(kind)
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._stopped = False

    def start(self) -> None:
        """Start the client and return. Raises `ClosedError` when it runs or was stopped."""
        self._process.check()
        with self._lock:
            if self._loop is not None or self._stopped:
                state = "was stopped" if self._stopped else "is running"
                raise ClosedError(f"{self._title} {state}; make a new one")
            loop = self._loop = LoopThread(self._thread_name)
        try:
            loop.call(self._client.start())
        except BaseException:
            self._loop = None
            loop.stop()
            raise

    def stop(self, how: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Stop the client, by `how` if that is given, and end the thread. Twice does no harm."""
        self._process.check()
        with self._lock:
            loop, self._loop = self._loop, None
            self._stopped = True
        if loop is not None:
            try:
                loop.call((how or self._client.stop)())
            finally:
                loop.stop()

    def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of the coroutine that `work` makes, run on the loop. Raises `ClosedError` without it."""
        return self._running().call(work())

    def begin(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have the coroutine that `work` makes run on the loop; gives its future. Raises `ClosedError`."""
        loop = self._running().loop
        return asyncio.run_coroutine_threadsafe(work(), loop)

    def do(self, action: Callable[[], T]) -> T:
        """The result of `action`, called on the loop, and right here while there is none."""
        self._process.check()
        loop = self._loop
        if loop is None:
            return action()

        async def there() -> T:
            return action()

        return loop.call(there())

    def _running(self) -> LoopThread:
        self._process.check()
        loop = self._loop
        if loop is None:
            raise ClosedError(f"{self._title} is not running")
        return loop
