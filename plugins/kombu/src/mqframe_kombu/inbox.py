"""Messages on their way from the loop of a link to the thread that drains events."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable


class Inbox:
    """Calls for the draining thread, in order, and a pipe that an event loop can watch.

    Any thread may `put`. `fileno` is readable while there is something to take, or the link has failed.
    """

    def __init__(self) -> None:
        self._calls: deque[Callable[[], None]] = deque()
        self._ready = threading.Condition()
        self._failure: BaseException | None = None
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._marked = False
        self._closed = False

    def fileno(self) -> int:
        """The end to be watched."""
        return self._reader

    def put(self, call: Callable[[], None]) -> None:
        """Have `call` called by whoever drains."""
        with self._ready:
            self._calls.append(call)
            self._mark()
            self._ready.notify()

    def fail(self, failure: BaseException) -> None:
        """Have `failure` raised by whoever drains, from now on."""
        with self._ready:
            self._failure = self._failure or failure
            self._mark()
            self._ready.notify_all()

    def take(self, timeout: float | None) -> Callable[[], None] | None:
        """The next call; `None` when none came within `timeout` seconds (`None`: wait for ever).

        Raises what the link failed with.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._ready:
            while not self._calls:
                if self._failure is not None:
                    raise self._failure
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._ready.wait(left)
            call = self._calls.popleft()
            if not self._calls and self._failure is None:
                self._unmark()
            return call

    def close(self) -> None:
        """Close the pipe."""
        with self._ready:
            if not self._closed:
                self._closed = True
                os.close(self._reader)
                os.close(self._writer)

    def _mark(self) -> None:
        if not self._marked and not self._closed:
            self._marked = True
            with contextlib.suppress(BlockingIOError):
                os.write(self._writer, b"x")

    def _unmark(self) -> None:
        if self._marked and not self._closed:
            self._marked = False
            with contextlib.suppress(BlockingIOError):
                os.read(self._reader, 64)
