"""The store of a slave: a copy of its master's log, with queues and index of its own."""

from __future__ import annotations

from typing import Any, NoReturn

from mqframe.core.errors import StoreError, StoreUnavailable
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.store.appending.appender import Placed
from mqframe.store.appending.log_copy import LogCopy
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.queues.consume_queue import FILLER_SIZE, ConsumeQueue, behind


class ReplicaStore(MessageStore):
    """Takes what the master's log holds, and no messages of its own."""

    def __init__(self, *opening: Any) -> None:
        super().__init__(*opening)
        self._copy = LogCopy(self._log)
        self._broken: StoreError | None = None

    def put(self, incoming: Incoming) -> Stored:
        """Raises `StoreUnavailable`."""
        self._refuse_own()

    def put_batch(
        self, head: Incoming, batch: bytes | memoryview, extra_properties: bytes = b""
    ) -> StoredBatch:
        """Raises `StoreUnavailable`."""
        self._refuse_own()

    def make_room(self, size: int) -> None:
        """Raises `StoreUnavailable`."""
        self._refuse_own()

    def _refuse_own(self) -> NoReturn:
        raise StoreUnavailable(
            "this broker is a slave and stores only what its master does: send to the master"
        )

    def append_copy(self, offset: int, data: bytes) -> None:
        """Append `data`, which lies at log offset `offset` of the master; an empty store begins there.

        Consumers see it after `dispatch`. Raises `StoreError` where it does not follow on what is here, or is
        no sound part of a log, and then nothing is overwritten; `StoreUnavailable` when the disk is full.
        """
        refusal = self._broken or self.refusal()
        if refusal is not None:
            raise refusal
        if not self._log.files:
            self._log.begin_at(offset)
        if offset != self._copy.received:
            raise StoreError(
                f"log offset {offset} does not follow on {self._copy.received}, where this log ends"
            )
        for record in self._copy.take(data):
            self._enter(record)

    def forget_partial(self) -> None:
        """Drop what has come of a record that is not whole: what follows `max_offset` is taken next."""
        self._copy.forget()

    def last_record(self) -> tuple[int, bytes] | None:
        """Log offset and bytes of the last record that a queue lists; `None` where there is none.

        For comparison with the master's.
        """
        self.dispatch()
        entries = [entry for queue in self._queues if (entry := queue.entry(queue.end - 1)) is not None]
        physical, size, _ = max((each for each in entries if each[1] != FILLER_SIZE), default=(0, 0, 0))
        raw = self._log.slice(physical, size) if size else None
        return None if raw is None else (physical, bytes(raw))

    def _enter(self, record: LogRecord) -> None:
        queue = None
        if record.has_queue_entry and not self._queues.deleted.owns(record):
            queue = self._queues.queue(record.topic, record.queue_id)
            if record.queue_offset != queue.next_offset:
                self._go_on_at(queue, record.queue_offset)
            queue.next_offset = record.queue_offset + 1
        appender = self._appender
        appender.store_time = max(appender.store_time, record.store_timestamp)
        appender.waiting.append(
            Placed(
                record.end,
                queue,
                record.queue_offset if queue is not None else 0,
                record.physical_offset,
                record.size,
                record.topic,
                record.properties,
                record.is_indexed,
                record.store_timestamp,
            )
        )

    def _go_on_at(self, queue: ConsumeQueue, offset: int) -> None:
        """Let `queue` go on at `offset`: behind a gap, or from its beginning when its topic was made anew."""
        self._dispatch.run(self._log.end)
        if self._appender.waiting:
            # What is copied by now is not listed, and only a start enters it in its order.
            self._broken = StoreError(
                "the queues of this slave cannot be written: see the log, mend the disk, and start it again"
            )
            raise self._broken
        if offset < queue.end:
            queue.cut(offset, behind(queue.entry(offset - 1)) if offset else 0)
