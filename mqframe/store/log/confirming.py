"""Waiting until what is stored is confirmed, by the disk and by copies that count (store.md §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mqframe.core.storage.outcome import Outcome
from mqframe.core.storage.replicas import Replicas
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.log.flusher import LogFlusher


class Confirming:
    """Tells those who wait for a log offset. `replicas`: as of `LogOffsets`."""

    def __init__(self, log: CommitLog, flusher: LogFlusher, replicas: Replicas | None) -> None:
        self._log = log
        self._flusher = flusher
        self._replicas = replicas
        self._ended = False

    def end(self) -> None:
        """The store stops: nothing further is flushed for those who ask."""
        self._ended = True

    @property
    def confirms_at_once(self) -> bool:
        """Whether all that is stored is confirmed when `put` returns, so that nobody needs to wait."""
        return not self._flusher.sync and self._replicas is None

    def when_confirmed(self, end_offset: int, callback: Callable[[bool], object]) -> None:
        """Call `callback` when everything before `end_offset` is confirmed: at once where it is already.

        It gets True, or False when the disk took longer than `sync_flush_timeout_ms`, or copies, where they
        count, longer than they may.
        """
        self.when_decided(end_offset, lambda what: callback(what is Outcome.CONFIRMED))

    def when_decided(self, end_offset: int, callback: Callable[[Outcome], object]) -> None:
        """As `when_confirmed`; `callback` gets CONFIRMED, or why it is not."""
        self._flusher.when_decided(end_offset, callback)

    async def until_confirmed(self, end_offset: int) -> bool:
        """Wait as `when_confirmed` does; whether it is confirmed. May be cancelled."""
        return await self.until_decided(end_offset) is Outcome.CONFIRMED

    async def until_decided(self, end_offset: int) -> Outcome:
        """Wait as `when_decided` does; what that tells. May be cancelled."""
        told: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.when_decided(end_offset, lambda what: None if told.done() else told.set_result(what))
        return await told

    def status_of(self, end_offset: int) -> Outcome:
        """What a sender is told of what is confirmed: that, or what `Replicas.trouble` says."""
        replicas = self._replicas
        return (replicas and replicas.trouble(end_offset)) or Outcome.CONFIRMED

    def give_up_copies(self) -> None:
        """Tell those who wait for copies that these did not get it in time: they are not fed any more."""
        self._flusher.waits.give_up_copies()

    async def flush_log(self) -> bool:
        """Bring everything appended so far to disk; False when that fails. It takes as long as the disk.

        Once the store has stopped: whether everything is on disk.
        """
        if self._ended:
            return self._log.flushed >= self._log.end
        told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._flusher.when_flushed(lambda done: None if told.done() else told.set_result(done))
        return await told
