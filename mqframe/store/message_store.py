"""The store of one broker: everything about messages on disk behind one object (house.md §2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal, StoreError
from mqframe.core.record import decode_record
from mqframe.hooks.interfaces.dispatcher import Dispatcher
from mqframe.log import get_logger
from mqframe.replication.confirmed import flushed_as_configured
from mqframe.store.appender import Appender
from mqframe.store.checkpoint import Checkpoint
from mqframe.store.cleaner import Cleaner, DiskUsage, disk_usage
from mqframe.store.commit_log import CommitLog
from mqframe.store.flusher import LogFlusher
from mqframe.store.following import Cursors, Follower
from mqframe.store.following_lag import Lag, messages_from
from mqframe.store.incoming import Incoming, Stored, StoredBatch
from mqframe.store.index import KeyIndex
from mqframe.store.inline_dispatch import InlineDispatch, OnArrival
from mqframe.store.layout import Layout
from mqframe.store.log_file import Allocate, allocate_really
from mqframe.store.lookup import Lookup
from mqframe.store.maintenance import Maintenance, TimerClock
from mqframe.store.ownership import Ownership
from mqframe.store.queue_table import QueueTable
from mqframe.store.reads import StoreReads
from mqframe.store.recovery import Recovery, encode_ends
from mqframe.store.settings import StoreSettings
from mqframe.store.threads import Threads

log: Final = get_logger("store")


class MessageStore(StoreReads):
    """Belongs to one loop and its thread; has no locks. Made by `open`."""

    def __init__(
        self,
        settings: StoreSettings,
        clock: TimerClock,
        ownership: Ownership,
        on_arrival: OnArrival | None,
        allocate: Allocate,
        usage: DiskUsage,
        broker_name: str,
    ) -> None:
        self.settings = settings
        self._ownership = ownership
        self._layout = Layout(settings.directory)
        self._broker_name = broker_name
        self._threads = Threads()
        self._checkpoint = Checkpoint(self._layout.checkpoint)
        self._log = CommitLog(
            self._layout.commit_log, settings.commit_log_file_bytes, allocate, self._threads.pool
        )
        self._queues = QueueTable(
            self._layout.queues, settings.queue_file_bytes, settings.queue_descriptors_max
        )
        self._index = (
            KeyIndex(self._layout.index, settings.index_slots, settings.index_entries, allocate, clock.now_ms)
            if settings.index_enabled
            else None
        )
        recovery = Recovery(self._layout, settings, self._checkpoint, self._log, self._queues, self._index)
        self.recovered = recovery.run(ownership.was_killed)
        self._appender = Appender(self._log, self._queues, settings, clock.now_ms)
        self._appender.store_time = self.recovered.store_time
        waiting, describe = self._appender.waiting, self._appender.describe
        self._dispatch = InlineDispatch(waiting, describe, self._queues, self._index, on_arrival)
        self._dispatch.done = self._log.end
        self._dispatch.done_timestamp = self.recovered.store_time
        self.confirmed = flushed_as_configured(
            settings.flush == "SYNC_FLUSH", lambda: self._log.end, lambda: self._log.flushed
        )
        self._flusher = LogFlusher(self._log, settings, clock, self._threads, self.confirmed, self.dispatch)
        self._cleaner = Cleaner(settings, clock, self._log, self._queues, self._index, usage)
        self._cursors = Cursors(self._layout.cursors)
        self._followers: dict[str, Follower] = {}
        self._maintenance = Maintenance(
            settings, clock, self._threads, self._checkpoint, self._log, self._queues, self._index,
            self._flusher, self._cleaner, self._dispatch, self.dispatch, self._follower_cursors,
        )  # fmt: skip
        self._lookup = Lookup(self._log, self._queues, self._index, settings.scan_entries_max)
        self._closed = False
        ownership.mark()

    @classmethod
    def open(
        cls,
        settings: StoreSettings,
        clock: TimerClock,
        *,
        on_arrival: OnArrival | None = None,
        allocate: Allocate = allocate_really,
        usage: DiskUsage = disk_usage,
        broker_name: str = "",
    ) -> MessageStore:
        """Lock the directory, recover what is in it.

        Raises `StoreError` when another broker holds it, when files have another size than configured, or
        when the disk is full or not readable; the message names the path and what to do.
        """
        ownership = Ownership(Layout(settings.directory))
        try:
            return cls(settings, clock, ownership, on_arrival, allocate, usage, broker_name)
        except OSError as problem:
            ownership.release()
            raise StoreError(f"the store in {settings.directory} cannot be opened: {problem}") from problem
        except StoreError:
            ownership.release()
            raise

    def start(self) -> None:
        """Start timers and following dispatchers; needs a running loop."""
        self._threads.attach()
        self._log.keep_ahead = True
        self._log.allocate_ahead()
        self._cleaner.look()
        self._maintenance.start()
        for follower in self._followers.values():
            if not follower.is_alive():
                follower.start()

    async def stop(self) -> None:
        """Stop in good order: dispatch, flush and sync all, so that the next start trusts every file."""
        if self._closed:
            return
        self._closed = True
        self._maintenance.stop()
        for follower in self._followers.values():
            follower.end()
        for follower in self._followers.values():
            if follower.is_alive():
                await self._threads.run_and_wait(follower.join)
        complete = await self._flush_all()
        self._threads.close()
        self._log.drop_ahead()
        if complete:
            self._note_ends()
        self._close(complete)

    async def _flush_all(self) -> bool:
        """Bring everything to disk; False when that failed, so that the next start has to recover."""
        try:
            if self._flusher.failure is None:
                await self._threads.run_and_wait(lambda: self._log.sync_to(self._log.end))
                self._log.flushed = self._log.end
            self.dispatch()
            self._flusher.settle()
            self._flusher.give_up()
            await self._threads.run_and_wait(self._maintenance.sync_files)
        except OSError as problem:
            log.error("not everything is on disk; the next start recovers", problem=str(problem))
            self._flusher.give_up()
            return False
        return not self._appender.waiting and self._flusher.failure is None

    def _note_ends(self) -> None:
        self._checkpoint.log = self._checkpoint.queues = self._dispatch.done_timestamp
        self._checkpoint.save()
        ends = self._queues.ends(
            [file.base for file in self._log.files], self._log.end, self._checkpoint.encode()
        )
        self._layout.queue_ends.write_bytes(encode_ends(ends))

    def _close(self, complete: bool) -> None:
        self._queues.close()
        if self._index is not None:
            self._index.close()
        self._log.close()
        if complete:
            self._ownership.unmark()
        self._ownership.release()

    def abandon(self) -> None:
        """Let go of the directory as a killed process would: nothing is flushed, the next start recovers."""
        if not self._closed:
            self._closed = True
            self._maintenance.stop()
            for follower in self._followers.values():
                follower.end()
            self._threads.close()
            self._log.forget_ahead()
            self._close(complete=False)

    # Writing

    def put(self, incoming: Incoming) -> Stored:
        """Append one message.

        Raises `Refusal`: 13 for a message that is too large, 14 when the disk is full or the store stopped.
        Consumers see it after `dispatch`, once it is confirmed.
        """
        if self._cleaner.refusal or self._dispatch.failure or self._flusher.failure or self._closed:
            self._refuse()
        return self._appender.put(incoming)

    def put_batch(
        self, head: Incoming, batch: bytes | memoryview, extra_properties: bytes = b""
    ) -> StoredBatch:
        """Append the messages of a batch (wire.md §6) to the queue of `head`, all or none.

        `extra_properties`, in text form, go behind those of each message. Raises as `put`, and `BodyError`
        for a malformed batch.
        """
        if self._cleaner.refusal or self._dispatch.failure or self._flusher.failure or self._closed:
            self._refuse()
        return self._appender.put_batch(head, memoryview(batch), extra_properties)

    def make_room(self, size: int) -> None:
        """See that `size` bytes fit the current log file, so that what is stored next lies in one file.

        Raises as `put`; what is stored now, and takes no more than that, is refused for itself only.
        """
        if self._cleaner.refusal or self._dispatch.failure or self._flusher.failure or self._closed:
            self._refuse()
        self._log.room(size)

    def _refuse(self) -> None:
        self.dispatch()
        refusal = self.refusal()
        if refusal is not None:
            raise refusal

    def refusal(self) -> Refusal | None:
        """Why messages are refused at the moment; `None` when they are not."""
        if self._closed:
            return Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, "the store has stopped")
        return self._flusher.failure or self._cleaner.refusal or self._dispatch.failure

    @property
    def undispatched(self) -> bool:
        """Whether something was appended that queues and index do not list yet."""
        return bool(self._appender.waiting)

    def dispatch(self) -> None:
        """Bring queues and index up to the confirmed offset; tell about arrivals. Once a turn of the loop."""
        if self._appender.waiting:
            self._dispatch.run(self.confirmed())
            for follower in self._followers.values():
                follower.wake()

    def when_confirmed(self, end_offset: int, callback: Callable[[bool], object]) -> None:
        """Call `callback` when everything before `end_offset` is confirmed: at once where it is already.

        It gets True, or False when that took longer than `sync_flush_timeout_ms`.
        """
        self._flusher.when_confirmed(end_offset, callback)

    def delete_topic(self, topic: str) -> None:
        """Delete the queues of `topic`; its records stay in the log until that is cleaned."""
        self.dispatch()
        self._queues.remove_topic(topic)

    # Following

    def follow(self, dispatcher: Dispatcher) -> None:
        """Feed `dispatcher` from its own cursor on, in a thread of its own."""
        if dispatcher.name in self._followers:
            raise StoreError(f"two dispatchers are named {dispatcher.name!r}: give one another name")
        self._followers[dispatcher.name] = Follower(
            dispatcher, self._cursors, self._layout.commit_log, self._log.file_bytes, self._broker_name,
            lambda: self._log.start, self.confirmed,
        )  # fmt: skip
        if self._maintenance.running:
            self._followers[dispatcher.name].start()

    def lag(self, name: str) -> int:
        """How many bytes of the log the following dispatcher `name` has not taken in. Raises KeyError."""
        return self._followers[name].lag_bytes

    def lags(self, *, count: bool = True) -> list[Lag]:
        """How far each following dispatcher is behind; messages are counted when `count`."""
        return [self._lag(name, follower, count) for name, follower in self._followers.items()]

    def _lag(self, name: str, follower: Follower, count: bool) -> Lag:
        cursor = max(follower.cursor, self._log.start)
        size = max(0, self.confirmed() - cursor)
        if not size:
            return Lag(name, cursor, 0, 0, None)
        file_bytes = self._log.file_bytes
        # Where a file ends before its size, the next record begins the next file.
        record = self.record_at(cursor) or self.record_at(cursor - cursor % file_bytes + file_bytes)
        stored = None if record is None else decode_record(record).store_timestamp
        messages = messages_from(self._queues, cursor) if count else None
        return Lag(name, cursor, size, messages, stored)

    def _follower_cursors(self) -> dict[str, int]:
        return {name: follower.cursor for name, follower in self._followers.items()}

    def clean(self, *, any_hour: bool = False) -> list[Path]:
        """One clean-up pass now; the paths of the commit-log files that went."""
        return [file.path for file in self._maintenance.clean(any_hour=any_hour)]
