"""Entering records of the log into queues and index once more, at a start (store.md §4)."""

from __future__ import annotations

from typing import Final

from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.log_scan import LogRecord
from mqframe.log import get_logger
from mqframe.store.index.key_index import KeyIndex
from mqframe.store.queues.consume_queue import ENTRY, FILLER, FILLER_SIZE, ConsumeQueue, behind
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.upkeep.quarantine import LostEntries

log: Final = get_logger("store")
_GATHERED_MAX: Final = 1 << 15
_RECORD_BYTES_MIN: Final = 91
_FILLERS_AT_ONCE: Final = 1 << 16
_ENTRIES_AT_ONCE: Final = 4000
_UNKNOWN: Final = (1 << 63) - 1
"""The store time of the record before the first one that is taken."""


class _Run:
    """What was taken of one queue.

    `begin`: the first offset; `first`: that of `entries`, which are not written yet; `following`: the offset
    behind them; `covered`: the log offset behind the last record; `odd`: the last record, when it did not
    follow the one before it: offset, entry, and the log offset behind it.
    """

    __slots__ = ("begin", "covered", "entries", "first", "following", "odd")

    def __init__(self, first: int) -> None:
        self.begin = self.first = self.following = first
        self.entries: list[bytes] = []
        self.covered = 0
        self.odd: tuple[int, bytes, int] | None = None


class Redispatch:
    """Takes records in the order of the log; writes what queues and index do not hold yet.

    `levels`: delays, ms, as in `queue_code`.
    """

    def __init__(self, queues: QueueTable, index: KeyIndex | None, levels: tuple[int, ...]) -> None:
        self._queues = queues
        self._deleted = queues.deleted
        self._index = index
        self._levels = levels
        self._runs: dict[tuple[str, int], _Run] = {}
        self._gathered = 0
        self._keys: list[tuple[int, tuple[str, ...]]] = []
        self._keys_topic, self._keys_time = "", 0
        self._stored_before = _UNKNOWN
        self.gaps: list[tuple[int, LostEntries]] = []
        """Queue offsets of which the log held no record, each with the log offset of the record behind it."""
        self.mended = 0
        """Queue entries that were missing or wrong, as whole runs of neighbours count."""

    def take(self, record: LogRecord) -> None:
        """Enter `record`, sooner or later; `finish` is when. Raises OSError."""
        physical, size, topic, queue_id, offset, _, stored, properties = record
        if record.has_queue_entry and not (self._deleted and self._deleted.owns(record)):
            code = queue_code(topic, properties, stored, self._levels)
            if topic == SCHEDULE_TOPIC and stored <= self._stored_before:
                code = self._earlier_noted(record, code)
            entry = ENTRY.pack(physical, size, code)
            run = self._runs.get((topic, queue_id))
            if run is None:
                run = self._runs[topic, queue_id] = _Run(offset)
            if offset != run.following or run.odd is not None:
                self._take_odd(self._queues.queue(topic, queue_id), run, (offset, entry, physical + size))
            else:
                run.entries.append(entry)
                run.following = offset + 1
                run.covered = physical + size
        if self._index is not None and physical >= self._index.repeat_from and record.is_indexed:
            keys = index_keys(properties)
            if keys:
                if stored != self._keys_time or topic != self._keys_topic:
                    self._write_keys()
                    self._keys_topic, self._keys_time = topic, stored
                self._keys.append((physical, keys))
        self._stored_before = stored
        self._gathered += 1
        if self._gathered >= _GATHERED_MAX:
            self._write_gathered()

    def _earlier_noted(self, record: LogRecord, code: int) -> int:
        """The delivery time, ms, of a delayed message whose store time did not grow: `code`, or one before.

        Store times never go back. After the clock was set back they stand still, at a time to come, and only
        the entry knows by what the clock showed when the message is due, see `Appender.describe`.
        """
        noted = self._queues.queue(record.topic, record.queue_id).entry(record.queue_offset)
        if noted is None or noted[:2] != (record.physical_offset, record.size):
            return code
        return noted[2] if 0 < noted[2] < code else code

    def _take_odd(self, queue: ConsumeQueue, run: _Run, taken: tuple[int, bytes, int]) -> None:
        """Take a record that does not follow, or that comes after such a one.

        One record alone may say a wrong offset, since no CRC guards it. Where the next one follows it, the
        queue really goes on there: behind a gap, or from its beginning when its topic was made anew. Where
        the next one lies behind another gap, too: had the first one said too much, the next would say less.
        """
        odd, run.odd = run.odd, None
        if odd is not None and (taken[0] == odd[0] + 1 or taken[0] > odd[0] > run.following):
            self._go_on_at(queue, run, odd)
        elif odd is not None:
            log.error("a record names a wrong queue offset; left out", queue=queue.key, offset=odd[0])
        if taken[0] == run.following:
            run.entries.append(taken[1])
            run.following += 1
            run.covered = taken[2]
        else:
            run.odd = taken

    def _go_on_at(self, queue: ConsumeQueue, run: _Run, odd: tuple[int, bytes, int]) -> None:
        offset, entry, covered = odd
        if offset < 0 or offset - run.following > (covered - run.covered) // _RECORD_BYTES_MIN:
            log.error("a record names an impossible queue offset", queue=queue.key, offset=offset)
            return
        self._write(queue, run)
        if 0 < run.following < offset:
            physical: int = ENTRY.unpack(entry)[0]
            self.gaps.append((physical, LostEntries(queue.topic, queue.queue_id, run.following, offset)))
        if offset < run.following:
            queue.cut(offset, behind(queue.entry(offset - 1)) if offset else 0)
            run.begin = min(run.begin, offset)
        for at in range(run.following, offset, _FILLERS_AT_ONCE):
            # What lay between is lost in the log; what stood there before must not show.
            queue.enter(at, FILLER * min(_FILLERS_AT_ONCE, offset - at), run.covered)
        run.first, run.following, run.entries, run.covered = offset, offset + 1, [entry], covered

    def _write(self, queue: ConsumeQueue, run: _Run) -> None:
        if run.entries and queue.enter(run.first, b"".join(run.entries), run.covered):
            self.mended += len(run.entries)
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
            if run.odd is not None and (run.odd[0] > run.following or run.odd[0] == 0):
                self._go_on_at(queue, run, run.odd)
            self._write(queue, run)
            if queue.end > run.following:
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
                    queue.enter(offset + number, FILLER, queue.covered)
            offset += len(raw) // ENTRY.size

    def _cut_untaken(self, log_start: int) -> None:
        """Queues of which the log holds nothing have no entry that points into it."""
        for queue in self._queues:
            if queue.key not in self._runs and queue.covered > log_start:
                end = queue.first_from(log_start, 0)
                queue.cut(end, behind(queue.entry(end - 1) if end else None))
                self._queues.dirty.add(queue)
