"""A store whose log grows: queues list what of it is confirmed, and those who wait for that are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from mqframe.core.replication.replicas import Replicas
from mqframe.core.storage.outcome import Outcome
from mqframe.net.clock import LoopClock
from mqframe.store.appending.appender import Appender
from mqframe.store.appending.inline_dispatch import InlineDispatch, OnArrival, OnFailure
from mqframe.store.files.threads import Threads
from mqframe.store.following.followers import Followers
from mqframe.store.log.confirmed import flushed_and_copied, flushed_as_configured
from mqframe.store.log.flusher import LogFlusher
from mqframe.store.message_files import MessageFiles
from mqframe.store.reading.reads import StoreReads
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.holding_back import hold_back


class Confirming(StoreReads):
    """The part of `MessageStore` that lies between the log and its readers.

    `replicas`: where copies of the log count, what they confirm.
    """

    def __init__(
        self,
        settings: StoreSettings,
        files: MessageFiles,
        threads: Threads,
        repair: Callable[[int], object],
        replicas: Replicas | None,
    ) -> None:
        log = files.log
        confirmed = flushed_as_configured(
            settings.flush == "SYNC_FLUSH", lambda: log.end, lambda: log.flushed
        )
        if replicas is not None:
            confirmed = flushed_and_copied(confirmed, lambda: log.end, replicas)
        super().__init__(settings, files, threads, confirmed, repair)
        self._files = files
        self._replicas = replicas
        self._closed = self._dispatches_soon = False

    def _take_up(
        self, clock: LoopClock, store_time: int, on_arrival: OnArrival | None, cursors: Path
    ) -> None:
        """Go on behind what was recovered. `store_time`: of the newest record, ms."""
        self._appender = Appender(self._log, self._queues, self.settings, clock.now_ms)
        self._appender.store_time = store_time
        waiting, describe = self._appender.waiting, self._appender.describe
        self._dispatch = InlineDispatch(waiting, describe, self._queues, self._index, on_arrival)
        self._dispatch.done = self._shown = self._log.end
        self._dispatch.done_timestamp = store_time
        if self._replicas is not None:
            self._hold_back(self._replicas.attach(self._log.end, self.dispatch_soon))
        self._flusher = LogFlusher(self._log, self.settings, clock, self._threads, self)
        # Following dispatchers ask in threads of their own, where nobody may ask for copies.
        limit = self.confirmed if self._replicas is None else lambda: self._shown
        self._followers = Followers(cursors, self._log, limit)

    def _hold_back(self, confirmed: int) -> None:
        held = hold_back(self._files, confirmed) if confirmed < self._log.end else []
        if held:
            self._appender.waiting.extend(held)
            self._dispatch.done = self._shown = held[0].physical
            self._dispatch.done_timestamp = held[0].timestamp

    @property
    def replicas(self) -> Replicas | None:
        """What copies of the log confirm, where that counts."""
        return self._replicas

    @property
    def listed_offset(self) -> int:
        """Log offset up to which queues list messages, bytes."""
        return self._dispatch.done

    @property
    def undispatched(self) -> bool:
        """Whether something was appended that queues and index do not list yet."""
        return bool(self._appender.waiting)

    def dispatch(self) -> None:
        """Bring queues and index up to the confirmed offset; announce arrivals. Once a turn of the loop."""
        if self._appender.waiting:
            self._shown = self.confirmed()
            self._dispatch.run(self._shown)
            self._followers.wake()

    def watch_dispatch(self, on_failure: OnFailure) -> None:
        """Have `on_failure` told of messages that cannot be dispatched whole."""
        self._dispatch.on_failure = on_failure

    def dispatch_soon(self) -> None:
        """Have `dispatch` run in the next turn of the running loop, once however often it is asked for.

        Where copies count, those who wait for what they confirm are told then, too.
        """
        if not self._dispatches_soon:
            self._dispatches_soon = True
            asyncio.get_running_loop().call_soon(self._dispatch_now)

    def _dispatch_now(self) -> None:
        self._dispatches_soon = False
        if self._closed:
            return
        self.dispatch()
        if self._replicas is not None:
            self._flusher.settle()

    # Waiting

    @property
    def confirms_at_once(self) -> bool:
        """Whether all that is stored is confirmed when `put` returns, so that nobody needs to wait."""
        return not self._flusher.sync and self._replicas is None

    def when_confirmed(self, end_offset: int, callback: Callable[[bool], object]) -> None:
        """Call `callback` when everything before `end_offset` is confirmed: at once where it is already.

        It gets True, or False when the disk took longer than `sync_flush_timeout_ms`, or copies, where they
        count, longer than they may.
        """
        self._flusher.when_confirmed(end_offset, callback)

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
        """Bring everything appended so far to disk; False when that fails. It takes as long as the disk."""
        if self._closed:
            return self._log.flushed >= self._log.end
        told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._flusher.when_flushed(lambda done: None if told.done() else told.set_result(done))
        return await told
