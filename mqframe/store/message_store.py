"""The store of one broker: everything about messages on disk behind one object."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.core.storage.log_reading import LogReading
from mqframe.core.storage.recovery import Care
from mqframe.core.storage.replicas import Replicas
from mqframe.hooks.interfaces.key_index import OpenIndex
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe.store.appending.appender import Appender
from mqframe.store.appending.dispatching import Dispatching, gathered, in_next_turn
from mqframe.store.appending.inline_dispatch import InlineDispatch, OnArrival
from mqframe.store.appending.refusals import WriteRefusals
from mqframe.store.appending.writes import NoWrites, OwnWrites, Writes
from mqframe.store.copy_parts import CopyParts, MakeCopy
from mqframe.store.files.disk import Disk, DiskUsage, disk_usage
from mqframe.store.files.log_file import Allocate, allocate_really
from mqframe.store.files.syncing import Sync, sync_really
from mqframe.store.following.followers import Followers
from mqframe.store.following.lag import Lag, lag_of
from mqframe.store.log.confirming import Confirming
from mqframe.store.log.flusher import LogFlusher
from mqframe.store.log.log_offsets import LogOffsets
from mqframe.store.reading.head_mending import HeadMending
from mqframe.store.reading.mending import Mending
from mqframe.store.reading.queue_offsets import QueueOffsets
from mqframe.store.reading.reads import QueueReads
from mqframe.store.reading.search import Search
from mqframe.store.recovered_store import RecoveredStore, recover_store
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.cleaner import Cleaner
from mqframe.store.upkeep.damage import Damage
from mqframe.store.upkeep.dispatch_mark import DispatchMark
from mqframe.store.upkeep.holding_back import hold_back
from mqframe.store.upkeep.queue_flusher import QueueFlusher
from mqframe.store.upkeep.recovery import save_ends
from mqframe.store.upkeep.store_disk import StoreDisk

log: Final = get_logger("store")
_EXPIRY_SECONDS: Final = 0.5
_EXPIRY_OF_COPIES_SECONDS: Final = 0.1
_MARK_SECONDS: Final = 1.0
_ROOM_SECONDS: Final = 1.0


class MessageStore:
    """The messages of one broker. What can be done with them its parts do; it starts and stops them together.

    `log`: where the log begins, ends, and is confirmed; `queues`: the same of queues. `reads`: what queues
    list; `search`: records by log offset and key. `writes`: stores messages; `refusals`: why not now.
    `dispatch`: has queues list what is confirmed; `confirming`: tells those who wait for that. `followers`:
    following dispatchers. `disk`, `damage`: how the disk is, and what was found damaged. `replica`: of the
    store of a slave, which takes no messages of its own, what its log is written by: whatever `copy` made;
    else `None`. `recovered`: what the start found. `files`, `appender`: what all of it is made of, for what
    stores messages in a shorter way.

    Belongs to one loop and its thread; has no locks. Made by `open` or `of`.
    """

    def __init__(
        self,
        recovered: RecoveredStore,
        clock: LoopClock,
        on_arrival: OnArrival | None = None,
        replicas: Replicas | None = None,
        copy: MakeCopy | None = None,
    ) -> None:
        recovered.is_taken = True
        self.settings = settings = recovered.settings
        self.recovered = recovered.outcome
        self.files, self._threads = files, threads = recovered.files, recovered.threads
        self._ownership, self._layout = recovered.ownership, recovered.layout
        self._clock = clock
        self._commit_log = commit_log = files.log
        is_sync = settings.flush == "SYNC_FLUSH"
        self.log = LogOffsets(commit_log, is_sync, replicas)
        self.queues = QueueOffsets(commit_log, files.queues)
        self.search = Search(commit_log, files.key_index, self.log.confirmed)
        heads = HeadMending(commit_log, files.queues.get)
        mending = Mending(commit_log, files.queues.delays, heads)
        self.damage = Damage(recovered.setting_aside, mending, self.recovered)
        self.reads = QueueReads(settings, files, threads, mending, self.damage.repair)
        self._take_up(recovered, on_arrival)
        is_copy = recovered.is_copy
        self.replica = copy(self._copy_parts(recovered)) if is_copy and copy is not None else None
        self._queue_flusher = QueueFlusher(files, settings, clock, threads, self._inline)
        self._mark = DispatchMark(self._layout)
        self._timers: list[Every] = []

    def _take_up(self, recovered: RecoveredStore, on_arrival: OnArrival | None) -> None:
        """Go on behind what was recovered."""
        settings, clock, files, threads = self.settings, self._clock, self.files, self._threads
        log, newest = files.log, self.recovered.store_time
        replicas = self.log.replicas
        self.appender = appender = Appender(log, files.queues, settings, clock.now_ms)
        appender.store_time = newest
        self._inline = inline = InlineDispatch(
            appender.waiting, appender.describe, files.queues, files.key_index, on_arrival
        )
        inline.done, inline.done_timestamp = log.end, newest
        later = gathered(clock) if recovered.is_copy else in_next_turn
        self.dispatch = dispatch = Dispatching(appender, inline, self.log, later)
        if replicas is not None:
            confirmed = replicas.attach(log.end, dispatch.soon)
            dispatch.hold(hold_back(files, confirmed) if confirmed < log.end else ())
        self._flusher = flusher = LogFlusher(log, settings, clock, threads, self.log)
        flusher.on_flushed = dispatch.now
        if replicas is not None and not recovered.is_copy:
            dispatch.on_soon = flusher.settle
        self.confirming = Confirming(log, flusher, replicas)
        # Following dispatchers ask in threads of their own, where nobody may ask for copies.
        limit = self.log.confirmed if replicas is None else lambda: self.log.shown
        self.followers = Followers(self._layout.cursors, log, limit)
        dispatch.on_dispatched = self.followers.wake
        self._cleaner = cleaner = Cleaner(settings, clock, files, threads, recovered.disk.usage)
        cleaner.begin(newest)
        self.refusals = refusals = WriteRefusals(log.durability, cleaner, inline, replicas)
        self.disk = StoreDisk(log, cleaner, flusher, refusals)
        self.writes: Writes = (
            NoWrites() if recovered.is_copy else OwnWrites(appender, log, refusals, dispatch)
        )

    def _copy_parts(self, recovered: RecoveredStore) -> CopyParts:
        return CopyParts(
            self.files,
            self.appender,
            self._inline,
            self.refusals,
            self.dispatch,
            self.search,
            self.damage,
            recovered.quarantine,
            self.log,
            self.confirming,
            self._clock.now_ms,
            recovered.reading(self.files.key_index),
        )

    @classmethod
    def open(
        cls,
        settings: StoreSettings,
        clock: LoopClock,
        *,
        is_copy: bool = False,
        on_arrival: OnArrival | None = None,
        replicas: Replicas | None = None,
        copy: MakeCopy | None = None,
        allocate: Allocate = allocate_really,
        usage: DiskUsage = disk_usage,
        sync: Sync = sync_really,
        care: Care = Care.USUAL,
        delays: tuple[int, ...] = USUAL_DELAYS,
        open_index: OpenIndex | None = None,
        log_reading: type[LogReading] = LogReading,
    ) -> Self:
        """`recover_store`, and a store of what that has found. Raises as that does.

        `is_copy`: whether it is the store of a slave. `on_arrival`: hears of arrivals. `replicas`: where
        copies of the log count, what they confirm. `copy`: makes what writes the log of a slave.
        """
        disk = Disk(allocate, usage, sync)
        recovered = recover_store(
            settings, clock, is_copy=is_copy, disk=disk, care=care, delays=delays, open_index=open_index,
            log_reading=log_reading,
        )  # fmt: skip
        return cls.of(recovered, clock, on_arrival=on_arrival, replicas=replicas, copy=copy)

    @classmethod
    def of(
        cls,
        recovered: RecoveredStore,
        clock: LoopClock,
        *,
        on_arrival: OnArrival | None = None,
        replicas: Replicas | None = None,
        copy: MakeCopy | None = None,
    ) -> Self:
        """A store of what `recover_store` has found. Raises `StoreError`, with the directory let go."""
        try:
            return cls(recovered, clock, on_arrival, replicas, copy)
        except BaseException as problem:
            recovered.is_taken = False
            recovered.abandon()
            if isinstance(problem, OSError):
                raise StoreError(
                    f"the store in {recovered.settings.directory} cannot be opened: {told(problem)}"
                ) from problem
            raise

    def start(self) -> None:
        """Start timers and following dispatchers; needs a running loop."""
        self._threads.attach()
        self._commit_log.keep_ahead = True
        self._commit_log.allocate_ahead()
        self._cleaner.look()
        settings = self.settings
        expiry = _EXPIRY_SECONDS if self.log.replicas is None else _EXPIRY_OF_COPIES_SECONDS
        self._timers = [
            Every(self._clock, seconds, work, name=name)
            for name, seconds, work in (
                ("flush", settings.flush_interval_ms / 1000, self._flush),
                ("expired waits", expiry, self._flusher.expire),
                ("flush of queues", settings.queue_flush_interval_ms / 1000, self._queue_flusher.flush),
                ("mark of what is dispatched", _MARK_SECONDS, self._note_dispatched),
                ("room on the disk", _ROOM_SECONDS, self.disk.look),
                ("clean-up", settings.cleanup_interval_ms / 1000, self.clean),
            )
        ]
        self._note_dispatched()
        self.followers.start()

    def _note_dispatched(self) -> None:
        if self._inline.failure is None:
            try:
                self._mark.note(self._inline.done)
            except OSError as problem:  # it only saves work after a kill
                log.warning("not noted how far queues are written", problem=str(problem))

    async def stop(self) -> None:
        """Stop in good order: dispatch, flush and sync all, so that the next start trusts every file."""
        if self.refusals.closed:
            return
        self._end()
        await self._threads.run_and_wait(self.followers.join)
        complete = await self._flush_all()
        self._threads.close()
        # Only now it is known how whatever was still under way in the threads ended.
        complete = complete and self._commit_log.durability.trusted and self._leave_ends()
        self._commit_log.forget_ahead()
        self._close(complete)

    def _end(self) -> None:
        self.refusals.closed = True
        self.dispatch.end()
        self.confirming.end()
        for timer in self._timers:
            timer.stop()
        self.followers.end()

    async def _flush_all(self) -> bool:
        """Bring everything to disk; False when that failed, so that the next start has to recover."""
        try:
            await self._threads.run_and_wait(lambda: self._commit_log.sync_to(self._commit_log.end))
            self._commit_log.flushed = self._commit_log.end
            # Also what copies did not confirm: nobody reads any more, and the next start lists all there is.
            self._inline.run(self._commit_log.end)
            self._flusher.settle()
            self.followers.save_cursors()
            await self._threads.run_and_wait(self._queue_flusher.flush_all)
        except OSError as problem:
            log.error("not everything is on disk; the next start recovers", problem=str(problem))
            return False
        finally:
            self._flusher.give_up()
        return not self.appender.waiting

    def _leave_ends(self) -> bool:
        """Leave what an orderly stop does; False when that failed."""
        try:
            self._commit_log.drop_ahead()
            save_ends(self._layout, self.files, self._inline.done_timestamp)
        except OSError as problem:
            log.error("the stop could not be noted; the next start recovers", problem=str(problem))
            return False
        return True

    def _close(self, complete: bool) -> None:
        self.files.close()
        if complete:
            try:
                self._ownership.unmark()
            except OSError as problem:
                log.error("the stop could not be noted; the next start recovers", problem=str(problem))
        self._ownership.release()

    def abandon(self) -> None:
        """Let go of the directory as a killed process would: nothing is flushed, the next start recovers."""
        if not self.refusals.closed:
            self._end()
            self._threads.close()
            self._commit_log.forget_ahead()
            self._close(complete=False)

    @property
    def failures(self) -> int:
        """How often periodic work of the store failed."""
        return sum(timer.failures.total for timer in self._timers)

    def change(self, settings: StoreSettings) -> None:
        """Go on with `settings`, which differ in nothing but those that are `live`."""
        self.settings = self._cleaner.settings = settings
        self.appender.change(settings)

    async def delete_topic(self, topic: str) -> None:
        """As `QueueTable.delete_topic`; the records stay in the log until that is cleaned."""
        await self.files.queues.delete_topic(topic, self._threads, self._dispatched)

    def _dispatched(self) -> tuple[int, int]:
        """Start and end of the log, with queues that list what lies between."""
        self.dispatch.now()
        return self._commit_log.start, self._commit_log.end

    def lags(self, *, count: bool = True) -> list[Lag]:
        """How far each following dispatcher is behind; messages are counted when `count`."""
        queues = self.files.queues if count else None
        cursors = self.followers.cursors()
        return [lag_of(name, cursor, self.log, self.search, queues) for name, cursor in cursors.items()]

    def _flush(self) -> None:
        self.dispatch.now()
        self._flusher.tick()

    def clean(self, *, any_hour: bool = False) -> list[Path]:
        """One clean-up pass now; the paths of the commit-log files that went.

        `any_hour`: files past their time go whatever hour it is.
        """
        if self._commit_log.keep_ahead:
            self._commit_log.allocate_ahead()
        return [file.path for file in self._cleaner.run(self.followers.cursors(), any_hour=any_hour)]
