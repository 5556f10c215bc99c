"""When the log goes to disk, and who is told (store.md §4): asynchronous flush and group commit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.log import get_logger
from mqframe.store.commit_log import CommitLog
from mqframe.store.settings import StoreSettings
from mqframe.store.threads import Threads

log: Final = get_logger("store")
_PAGE_BYTES: Final = 4096


class _Waiter(NamedTuple):
    end: int
    deadline: float
    callback: Callable[[bool], object]


class LogFlusher:
    """One flush is under way at a time; what is appended meanwhile shares the next.

    `on_flushed`: called on the loop whenever `log.flushed` grew. `failure`: why nothing can be stored any
    more, once the disk has failed; `None` normally.
    """

    def __init__(
        self,
        commit_log: CommitLog,
        settings: StoreSettings,
        clock: Clock,
        threads: Threads,
        confirmed: Callable[[], int],
        on_flushed: Callable[[], None],
    ) -> None:
        self._log = commit_log
        self._clock = clock
        self._threads = threads
        self._confirmed = confirmed
        self._on_flushed = on_flushed
        self.sync = settings.flush == "SYNC_FLUSH"
        self._pages_min = settings.flush_pages_min
        self._thorough_seconds = settings.flush_thorough_ms / 1000
        self._wait_seconds = settings.sync_flush_timeout_ms / 1000
        self.failure: Refusal | None = None
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
            self.failure = Refusal(
                ResponseCode.SERVICE_NOT_AVAILABLE,
                f"the commit log could not be flushed: {problem.strerror}; check the disk and restart",
            )
            self.give_up()
        elif end > self._log.flushed:
            self._log.flushed = end
            self._on_flushed()
            self.settle()
            if self._waiters:
                self.flush()

    def settle(self) -> None:
        """Tell the waiters whose offset is confirmed."""
        confirmed, waiters = self._confirmed(), self._waiters
        while waiters and waiters[0].end <= confirmed:
            waiters.popleft().callback(True)

    def when_confirmed(self, end: int, callback: Callable[[bool], object]) -> None:
        """Call `callback` once log offset `end` is confirmed: True, or False after the time limit."""
        if end <= self._confirmed():
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
        """Tell the waiters whose time is over."""
        now, waiters = self._clock.monotonic(), self._waiters
        while waiters and waiters[0].deadline <= now:
            waiters.popleft().callback(False)

    def give_up(self) -> None:
        """Tell all waiters that it did not come to it: the store stops."""
        while self._waiters:
            self._waiters.popleft().callback(False)
