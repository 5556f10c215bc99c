"""Entering records of the log into queues and index once more, at a start (store.md §4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mqframe.core.codes import SysFlag
from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.storage.agreement import LIGHT_PREFIX
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.log_reading import LogReading, LogRuns
from mqframe.core.storage.log_scan import LogRecord
from mqframe.hooks.interfaces.key_index import TakesKeys
from mqframe.log import get_logger
from mqframe.store.queues.consume_queue import ENTRY, FILLER, FILLER_SIZE, ConsumeQueue, behind
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.upkeep.contradictions import Misplaced, Notes
from mqframe.store.upkeep.quarantine import LostEntries

log: Final = get_logger("store")
_KIND: Final = SysFlag.TRANSACTION_MASK
_LISTED: Final = (SysFlag.TRANSACTION_NONE, SysFlag.TRANSACTION_COMMIT)
_GATHERED_MAX: Final = 1 << 15
_RECORD_BYTES_MIN: Final = 91
_PLACE_BYTES: Final = 12
"""Of a queue entry: log offset and size."""
_FILLERS_AT_ONCE: Final = 1 << 16
_ENTRIES_AT_ONCE: Final = 4000
_UNKNOWN: Final = (1 << 63) - 1
"""The store time of the record before the first one that is taken."""


class _Taken(NamedTuple):
    """A record that was taken: its queue offset and entry; `covered`: the log offset behind it."""

    offset: int
    entry: bytes
    covered: int


class _Run:
    """What was taken of one queue.

    `begin`: the first offset; `first`: that of `entries`, which are not written yet; `following`: the offset
    behind them, -1 before any; `covered`: the log offset behind the last record; `odd`: the last record, when
    it did not follow one before it.
    """

    __slots__ = ("begin", "covered", "entries", "first", "following", "odd")

    def __init__(self) -> None:
        self.begin = self.first = self.following = -1
        self.entries: list[bytes] = []
        self.covered = 0
        self.odd: _Taken | None = None


class Redispatch:
    """Takes records in the order of the log; writes what queues and index do not hold yet.

    `levels`: delays, ms, as in `queue_code`; `reading`: what `ahead` asks.
    """

    def __init__(
        self,
        queues: QueueTable,
        index: TakesKeys | None,
        levels: tuple[int, ...],
        reading: type[LogReading] = LogReading,
    ) -> None:
        self._queues = queues
        self._deleted = queues.deleted
        self._reading = reading(index)
        self._apart = (SCHEDULE_TOPIC, *queues.deleted)
        self._index = index
        self._levels = levels
        self._runs: dict[tuple[str, int], _Run] = {}
        self._gathered = 0
        self._keys: list[tuple[int, tuple[str, ...]]] = []
        self._keys_topic, self._keys_time = "", 0
        self._stored_before = _UNKNOWN
        self.gaps: list[tuple[int, LostEntries]] = []
        """Queue offsets of which the log held no record, each with the log offset of the record behind it."""
        self.notes = Notes()
        """What was left out, and what was replaced that may have been right."""

    def ahead(self, view: memoryview, at: int, base: int, crc: bool) -> LogRuns | None:
        """What is said of the records that follow, where all of them go on in their queues."""
        said = self._reading.read(view, at, base, self._apart, crc=crc)
        for key, first, _, _ in () if said is None else said.runs:
            run = self._runs.get(key)
            if run is None or run.odd is not None or run.following != first:
                return None
        return said

    def take(self, records: Sequence[LogRecord], said: LogRuns | None = None) -> None:
        """Enter `records`, neighbours in the log, sooner or later; `finish` is when. Raises OSError.

        `said`: by `ahead` just now, and entered in their place.
        """
        if said is None:
            self._take_records(records)
        else:
            self._take_runs(said)
        self._gathered += len(records) if said is None else said.records
        if self._gathered >= _GATHERED_MAX:
            self._write_gathered()

    def _take_runs(self, said: LogRuns) -> None:
        for key, first, entries, covered in said.runs:
            run = self._runs[key]
            run.entries.append(entries)
            run.following, run.covered = first + len(entries) // ENTRY.size, covered
        self._stored_before = said.stored
        if self._index is not None and said.keys:
            self._write_keys()
            self._index.add("", said.keys, said.stored)

    def _take_records(self, records: Sequence[LogRecord]) -> None:
        runs, levels, pack = self._runs, self._levels, ENTRY.pack
        deleted = self._deleted if self._deleted else None
        stored = self._stored_before
        for record in records:
            before = stored
            physical, size, topic, queue_id, offset, flag, stored, properties = record
            if deleted is not None and deleted.owns(record):
                continue
            # What `has_queue_entry` asks; a queue that is known has a name that can be kept.
            run = runs.get((topic, queue_id)) if offset >= 0 and flag & _KIND in _LISTED else None
            if run is None:
                if not record.has_queue_entry:
                    if flag & _KIND in _LISTED:
                        self.notes.misplace(Misplaced(physical, topic, queue_id, offset))
                    continue
                run = runs[topic, queue_id] = _Run()
                known = self._queues.get((topic, queue_id))
                self.notes.ends[topic, queue_id] = 0 if known is None else known.end
            code = queue_code(topic, properties, stored, levels)
            if topic == SCHEDULE_TOPIC and stored <= before:
                code = self._earlier_noted(record, code)
            entry = pack(physical, size, code)
            if offset == run.following and run.odd is None:
                run.entries.append(entry)
                run.following = offset + 1
                run.covered = physical + size
            else:
                self._take_odd(
                    self._queues.queue(topic, queue_id), run, _Taken(offset, entry, physical + size)
                )
        self._stored_before = stored
        if self._index is not None:
            self._take_keys(records, self._index.repeat_from)

    def _take_keys(self, records: Sequence[LogRecord], repeat_from: int) -> None:
        note = self._keys.append
        for record in records:
            physical, _, topic, _, _, flag, stored, properties = record
            if physical < repeat_from or flag & _KIND == SysFlag.TRANSACTION_ROLLBACK:
                continue
            keys = index_keys(properties)
            if keys:
                if stored != self._keys_time or topic != self._keys_topic:
                    self._write_keys()
                    self._keys_topic, self._keys_time = topic, stored
                    note = self._keys.append
                note((physical, keys))

    def _earlier_noted(self, record: LogRecord, code: int) -> int:
        """The delivery time, ms, of a delayed message whose store time did not grow: `code`, or one before.

        Store times never go back. After the clock was set back they stand still, at a time to come, and only
        the entry knows by what the clock showed when the message is due, see `Appender.describe`.
        """
        noted = self._queues.queue(record.topic, record.queue_id).entry(record.queue_offset)
        if noted is None or noted[:2] != (record.physical_offset, record.size):
            return code
        return noted[2] if 0 < noted[2] < code else code

    def _take_odd(self, queue: ConsumeQueue, run: _Run, taken: _Taken) -> None:
        """Take a record that does not follow, as the first of a queue, or that comes after such a one.

        One record alone may say a wrong offset, since no CRC guards it. Where the next one follows it, the
        queue really goes on there: behind a gap, or from its beginning when its topic was made anew. Where
        the next one lies behind another gap, too: had the first one said too much, the next would say less.
        """
        odd, run.odd = run.odd, None
        if odd is None and run.following < 0 and _is_listed(queue, taken):
            self._go_on_at(queue, run, taken)
            return
        if odd is not None and (
            taken.offset == odd.offset + 1
            or (
                taken.offset > odd.offset > run.following
                and (run.following >= 0 or _may_follow(taken, odd.offset, odd.covered))
            )
        ):
            self._go_on_at(queue, run, odd)
        elif odd is not None:
            self._leave_out(queue, odd)
        if taken.offset == run.following:
            run.entries.append(taken.entry)
            run.following += 1
            run.covered = taken.covered
        else:
            run.odd = taken

    def _go_on_at(self, queue: ConsumeQueue, run: _Run, odd: _Taken) -> None:
        offset, entry, covered = odd
        # Before the first one counts what the queue holds, if it does. A log may be younger than its queues.
        after = (run.following, run.covered) if run.following >= 0 else (queue.end, 0)
        known = run.following >= 0 or bool(queue.bases)
        if offset < 0 or (known and not _may_follow(odd, *after)):
            self._leave_out(queue, odd)
            return
        if run.following < 0:
            run.begin = run.following = offset
        self._write(queue, run)
        if 0 < run.following < offset:
            self.notes.gap(queue, run.following, offset)
            physical: int = ENTRY.unpack(entry)[0]
            self.gaps.append((physical, LostEntries(queue.topic, queue.queue_id, run.following, offset)))
        if offset < run.following:
            self.notes.keep(queue, offset, queue.end)
            queue.cut(offset, behind(queue.entry(offset - 1)) if offset else 0)
            run.begin = min(run.begin, offset)
        for at in range(run.following, offset, _FILLERS_AT_ONCE):
            # What lay between is lost in the log; what stood there before must not show.
            queue.enter(at, FILLER * min(_FILLERS_AT_ONCE, offset - at), run.covered)
        run.first, run.following, run.entries, run.covered = offset, offset + 1, [entry], covered

    def _leave_out(self, queue: ConsumeQueue, odd: _Taken) -> None:
        physical: int = ENTRY.unpack(odd.entry)[0]
        self.notes.misplace(Misplaced(physical, *queue.key, odd.offset))

    def _write(self, queue: ConsumeQueue, run: _Run) -> None:
        if run.entries:
            entries = b"".join(run.entries)
            self.notes.keep(queue, run.first, run.following, entries)
            if queue.enter(run.first, entries, run.covered):
                self._queues.dirty.add(queue)
        run.first = run.following
        run.entries = []

    def _write_gathered(self) -> None:
        for key, run in self._runs.items():
            if run.entries:
                self._write(self._queues.queue(*key), run)
        self._write_keys()
        if self._index is not None:
            self._index.write()
        self._gathered = 0

    def _write_keys(self) -> None:
        if self._keys and self._index is not None:
            self._index.add(self._keys_topic, self._keys, self._keys_time)
            self._keys = []

    def finish(self, log_start: int, whole: bool) -> None:
        """Write what is left. `whole`: all records from `log_start` on were taken. Raises OSError."""
        self._write_gathered()
        for key, run in self._runs.items():
            queue = self._queues.queue(*key)
            if run.odd is not None and (run.odd.offset > run.following or run.odd.offset == 0):
                self._go_on_at(queue, run, run.odd)
            elif run.odd is not None:
                self._leave_out(queue, run.odd)
            if run.following < 0:
                continue
            self._write(queue, run)
            if queue.end > run.following:
                self.notes.keep(queue, run.following, queue.end)
                queue.cut(run.following, run.covered)
                self._queues.dirty.add(queue)
            queue.covered = run.covered
            if whole:
                self._clear_before(queue, run.begin, log_start)
        if whole:
            self._cut_untaken(log_start)

    def _clear_before(self, queue: ConsumeQueue, begin: int, log_start: int) -> None:
        """Fillers before `begin`, where the log's first record of the queue belongs.

        There no entry points into the log, and none is empty: readers take that for the end.
        """
        offset = queue.bases[0] // ENTRY.size if queue.bases else begin
        while offset < begin:
            raw = queue.read(offset, min(begin - offset, _ENTRIES_AT_ONCE))
            if not raw:
                return
            for number, (physical, size, _) in enumerate(ENTRY.iter_unpack(raw)):
                if size <= 0 or (physical >= log_start and size != FILLER_SIZE):
                    self.notes.keep(queue, offset + number, offset + number + 1)
                    queue.enter(offset + number, FILLER, queue.covered)
            offset += len(raw) // ENTRY.size

    def _cut_untaken(self, log_start: int) -> None:
        """Queues of which the log holds nothing have no entry that points into it."""
        for queue in self._queues:
            light = queue.topic.startswith(LIGHT_PREFIX)  # the log does not say what these list
            if queue.key not in self._runs and queue.covered > log_start and not light:
                end = queue.first_from(log_start, 0)
                self.notes.keep(queue, end, queue.end)
                queue.cut(end, behind(queue.entry(end - 1) if end else None))
                self._queues.dirty.add(queue)


def _is_listed(queue: ConsumeQueue, taken: _Taken) -> bool:
    """Whether `queue` has this record in its place already, whatever it says of its tag."""
    return queue.read(taken.offset, 1)[:_PLACE_BYTES] == taken.entry[:_PLACE_BYTES]


def _may_follow(taken: _Taken, after: int, covered: int) -> bool:
    """Whether so many records fit between that `taken` has its queue offset.

    `covered`: the log offset behind the record before queue offset `after`.
    """
    return taken.offset - after <= (taken.covered - covered) // _RECORD_BYTES_MIN
