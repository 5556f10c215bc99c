"""Clients for plain threads that run until their process is signalled to end."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from enum import Enum
from queue import SimpleQueue
from typing import Any, TypeVar

from mqframe.client.connection.lifecycle import RunnableClient
from mqframe.client.connection.loop_thread import LoopThread
from mqframe.client.connection.sync_api import SyncClient
from mqframe.core.errors import ClosedError

R = TypeVar("R", bound=RunnableClient)


class SyncRunner(SyncClient[R]):
    """A client that can be run until the process is signalled to end."""

    def __init__(self, client: R, kind: str, group: str = "") -> None:
        super().__init__(client, kind, group)
        # A signal handler may put into it at any moment, which an Event does not allow.
        self._events: SimpleQueue[_Event] = SimpleQueue()

    def end(self) -> None:
        """Make `run` return. What a listener calls, since `stop` would wait for it."""
        self._events.put(_Event.END)

    def run(self, *, fail_fast: bool = False) -> None:
        """`start`, work until SIGTERM, SIGINT, `end` or `stop` from elsewhere, then `stop`.

        While no name server answers it waits for one, and the log says so every few seconds; with `fail_fast`
        it raises `RouteError` instead. Only the main thread hears signals.
        """
        with _signals(self.end):
            self._start(lambda loop: self._start_or_end(loop, fail_fast))
            try:
                while self._events.get() is not _Event.END:
                    pass
            finally:
                self.stop()

    def _start_or_end(self, loop: LoopThread, fail_fast: bool) -> None:
        """Returns when the client has started, or shall not any more."""
        starting = loop.submit(self._client._start_or_end(fail_fast=fail_fast))
        starting.add_done_callback(lambda _: self._events.put(_Event.STARTED))
        if self._events.get() is _Event.END:
            self._events.put(_Event.END)  # for `run`
            with contextlib.suppress(ClosedError):  # stopped from elsewhere, which ends it as well
                self._do(self._client.end)
                starting.result()
            return
        starting.result()

    def _end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            super()._end(how)
        finally:
            self.end()


class _Event(Enum):
    """What `run` waits for."""

    STARTED = "started"
    END = "end"


@contextlib.contextmanager
def _signals(action: Callable[[], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: action()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
