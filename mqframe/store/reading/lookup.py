"""Reading: queues by offset and by time, the log by offset, the index by key."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from typing import Final

from mqframe.core.dispatch_facts import index_keys
from mqframe.core.frame import Body
from mqframe.core.log_scan import LogRecord, read_record
from mqframe.core.properties import UNIQUE_KEY, find_property
from mqframe.core.record import HEAD
from mqframe.core.record_filter import RecordFilter
from mqframe.store.choosing import Chosen, Fetch, Stretch, choose, read_window, windows
from mqframe.store.commit_log import CommitLog
from mqframe.store.consume_queue import ConsumeQueue
from mqframe.store.incoming import Found, GetStatus, QueryFound
from mqframe.store.index import KeyIndex
from mqframe.store.queue_table import QueueTable

_STORE_TIME_AT: Final = 56
_QUERY_MAX: Final = 64
_PARTS_JOINED_FROM: Final = 32


class _WaitsForDisk(Exception):
    """Memory does not hold what is to be read."""


class Lookup:
    """Reads of one store. `scan_entries_max`: queue entries looked at for one pull."""

    def __init__(
        self, log: CommitLog, queues: QueueTable, index: KeyIndex | None, scan_entries_max: int
    ) -> None:
        self._log = log
        self._queues = queues
        self._index = index
        self._scan_entries_max = scan_entries_max

    def outside(self, queue: ConsumeQueue | None, offset: int) -> Found | None:
        """The answer for an `offset` at which `queue` holds no record; `None` when it does."""
        if queue is None:
            return Found(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        low, high = queue.min_offset(self._log.start), queue.end
        if high == 0:
            return Found(GetStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
        if offset < low:
            return Found(GetStatus.OFFSET_TOO_SMALL, low, low, high)
        if offset == high:
            return Found(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:
            return Found(GetStatus.OFFSET_OVERFLOW_BADLY, high, low, high)
        return None

    def is_further_back(self, topic: str, queue_id: int, offset: int, distance: int) -> bool:
        """Whether the record at queue offset `offset` lies over `distance` bytes before the log's end."""
        if self._log.end - self._log.start <= distance:
            return False
        queue = self._queues.get((topic, queue_id))
        if queue is None or offset >= queue.end:
            return False
        entry = queue.entry(offset)
        return entry is not None and self._log.end - entry[0] > distance

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        codes: Container[int] | None,
        bytes_max: int,
        mapped_from: int,
        records: RecordFilter | None = None,
    ) -> Found | None:
        """Up to `max_messages` records from queue offset `offset` on (GetMessageStatus.java).

        Records from log offset `mapped_from` on are slices of the map, older ones are copied.
        `None`: the disk would have to be waited for (`get_elsewhere` does).
        """
        queue = self._queues.get((topic, queue_id))
        nothing = self.outside(queue, offset)
        if nothing is not None or queue is None:
            return nothing or Found(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        entries = queue.read(offset, self._entries_to_scan(max_messages, codes, records))
        low, high = queue.min_offset(self._log.start), queue.end
        if not entries:
            return Found(GetStatus.OFFSET_FOUND_NULL, self._next_file(offset), low, high)
        fetch: Fetch | None = None
        if records is not None:
            fetch = self._fetching(mapped_from)
        try:
            chosen = self._choose(entries, offset, max_messages, codes, bytes_max, records, fetch)
            parts = self._parts(chosen.stretches, mapped_from)
        except _WaitsForDisk:
            return None
        return Found(chosen.status, chosen.following, low, high, parts, chosen.found, chosen.size_bytes)

    def _choose(
        self,
        entries: bytes,
        offset: int,
        max_messages: int,
        codes: Container[int] | None,
        bytes_max: int,
        records: RecordFilter | None,
        fetch: Fetch | None,
    ) -> Chosen:
        start, file_bytes = self._log.start, self._log.file_bytes
        return choose(entries, offset, max_messages, codes, bytes_max, start, file_bytes, records, fetch)

    def _parts(self, stretches: list[Stretch], mapped_from: int) -> list[Body]:
        """Stretches from log offset `mapped_from` on as slices of the map, older ones copied.

        Raises `_WaitsForDisk`.
        """
        if not stretches:
            return []
        parts: list[Body] = []
        if stretches[0][0] < mapped_from:
            older = [stretch for stretch in stretches if stretch[0] < mapped_from]
            stretches = stretches[len(older) :]
            for window in windows(older, self._log.start, self._log.file_bytes):
                parts += read_window(window, self._copy_now) or ()
        base = stop = -1
        view = memoryview(b"")
        for start, end in stretches:
            if not base <= start < stop:
                file = self._log.file_at(start)
                if file is None:
                    continue
                view, base, stop = file.view, file.base, file.base + file.size
            parts.append(view[start - base : end - base])
        return parts

    def _entries_to_scan(
        self, max_messages: int, codes: Container[int] | None, records: RecordFilter | None
    ) -> int:
        if codes is None and records is None:
            return max_messages
        if records is not None:
            return self._scan_entries_max  # each costs what a filter costs, however many are asked for
        return max(self._scan_entries_max, max_messages)

    def _fetching(self, mapped_from: int) -> Fetch:
        """Gives records from log offset `mapped_from` on as slices of the map, older ones copied."""
        log = self._log
        view, base, stop = memoryview(b""), 0, 0  # the file of the last record, which most often has the next

        def fetch(start: int, size: int) -> Body | None:
            nonlocal view, base, stop
            if start < mapped_from:
                return self._copy_now(start, size)
            if not base <= start < stop:
                file = log.file_at(start)
                if file is None or start >= log.end:
                    return None
                view, base, stop = file.view, file.base, min(file.base + file.size, log.end)
            return view[start - base : start - base + size]

        return fetch

    def _copy_now(self, start: int, size: int) -> Body | None:
        file = self._log.file_at(start)
        if file is None:
            return None
        read = file.read_now(start - file.base, size)
        if read is None:
            raise _WaitsForDisk
        return read

    def _next_file(self, offset: int) -> int:
        per_file = self._queues.entries_per_file
        return offset - offset % per_file + per_file

    def get_elsewhere(
        self,
        queue: ConsumeQueue,
        offset: int,
        max_messages: int,
        codes: Container[int] | None,
        bytes_max: int,
        low: int,
        records: RecordFilter | None = None,
    ) -> Found:
        """As `get`, in a thread that does not own the store: reads files by descriptors of its own."""
        entries = queue.read_elsewhere(offset, self._entries_to_scan(max_messages, codes, records))
        if not entries:
            return Found(GetStatus.OFFSET_FOUND_NULL, self._next_file(offset), low, queue.end)
        with _OwnFiles(self._log, self._base_of) as files:
            chosen = self._choose(entries, offset, max_messages, codes, bytes_max, records, files.fetch)
            parts: list[Body] = []
            for window in windows(chosen.stretches, self._log.start, self._log.file_bytes):
                read = read_window(window, files.fetch)
                if read is None:
                    return Found(GetStatus.MESSAGE_WAS_REMOVING, chosen.following, low, queue.end)
                parts += read
        if len(parts) > _PARTS_JOINED_FROM:
            parts = [b"".join(parts)]  # here rather than on the loop
        return Found(chosen.status, chosen.following, low, queue.end, parts, chosen.found, chosen.size_bytes)

    def records(self, wanted: Sequence[tuple[int, int]], mapped_from: int) -> list[Body | None] | None:
        """The records at these (log offset, size), `None` for one that is not there (any more).

        `None` for all: the disk would have to be waited for (`records_elsewhere` does).
        """
        found: list[Body | None] = []
        for start, size in wanted:
            if start >= mapped_from:
                found.append(self._log.slice(start, size))
                continue
            file = self._log.file_at(start)
            if file is None or start + size > self._log.end:
                found.append(None)
                continue
            read = file.read_now(start - file.base, size)
            if read is None:
                return None
            found.append(read)
        return found

    def records_elsewhere(self, wanted: Sequence[tuple[int, int]]) -> list[Body | None]:
        """As `records`, in a thread that does not own the store."""
        log = self._log
        with _OwnFiles(log, self._base_of) as files:
            return [
                files.fetch(start, size) if log.start <= start and start + size <= log.end else None
                for start, size in wanted
            ]

    def _base_of(self, offset: int) -> int:
        return offset - (offset - self._log.start) % self._log.file_bytes

    def record(self, offset: int) -> tuple[LogRecord, memoryview] | None:
        """The record that starts at log `offset`, with its bytes; `None` when none does."""
        file = self._log.file_at(offset)
        if file is None or offset >= self._log.end:
            return None
        record = read_record(file.view, offset - file.base, offset, crc=False)
        if record is None or record.end > self._log.end:
            return None
        return record, file.view[offset - file.base : record.end - file.base]

    def store_time(self, queue: ConsumeQueue, offset: int) -> int | None:
        """Store time, ms, of the record at queue `offset`."""
        entry = queue.entry(offset)
        if entry is None:
            return None
        head = self._log.slice(entry[0], HEAD.size)
        if head is None:
            return None
        at = _STORE_TIME_AT + (12 if int.from_bytes(head[36:40], "big") & 0x10 else 0)
        return int.from_bytes(head[at : at + 8], "big")

    def offset_at(self, queue: ConsumeQueue, timestamp: int, upper: bool) -> int:
        """First queue offset stored at or after `timestamp` (ms); `upper`: last one at or before it.

        Beyond the newest record the lower bound is the queue's end; before the oldest the upper one is 0, as
        the reference has it (ConsumeQueue.binarySearchInQueueByTime).
        """
        floor = low = queue.min_offset(self._log.start)
        high = queue.end
        while low < high:
            middle = (low + high) // 2
            stored = self.store_time(queue, middle)
            if stored is None or stored < timestamp or (upper and stored == timestamp):
                low = middle + 1
            else:
                high = middle
        if not upper:
            return low
        return low - 1 if low > floor else 0

    def query(self, topic: str, key: str, count_max: int, begin: int, end: int, unique: bool) -> QueryFound:
        """Records of `topic` with exactly `key`, newest first, stored from `begin` to `end` (ms).

        `unique`: the key is a unique id, and business keys that equal it do not count.
        """
        index = self._index
        if index is None:
            return QueryFound([], 0, 0)
        last = index.files[-1] if index.files else None
        records: list[bytes] = []
        seen: set[int] = set()
        for offset in index.offsets(topic, key, begin, end):
            if len(records) >= min(count_max, _QUERY_MAX):
                break
            found = self.record(offset)
            if found is None or offset in seen:
                continue
            record, raw = found
            seen.add(offset)
            if record.topic != topic or not begin <= record.store_timestamp <= end:
                continue
            if unique:
                matches = find_property(record.properties, UNIQUE_KEY) == key
            else:
                matches = key in index_keys(record.properties)
            if matches:
                records.append(bytes(raw))
        return QueryFound(records, last.end_timestamp if last else 0, last.end_offset if last else 0)


class _OwnFiles:
    """Log files opened by a thread for itself, closed when it has read what it wanted."""

    __slots__ = ("_base_of", "_descriptors", "_log")

    def __init__(self, log: CommitLog, base_of: Callable[[int], int]) -> None:
        self._log = log
        self._base_of = base_of
        self._descriptors: dict[int, int] = {}

    def fetch(self, start: int, size: int) -> Body | None:
        """`size` bytes from log offset `start` on; `None` when the file was removed meanwhile."""
        base = self._base_of(start)
        descriptor = self._descriptors.get(base)
        if descriptor is None:
            try:
                descriptor = os.open(self._log.path_of(base), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            self._descriptors[base] = descriptor
        return os.pread(descriptor, size, start - base)

    def __enter__(self) -> _OwnFiles:
        return self

    def __exit__(self, *problem: object) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
