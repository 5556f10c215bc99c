"""Records of a master's log, appended to its copy, and left to wait until queues list them."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import SysFlag
from mqframe.core.errors import StoreError
from mqframe.core.messages.names import SCHEDULE_TOPIC, is_queue_place
from mqframe.core.storage.log_reading import LogReading, LogRuns
from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.appending.appender import Appender, Copied
from mqframe.store.appending.inline_dispatch import InlineDispatch
from mqframe.store.appending.refusals import WriteRefusals
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import ENTRY, ConsumeQueue, behind
from mqframe_replication.store.copied import CopiedRuns
from mqframe_replication.store.log_copy import LogCopy

_KIND: Final = SysFlag.TRANSACTION_MASK


class CopyAppender:
    """Appends what the master's log holds, as it is. `reading`: another way to read its records."""

    def __init__(
        self,
        files: MessageFiles,
        appender: Appender,
        dispatch: InlineDispatch,
        refusals: WriteRefusals,
        reading: LogReading,
    ) -> None:
        self._log, self._queues, _, _ = files
        self._appender = appender
        self._dispatch = dispatch
        self._refusals = refusals
        self._reading = reading
        self._copy = LogCopy(files.log, self._ahead)
        self._broken: StoreError | None = None

    def append(self, offset: int, *parts: bytes | memoryview) -> None:
        """Append `parts`, which lie from log offset `offset` of the master on; an empty store begins there.

        Consumers see it after a dispatch. Raises `StoreError` where it does not follow on what is here, or is
        no sound part of a log, and then nothing is overwritten; `StoreUnavailable` when the disk is full.
        """
        refusal = self._broken or self._refusals.now()
        if refusal is not None:
            raise refusal
        if not self._log.files:
            self._log.begin_at(offset)
        if offset != self._copy.received:
            raise StoreError(
                f"log offset {offset} does not follow on {self._copy.received}, where this log ends"
            )
        for records in self._copy.take(*parts):
            self._enter_runs(records) if isinstance(records, LogRuns) else self._enter(records)

    def forget_partial(self) -> None:
        """Drop what has come of a record that is not whole: what follows the log's end is taken next."""
        self._copy.forget()

    def _ahead(self, view: memoryview, at: int, base: int) -> LogRuns | None:
        """What is said of the records that follow, where all of them go on in their queues."""
        deleted, get = self._queues.deleted, self._queues.get
        apart = (SCHEDULE_TOPIC, *(deleted if base + at < deleted.newest else ()))
        said = self._reading.read(view, at, base, apart, crc=True)
        for key, first, _, _ in () if said is None else said.runs:
            queue = get(key)
            follows = is_queue_place(*key) and not first if queue is None else queue.next_offset == first
            if not follows:
                return None
        return said

    def _enter_runs(self, said: LogRuns) -> None:
        queues = {key: self._queues.queue(*key) for key, _, _, _ in said.runs}
        for key, first, entries, _ in said.runs:
            queues[key].next_offset = first + len(entries) // ENTRY.size
        self._appender.store_time = max(self._appender.store_time, said.newest)
        self._appender.waiting.append(CopiedRuns.of(said, queues, self._log))

    def _enter(self, records: list[LogRecord]) -> None:
        get, deleted_before = self._queues.get, self._queues.deleted.newest
        queues: list[ConsumeQueue | None] = []
        note, begin = queues.append, 0
        for number, record in enumerate(records):
            physical, _, topic, queue_id, offset, flag, _, _ = record
            queue = get((topic, queue_id))
            if queue is None or offset != queue.next_offset or flag & _KIND or physical < deleted_before:
                queue = self._queue_of(record)
                if queue is not None and offset != queue.next_offset:
                    self._wait(records[begin:number], queues[begin:])
                    begin = number
                    self._go_on_at(queue, offset)
            if queue is not None:
                queue.next_offset = offset + 1
            note(queue)
        self._wait(records[begin:], queues[begin:])

    def _queue_of(self, record: LogRecord) -> ConsumeQueue | None:
        if not record.has_queue_entry or self._queues.deleted.owns(record):
            return None
        return self._queues.queue(record.topic, record.queue_id)

    def _wait(self, records: list[LogRecord], queues: list[ConsumeQueue | None]) -> None:
        """Let `records` wait for dispatch, those of the same number in `queues`."""
        if records:
            appender = self._appender
            appender.store_time = max(appender.store_time, *[record[6] for record in records])
            appender.waiting.append(Copied(records[-1].end, records, queues))

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
