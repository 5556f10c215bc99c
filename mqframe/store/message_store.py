"""The store of one broker: everything about messages on disk behind one object."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.errors import StoreError, StoreUnavailable
from mqframe.core.os_errors import told
from mqframe.core.storage.recovery import Care
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.hooks.interfaces.dispatcher import Dispatcher
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe.replication.confirmed import Replicas
from mqframe.store.appending.inline_dispatch import OnArrival
from mqframe.store.confirming import Confirming
from mqframe.store.files.disk import Disk, DiskUsage, disk_usage
from mqframe.store.files.log_file import Allocate, allocate_really
from mqframe.store.files.syncing import Sync, sync_really
from mqframe.store.following.lag import Lag, lag_of
from mqframe.store.incoming import Incoming
from mqframe.store.recovered_store import RecoveredStore, recover_store
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.cleaner import Cleaner
from mqframe.store.upkeep.dispatch_mark import DispatchMark
from mqframe.store.upkeep.queue_flusher import QueueFlusher
from mqframe.store.upkeep.recovery import save_ends

log: Final = get_logger("store")
_EXPIRY_SECONDS: Final = 0.5
_EXPIRY_OF_COPIES_SECONDS: Final = 0.1
_MARK_SECONDS: Final = 1.0
_ROOM_SECONDS: Final = 1.0


class MessageStore(Confirming):
    """Appends, reads, dispatch, following dispatchers and upkeep of one store.

    Belongs to one loop and its thread; has no locks. Made by `open` or `of`.
    """

    def __init__(
        self,
        recovered: RecoveredStore,
        clock: LoopClock,
        on_arrival: OnArrival | None = None,
        replicas: Replicas | None = None,
    ) -> None:
        recovered.is_taken = True
        settings, files, threads = recovered.settings, recovered.files, recovered.threads
        self._setting_aside = recovered.setting_aside
        super().__init__(settings, files, threads, self._repair_record, replicas)
        self._ownership = recovered.ownership
        self._layout = layout = recovered.layout
        self._durability = files.log.durability
        self.recovered = recovered.outcome
        self._set_aside = recovered.quarantine.reports()
        self._take_up(clock, self.recovered.store_time, on_arrival, layout.cursors)
        self._queue_flusher = QueueFlusher(files, settings, clock, threads, self._dispatch)
        self._cleaner = Cleaner(settings, clock, files, threads, recovered.disk.usage)
        self._cleaner.begin(self.recovered.store_time)
        self._clock = clock
        self._timers: list[Every] = []
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
        replicas: Replicas | None = None,
        delays: tuple[int, ...] = USUAL_DELAYS,
    ) -> Self:
        """`recover_store`, and a store of what that has found. Raises as that does.

        `on_arrival`: hears of arrivals. `replicas`: where copies of the log count, what they confirm.
        """
        disk = Disk(allocate, usage, sync)
        recovered = recover_store(settings, clock, is_copy=cls.is_copy, disk=disk, care=care, delays=delays)
        return cls.of(recovered, clock, on_arrival=on_arrival, replicas=replicas)

    @classmethod
    def of(
        cls,
        recovered: RecoveredStore,
        clock: LoopClock,
        *,
        on_arrival: OnArrival | None = None,
        replicas: Replicas | None = None,
    ) -> Self:
        """A store of what `recover_store` has found. Raises `StoreError`, with the directory let go."""
        try:
            return cls(recovered, clock, on_arrival, replicas)
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
        self._log.keep_ahead = True
        self._log.allocate_ahead()
        self._cleaner.look()
        settings = self.settings
        expiry = _EXPIRY_SECONDS if self.replicas is None else _EXPIRY_OF_COPIES_SECONDS
        self._timers = [
            Every(self._clock, seconds, work, name=name)
            for name, seconds, work in (
                ("flush", settings.flush_interval_ms / 1000, self._flush),
                ("expired waits", expiry, self._flusher.expire),
                ("flush of queues", settings.queue_flush_interval_ms / 1000, self._queue_flusher.flush),
                ("mark of what is dispatched", _MARK_SECONDS, self._note_dispatched),
                ("room on the disk", _ROOM_SECONDS, self._look_for_room),
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
            # Also what copies did not confirm: nobody reads any more, and the next start lists all there is.
            self._dispatch.run(self._log.end)
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
        if (
            self._cleaner.refusal
            or self._dispatch.failure
            or self._durability.failure
            or self._closed
            or (self._replicas is not None and self._replicas.refusal())
        ):
            self._refuse()
        return self._appender.put(incoming)

    def put_batch(
        self, head: Incoming, batch: bytes | memoryview, extra_properties: bytes = b""
    ) -> StoredBatch:
        """Append the messages of a batch (wire.md §6) to the queue of `head`, all or none.

        `extra_properties`, in text form, go behind those of each message. Raises as `put`, and `BodyError`
        for a malformed batch.
        """
        if self.refusal() is not None:
            self._refuse()
        return self._appender.put_batch(head, memoryview(batch), extra_properties)

    def make_room(self, size: int) -> None:
        """See that `size` bytes fit the current log file, so that what is stored next lies in one file.

        Raises as `put`; what is stored now, and takes no more than that, is refused for itself only.
        """
        if self.refusal() is not None:
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
        return self._own_refusal() or (None if self._replicas is None else self._replicas.refusal())

    def _own_refusal(self) -> StoreUnavailable | None:
        return self._durability.failure or self._cleaner.refusal or self._dispatch.failure

    @property
    def disk_refusal(self) -> str:
        """Why the disk takes nothing, whatever copies say; empty normally. It is looked at once a second."""
        return str(self._own_refusal() or self._log.no_room or "")

    @property
    def has_room(self) -> bool:
        """Whether there is room for the next file of the log, as far as that was tried."""
        return not self._log.is_short

    @property
    def disk_waiting_seconds(self) -> float:
        """For how long the disk has owed an answer; 0 while it owes none."""
        return self._flusher.waiting_seconds

    def _look_for_room(self) -> None:
        self._cleaner.look()
        self._log.look_for_room()

    @property
    def failures(self) -> int:
        """How often periodic work of the store failed."""
        return sum(timer.failures.total for timer in self._timers)

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

        Of queue entries: how many the start, and reads since, found damaged, and those of them that are lost.
        Of records whose heads name a wrong place: how many were found, and those whose place no queue knew.
        """
        found, lost = self.recovered, [each for report in self._set_aside for each in report.queues]
        queues = {f"{each.topic}:{each.queue_id}" for each in lost}
        return {
            "setAsideStretches": str(len(self._set_aside)),
            "setAsideMessages": str(sum(report.records for report in self._set_aside)),
            "setAsideQueues": " ".join(sorted(queues)),
            "damagedEntries": str(self.damaged_entries + found.without_record + found.odd_tags),
            "lostEntries": str(self.lost_entries + found.without_record),
            "damagedHeads": str(self.damaged_heads),
            "lostHeads": str(found.lost_heads),
        }

    @property
    def damaged_heads(self) -> int:
        """Records whose heads were found damaged since, and at, the start."""
        return self._mending.heads.mended + self.recovered.damaged_heads

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
