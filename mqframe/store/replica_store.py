"""The store of a slave: a copy of its master's log, with queues and index of its own."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, NoReturn

from mqframe.core.codes import SysFlag
from mqframe.core.errors import StoreError, StoreUnavailable
from mqframe.core.os_errors import told
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.net.clock import LoopClock, Timer
from mqframe.replication.confirmed import Replicas
from mqframe.store.appending.appender import Copied
from mqframe.store.appending.copied import CopiedDispatch
from mqframe.store.appending.inline_dispatch import OnArrival
from mqframe.store.appending.log_copy import LogCopy
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.queues.consume_queue import FILLER_SIZE, ConsumeQueue, behind
from mqframe.store.recovered_store import RecoveredStore
from mqframe.store.upkeep.putting_back import PuttingBack
from mqframe.store.upkeep.quarantine import Quarantine, Report

DISPATCH_SECONDS: Final = 0.005
_KIND: Final = SysFlag.TRANSACTION_MASK


class ReplicaStore(MessageStore):
    """Takes what the master's log holds, and no messages of its own.

    `kept_from`: log offset of the oldest byte that the master keeps, as it said last; 0 before.
    """

    is_copy = True

    def __init__(
        self,
        recovered: RecoveredStore,
        clock: LoopClock,
        on_arrival: OnArrival | None = None,
        replicas: Replicas | None = None,
    ) -> None:
        super().__init__(recovered, clock, on_arrival, replicas)
        self._copy = LogCopy(self._log)
        self._broken: StoreError | None = None
        self._dispatching: Timer | None = None
        levels = self._queues.delays
        self._dispatch.describe_copied = CopiedDispatch(levels).describe
        quarantine, now_ms = Quarantine(self._layout.quarantine), self._clock.now_ms
        self._putting_back = PuttingBack(self._log, self._queues, quarantine, levels, now_ms)
        self.kept_from = 0
        self._known_aside = -1
        self._missing: list[Report] = []

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

    def append_copy(self, offset: int, *parts: bytes | memoryview) -> None:
        """Append `parts`, which lie from log offset `offset` of the master on; an empty store begins there.

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
        for records in self._copy.take(*parts):
            self._enter(records)

    def dispatch_soon(self) -> None:
        """Have `dispatch` run within `DISPATCH_SECONDS`: many records cost it little more than one."""
        if self._dispatching is None:
            self._dispatching = self._clock.call_later(DISPATCH_SECONDS, self._dispatch_gathered)

    def _dispatch_gathered(self) -> None:
        self._dispatching = None
        self.dispatch()

    def _end(self) -> None:
        if self._dispatching is not None:
            self._dispatching.cancel()
        super()._end()

    def forget_partial(self) -> None:
        """Drop what has come of a record that is not whole: what follows `max_offset` is taken next."""
        self._copy.forget()

    def missing(self) -> list[Report]:
        """What was taken out of the middle of this log, by log offset, and was not put back since."""
        if len(self._set_aside) != self._known_aside:
            self._known_aside = len(self._set_aside)
            self._missing = sorted(self._set_aside, key=attrgetter("start"))
        if self._missing:
            self._missing = [each for each in self._missing if self._putting_back.is_missing(each)]
        return self._missing

    def needed(self) -> list[Report]:
        """What of `missing` the master has."""
        return [report for report in self.missing() if report.end > self.kept_from]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing that the master has."""
        return not (self.missing() and self.needed())

    def put_back(self, report: Report, data: bytes) -> None:
        """Write `data`, what the master has there, into the stretch that `report` is about.

        Raises `StoreError` for what is not whole records, or when the disk fails.
        """
        self.dispatch()
        try:
            done = self._putting_back.put_back(report, data)
        except OSError as problem:
            raise StoreError(f"what was fetched again cannot be written: {told(problem)}") from problem
        self._set_aside = [done if each is report else each for each in self._set_aside]
        self._known_aside = -1

    def last_record(self) -> tuple[int, bytes] | None:
        """Log offset and bytes of the last record that is not missing; `None` where there is none.

        For comparison with the master's.
        """
        missing = {report.start for report in self.missing()}
        for file in reversed(self._log.files):
            at, found = self._listed_last(file.base), None
            while at < file.base + file.size and (there := self._record(at)) is not None:
                at = there[0].end
                found = found if there[0].physical_offset in missing else there
            if found is not None:
                return found[0].physical_offset, bytes(found[1])
        return None

    def _listed_last(self, base: int) -> int:
        """Where the last record begins that queues list in the log file at `base`; `base` where none is."""
        last = (queue.entry(queue.end - 1) for queue in self._queues)
        places = (entry[0] for entry in last if entry is not None and entry[1] != FILLER_SIZE)
        place = max((each for each in places if base <= each < base + self._log.file_bytes), default=base)
        return base if self._record(place) is None else place

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
