"""Flushes of the commit log: asynchronous, and group commit where senders wait (store.md §4)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.storage.outcome import Outcome
from mqframe.log import get_logger
from mqframe.store.files.threads import Threads
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.log.log_offsets import LogOffsets
from mqframe.store.log.waits import Waits, tell
from mqframe.store.settings import StoreSettings

log: Final = get_logger("store")
_PAGE_BYTES: Final = 4096


class LogFlusher:
    """Flushes the commit log, one flush at a time; what is appended meanwhile shares the next.

    Once the disk has failed, whoever's call met it, nothing is flushed any more and nobody waits.

    `on_flushed`: called on the loop whenever more of the log is on disk, before those are who wait for it.
    """

    def __init__(
        self,
        commit_log: CommitLog,
        settings: StoreSettings,
        clock: Clock,
        threads: Threads,
        confirmation: LogOffsets,
    ) -> None:
        self._log = commit_log
        self._clock = clock
        self._threads = threads
        self.on_flushed: Callable[[], object] = lambda: None
        self.sync = settings.flush == "SYNC_FLUSH"
        self._pages_min = settings.flush_pages_min
        self._thorough_seconds = settings.flush_thorough_ms / 1000
        self._durability = commit_log.durability
        self._under_way = False
        self._asked = False
        self._last_flush = clock.monotonic()
        self.waits = Waits(clock, confirmation, settings.sync_flush_timeout_ms / 1000)
        # Otherwise those who wait do so for copies, and the disk has its time.
        self._flushes_for_waits = self.sync or confirmation.replicas is None
        self._flush_waiters: deque[tuple[int, Callable[[bool], object]]] = deque()

    @property
    def waiting_seconds(self) -> float:
        """For how long the disk has owed an answer; 0 while it owes none."""
        return self._clock.monotonic() - self._last_flush if self._under_way else 0.0

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
        if self._under_way or self._durability.failure is not None or self._log.end <= self._log.flushed:
            return
        self._under_way = True
        self._last_flush = self._clock.monotonic()
        end = self._log.end
        self._threads.run(lambda: self._log.sync_to(end), lambda _, problem: self._flushed(end, problem))

    def _flushed(self, end: int, problem: Exception | None) -> None:
        self._under_way = False
        if problem is not None:
            # Nothing that was not on disk before is ever confirmed; the next start finds out what is there.
            self._durability.lost(self._log.directory, problem)
            self.give_up()
        elif end > self._log.flushed:
            self._log.flushed = end
            self.on_flushed()
            self.settle()
            if (self.waits and self._flushes_for_waits) or self._flush_waiters:
                self.flush()

    def settle(self) -> None:
        """Call back those who wait for an offset that is confirmed, or flushed, now."""
        self.waits.settle()
        flushed, flush_waiters = self._log.flushed, self._flush_waiters
        while flush_waiters and flush_waiters[0][0] <= flushed:
            tell(flush_waiters.popleft()[1], True)

    def when_flushed(self, callback: Callable[[bool], object]) -> None:
        """Have everything appended so far flushed, then call `callback` with True; with False if that fails.

        It waits for as long as the disk takes.
        """
        end = self._log.end
        if end <= self._log.flushed:
            callback(True)
        elif self._durability.failure is not None:
            callback(False)
        else:
            self._flush_waiters.append((end, callback))
            self.flush()

    def when_decided(self, end: int, callback: Callable[[Outcome], object]) -> None:
        """Call `callback` once log offset `end` is confirmed, or is not after the time limit, with which."""
        if self.waits.add(end, callback):
            self._flush_for_waits()

    def _flush_for_waits(self) -> None:
        if self._durability.failure is not None:
            self.waits.give_up()
        elif self._flushes_for_waits and not (self._under_way or self._asked):
            try:
                # Everything that this turn of the loop appends shares the flush.
                asyncio.get_running_loop().call_soon(self.flush)
                self._asked = True
            except RuntimeError:
                self.flush()

    def expire(self) -> None:
        """Call back those who have waited too long, and all once the disk has failed."""
        if self._durability.failure is not None:
            self.give_up()
        self.waits.expire()

    def give_up(self) -> None:
        """Call all who wait back, with no success: the store stops, or the disk has failed."""
        self.waits.give_up()
        while self._flush_waiters:
            tell(self._flush_waiters.popleft()[1], False)
