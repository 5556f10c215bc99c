"""Flushes of the commit log: asynchronous, and group commit where senders wait (store.md §4)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from mqframe.core.clock import Clock
from mqframe.core.errors import StoreUnavailable
from mqframe.core.os_errors import told
from mqframe.log import get_logger
from mqframe.store.files.threads import Threads
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.settings import StoreSettings

log: Final = get_logger("store")
_PAGE_BYTES: Final = 4096


class Confirmation(Protocol):
    """Says which records may be seen, and lists those that may."""

    def confirmed(self) -> int:
        """First log offset that is not confirmed, bytes."""

    def dispatch(self) -> None:
        """Called on the loop whenever more of the log is flushed: build queues and index of it."""


class _Waiter(NamedTuple):
    end: int
    deadline: float
    callback: Callable[[bool], object]


class LogFlusher:
    """Flushes the commit log, one flush at a time; what is appended meanwhile shares the next.

    `failure`: why nothing can be stored any
    more, once the disk has failed; `None` normally.
    """

    def __init__(
        self,
        commit_log: CommitLog,
        settings: StoreSettings,
        clock: Clock,
        threads: Threads,
        confirmation: Confirmation,
    ) -> None:
        self._log = commit_log
        self._clock = clock
        self._threads = threads
        self._confirmation = confirmation
        self.sync = settings.flush == "SYNC_FLUSH"
        self._pages_min = settings.flush_pages_min
        self._thorough_seconds = settings.flush_thorough_ms / 1000
        self._wait_seconds = settings.sync_flush_timeout_ms / 1000
        self.failure: StoreUnavailable | None = None
        self._under_way = False
        self._asked = False
        self._last_flush = clock.monotonic()
        self._waiters: deque[_Waiter] = deque()

    def tick(self) -> None:
        """Each flush interval: flush when enough is dirty, or when the last flush is long ago."""
        dirty = self._log.end - self._log.flushed
        if not dirty:
            return
        thorough = self._clock.monotonic() - self._last_flush >= self._thorough_seconds
        if (
            thorough
            or self.sync
            or self._log.end // _PAGE_BYTES - self._log.flushed // _PAGE_BYTES >= self._pages_min
        ):
            self.flush()

    def flush(self) -> None:
        """Start a flush of everything appended so far, unless one is under way."""
        self._asked = False
        if self._under_way or self.failure is not None or self._log.end <= self._log.flushed:
            return
        self._under_way = True
        self._last_flush = self._clock.monotonic()
        end = self._log.end
        self._threads.run(lambda: self._log.sync_to(end), lambda _, problem: self._flushed(end, problem))

    def _flushed(self, end: int, problem: OSError | None) -> None:
        self._under_way = False
        if problem is not None:
            # The kernel forgets what it could not write: a second try would succeed without it. So nothing
            # that was not on disk before is ever confirmed; the next start finds out what is there.
            log.error("the commit log could not be flushed; no more is taken", problem=str(problem))
            self.failure = StoreUnavailable(
                f"the commit log could not be flushed: {told(problem)}; then restart",
            )
            self.give_up()
        elif end > self._log.flushed:
            self._log.flushed = end
            self._confirmation.dispatch()
            self.settle()
            if self._waiters:
                self.flush()

    def settle(self) -> None:
        """Call back those who wait for an offset that is confirmed now."""
        confirmed, waiters = self._confirmation.confirmed(), self._waiters
        while waiters and waiters[0].end <= confirmed:
            waiters.popleft().callback(True)

    def when_confirmed(self, end: int, callback: Callable[[bool], object]) -> None:
        """Call `callback` once log offset `end` is confirmed: True, or False after the time limit."""
        if end <= self._confirmation.confirmed():
            callback(True)
            return
        if self.failure is not None:
            callback(False)
            return
        self._waiters.append(_Waiter(end, self._clock.monotonic() + self._wait_seconds, callback))
        if self._under_way or self._asked:
            return
        try:
            # Everything that this turn of the loop appends shares the flush.
            asyncio.get_running_loop().call_soon(self.flush)
            self._asked = True
        except RuntimeError:
            self.flush()

    def expire(self) -> None:
        """Call back those who have waited too long."""
        now, waiters = self._clock.monotonic(), self._waiters
        while waiters and waiters[0].deadline <= now:
            waiters.popleft().callback(False)

    def give_up(self) -> None:
        """Call all who wait back with False: the store stops."""
        while self._waiters:
            self._waiters.popleft().callback(False)
