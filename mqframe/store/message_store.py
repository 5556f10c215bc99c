"""The store of one broker: everything about messages on disk behind one object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from mqframe.core.errors import StoreError, StoreUnavailable
from mqframe.core.os_errors import told
from mqframe.core.storage.recovery import Care
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.hooks.interfaces.dispatcher import Dispatcher
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe.replication.confirmed import flushed_as_configured
from mqframe.store.appending.appender import Appender
from mqframe.store.appending.inline_dispatch import InlineDispatch, OnArrival, OnFailure
from mqframe.store.files.disk import Disk, DiskUsage, disk_usage
from mqframe.store.files.layout import Layout
from mqframe.store.files.log_file import Allocate, allocate_really
from mqframe.store.files.modes import use_mode, warn_if_open
from mqframe.store.files.ownership import Ownership
from mqframe.store.files.syncing import Sync, sync_really
from mqframe.store.files.threads import Threads
from mqframe.store.following.followers import Followers
from mqframe.store.following.lag import Lag, lag_of
from mqframe.store.incoming import Incoming
from mqframe.store.log.flusher import LogFlusher
from mqframe.store.message_files import MessageFiles, open_files
from mqframe.store.reading.reads import StoreReads
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.cleaner import Cleaner
from mqframe.store.upkeep.cutting import finish_cuts
from mqframe.store.upkeep.dispatch_mark import DispatchMark
from mqframe.store.upkeep.quarantine import Quarantine
from mqframe.store.upkeep.queue_flusher import QueueFlusher
from mqframe.store.upkeep.recovery import Recovery, save_ends
from mqframe.store.upkeep.setting_aside import SettingAside
from mqframe.store.upkeep.settling import bring_back, settle_on_disk

log: Final = get_logger("store")
_EXPIRY_SECONDS: Final = 0.5
_MARK_SECONDS: Final = 1.0


class Opening(NamedTuple):
    """How a store is opened: on which disk, how carefully, who hears of arrivals; what is open already."""

    disk: Disk
    care: Care
    on_arrival: OnArrival | None
    files: MessageFiles
    threads: Threads


class MessageStore(StoreReads):
    """Appends, reads, dispatch, following dispatchers and upkeep of one store.

    Belongs to one loop and its thread; has no locks. Made by `open`.
    """

    def __init__(
        self, settings: StoreSettings, clock: LoopClock, ownership: Ownership, opening: Opening
    ) -> None:
        disk, care, on_arrival, files, threads = opening
        layout, commit_log = Layout(settings.directory), files.log
        confirmed = flushed_as_configured(
            settings.flush == "SYNC_FLUSH", lambda: commit_log.end, lambda: commit_log.flushed
        )
        quarantine = Quarantine(layout.quarantine)
        self._setting_aside = SettingAside(files.log, files.queues, quarantine, clock.now_ms)
        super().__init__(settings, files, threads, confirmed, self._repair_record)
        self._ownership = ownership
        self._layout = layout
        self._files = files
        self._durability = files.log.durability
        killed = bring_back(layout) or ownership.was_killed
        recovery = Recovery(layout, settings, files, self._setting_aside, (care, self.is_copy))
        # From here on the store changes: whatever an orderly stop left is not what the next start may trust.
        ownership.mark()
        self.recovered = recovery.run(killed)
        self._set_aside = quarantine.reports()
        if not files.checkpoint.is_known:
            files.checkpoint.save()  # so that a missing one tells of a loss
        settle_on_disk(layout, files, killed)
        self._appender = Appender(self._log, self._queues, settings, clock.now_ms)
        self._appender.store_time = self.recovered.store_time
        waiting, describe = self._appender.waiting, self._appender.describe
        self._dispatch = InlineDispatch(waiting, describe, self._queues, files.key_index, on_arrival)
        self._dispatch.done = self._log.end
        self._dispatch.done_timestamp = self.recovered.store_time
        self._flusher = LogFlusher(self._log, settings, clock, threads, self)
        self._queue_flusher = QueueFlusher(files, settings, clock, threads, self._dispatch)
        self._cleaner = Cleaner(settings, clock, files, threads, disk.usage)
        self._cleaner.begin(self.recovered.store_time)
        self._followers = Followers(layout.cursors, self._log, confirmed)
        self._clock = clock
        self._timers: list[Every] = []
        self._closed = self._dispatches_soon = False
        self._mark = DispatchMark(layout)

    @classmethod
    def open(
        cls,
        settings: StoreSettings,
        clock: LoopClock,
        *,
        on_arrival: OnArrival | None = None,
        allocate: Allocate = allocate_really,
        usage: DiskUsage = disk_usage,
        sync: Sync = sync_really,
        care: Care = Care.USUAL,
    ) -> MessageStore:
        """Lock the directory, recover what is in it, and bring that to disk.

        `care`: how thoroughly, and whether to go on where messages may have been lost. Raises
        `UndecidedDamage` there otherwise, and `StoreError` when another broker holds the directory, when
        files have another size than configured, or when the disk is full or not readable; the message names
        the path and what to do.
        """
        use_mode(settings.file_mode)
        if settings.directory.is_dir():
            warn_if_open(settings.directory)
        layout, disk, threads = Layout(settings.directory), Disk(allocate, usage, sync), Threads()
        try:
            with ExitStack() as undo:
                undo.callback(threads.close)
                ownership = Ownership(layout)
                undo.callback(ownership.release)
                finish_cuts(layout)
                files = open_files(layout, settings, disk, threads, clock.now_ms, care)
                undo.callback(files.close)
                store = cls(settings, clock, ownership, Opening(disk, care, on_arrival, files, threads))
                undo.pop_all()
                return store
        except OSError as problem:
            raise StoreError(
                f"the store in {settings.directory} cannot be opened: {told(problem)}"
            ) from problem

    def start(self) -> None:
        """Start timers and following dispatchers; needs a running loop."""
        self._threads.attach()
        self._log.keep_ahead = True
        self._log.allocate_ahead()
        self._cleaner.look()
        settings = self.settings
        self._timers = [
            Every(self._clock, seconds, work, name=name)
            for name, seconds, work in (
                ("flush", settings.flush_interval_ms / 1000, self._flush),
                ("expired waits for a flush", _EXPIRY_SECONDS, self._flusher.expire),
                ("flush of queues", settings.queue_flush_interval_ms / 1000, self._queue_flusher.flush),
                ("mark of what is dispatched", _MARK_SECONDS, self._note_dispatched),
                ("clean-up", settings.cleanup_interval_ms / 1000, self.clean),
            )
        ]
        self._note_dispatched()
        self._followers.start()

    def _note_dispatched(self) -> None:
        if self._dispatch.failure is None:
            try:
                self._mark.note(self._dispatch.done)
            except OSError as problem:  # it only saves work after a kill
                log.warning("not noted how far queues are written", problem=str(problem))

    async def stop(self) -> None:
        """Stop in good order: dispatch, flush and sync all, so that the next start trusts every file."""
        if self._closed:
            return
        self._end()
        await self._threads.run_and_wait(self._followers.join)
        complete = await self._flush_all()
        self._threads.close()
        # Only now it is known how whatever was still under way in the threads ended.
        complete = complete and self._durability.trusted and self._leave_ends()
        self._log.forget_ahead()
        self._close(complete)

    def _end(self) -> None:
        self._closed = True
        for timer in self._timers:
            timer.stop()
        self._followers.end()

    async def _flush_all(self) -> bool:
        """Bring everything to disk; False when that failed, so that the next start has to recover."""
        try:
            await self._threads.run_and_wait(lambda: self._log.sync_to(self._log.end))
            self._log.flushed = self._log.end
            self.dispatch()
            self._flusher.settle()
            self._followers.save_cursors()
            await self._threads.run_and_wait(self._queue_flusher.flush_all)
        except OSError as problem:
            log.error("not everything is on disk; the next start recovers", problem=str(problem))
            return False
        finally:
            self._flusher.give_up()
        return not self._appender.waiting

    def _leave_ends(self) -> bool:
        """Leave what an orderly stop does; False when that failed."""
        try:
            self._log.drop_ahead()
            save_ends(self._layout, self._files, self._dispatch.done_timestamp)
        except OSError as problem:
            log.error("the stop could not be noted; the next start recovers", problem=str(problem))
            return False
        return True

    def _close(self, complete: bool) -> None:
        self._files.close()
        if complete:
            try:
                self._ownership.unmark()
            except OSError as problem:
                log.error("the stop could not be noted; the next start recovers", problem=str(problem))
        self._ownership.release()

    def abandon(self) -> None:
        """Let go of the directory as a killed process would: nothing is flushed, the next start recovers."""
        if not self._closed:
            self._end()
            self._threads.close()
            self._log.forget_ahead()
            self._close(complete=False)

    def put(self, incoming: Incoming) -> Stored:
        """Append one message.

        Raises `MessageError` for a message that is too large, `StoreUnavailable` when the disk is full or the
        store stopped.
        Consumers see it after `dispatch`, once it is confirmed.
        """
        if self._cleaner.refusal or self._dispatch.failure or self._durability.failure or self._closed:
            self._refuse()
        return self._appender.put(incoming)

    def put_batch(
        self, head: Incoming, batch: bytes | memoryview, extra_properties: bytes = b""
    ) -> StoredBatch:
        """Append the messages of a batch (wire.md §6) to the queue of `head`, all or none.

        `extra_properties`, in text form, go behind those of each message. Raises as `put`, and `BodyError`
        for a malformed batch.
        """
        if self._cleaner.refusal or self._dispatch.failure or self._durability.failure or self._closed:
            self._refuse()
        return self._appender.put_batch(head, memoryview(batch), extra_properties)

    def make_room(self, size: int) -> None:
        """See that `size` bytes fit the current log file, so that what is stored next lies in one file.

        Raises as `put`; what is stored now, and takes no more than that, is refused for itself only.
        """
        if self._cleaner.refusal or self._dispatch.failure or self._durability.failure or self._closed:
            self._refuse()
        self._log.room(size)

    def _refuse(self) -> None:
        self.dispatch()
        refusal = self.refusal()
        if refusal is not None:
            raise refusal

    def refusal(self) -> StoreUnavailable | None:
        """Why messages are refused at the moment; `None` when they are not."""
        if self._closed:
            return StoreUnavailable("the store has stopped")
        return self._durability.failure or self._cleaner.refusal or self._dispatch.failure

    @property
    def undispatched(self) -> bool:
        """Whether something was appended that queues and index do not list yet."""
        return bool(self._appender.waiting)

    def dispatch(self) -> None:
        """Bring queues and index up to the confirmed offset; announce arrivals. Once a turn of the loop."""
        if self._appender.waiting:
            self._dispatch.run(self.confirmed())
            self._followers.wake()

    @property
    def failures(self) -> int:
        """How often periodic work of the store failed."""
        return sum(timer.failures.total for timer in self._timers)

    def watch_dispatch(self, on_failure: OnFailure) -> None:
        """Have `on_failure` told of messages that cannot be dispatched whole."""
        self._dispatch.on_failure = on_failure

    def dispatch_soon(self) -> None:
        """Have `dispatch` run in the next turn of the running loop, once however often it is asked for."""
        if not self._dispatches_soon:
            self._dispatches_soon = True
            asyncio.get_running_loop().call_soon(self._dispatch_now)

    def _dispatch_now(self) -> None:
        self._dispatches_soon = False
        self.dispatch()

    def when_confirmed(self, end_offset: int, callback: Callable[[bool], object]) -> None:
        """Call `callback` when everything before `end_offset` is confirmed: at once where it is already.

        It gets True, or False when that took longer than `sync_flush_timeout_ms`.
        """
        self._flusher.when_confirmed(end_offset, callback)

    async def until_confirmed(self, end_offset: int) -> bool:
        """Wait as `when_confirmed` does; whether it is confirmed. May be cancelled."""
        told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.when_confirmed(end_offset, lambda done: None if told.done() else told.set_result(done))
        return await told

    async def flush_log(self) -> bool:
        """Bring everything appended so far to disk; False when that fails. It takes as long as the disk."""
        if self._closed:
            return self._log.flushed >= self._log.end
        told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._flusher.when_flushed(lambda done: None if told.done() else told.set_result(done))
        return await told

    def distrust(self, what: str, problem: OSError) -> None:
        """A file that is made from the log could not be synced: the next start checks, and writes it anew."""
        self._durability.distrust(what, problem)

    def change(self, settings: StoreSettings) -> None:
        """Go on with `settings`, which differ in nothing but those that are `live`."""
        self.settings = self._cleaner.settings = settings
        self._appender.change(settings)

    @property
    def trouble(self) -> str:
        """Why what is stored may not be on disk, and what to do; empty normally."""
        return self._durability.trouble

    def _repair_record(self, offset: int) -> None:
        log.error("a read met a damaged record", offset=offset)
        report = self._setting_aside.set_aside_record(offset)
        if report is not None:
            self._set_aside.append(report)

    def counters(self) -> dict[str, str]:
        """What was ever taken out of the log because it was damaged, for operators.

        Of queue entries: how many reads found damaged since the start, and those of them that are lost.
        """
        lost = [each for report in self._set_aside for each in report.queues]
        queues = {f"{each.topic}:{each.queue_id}" for each in lost}
        return {
            "setAsideStretches": str(len(self._set_aside)),
            "setAsideMessages": str(sum(report.records for report in self._set_aside)),
            "setAsideQueues": " ".join(sorted(queues)),
            "damagedEntries": str(self.damaged_entries),
            "lostEntries": str(self.lost_entries),
        }

    async def delete_topic(self, topic: str) -> None:
        """As `QueueTable.delete_topic`; the records stay in the log until that is cleaned."""
        await self._queues.delete_topic(topic, self._threads, self._dispatched)

    def _dispatched(self) -> tuple[int, int]:
        """Start and end of the log, with queues that list what lies between."""
        self.dispatch()
        return self._log.start, self._log.end

    # Following dispatchers

    def follow(self, dispatcher: Dispatcher, broker_name: str = "") -> None:
        """Feed `dispatcher` from its own cursor on, in a thread of its own. Raises `StoreError`."""
        self._followers.add(dispatcher, broker_name)

    def lag(self, name: str) -> int:
        """How many bytes of the log the following dispatcher `name` has not taken in. Raises KeyError."""
        return self._followers.lag_bytes(name)

    def lags(self, *, count: bool = True) -> list[Lag]:
        """How far each following dispatcher is behind; messages are counted when `count`."""
        queues = self._queues if count else None
        return [lag_of(name, cursor, self, queues) for name, cursor in self._followers.cursors().items()]

    # Upkeep

    def _flush(self) -> None:
        self.dispatch()
        self._flusher.tick()

    def clean(self, *, any_hour: bool = False) -> list[Path]:
        """One clean-up pass now; the paths of the commit-log files that went.

        `any_hour`: files past their time go whatever hour it is.
        """
        if self._log.keep_ahead:
            self._log.allocate_ahead()
        return [file.path for file in self._cleaner.run(self._followers.cursors(), any_hour=any_hour)]
