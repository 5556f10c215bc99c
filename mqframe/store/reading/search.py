"""Searches of a store: the log by offset, queues by time, the index by key."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import Final

from mqframe.core.messages.properties import UNIQUE_KEY, find_property
from mqframe.core.storage.agreement import place_of
from mqframe.core.storage.dispatch_facts import index_keys
from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.core.storage.record import HEAD
from mqframe.store.incoming import QueryFound
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.reading.lookup import Lookup

_STORE_TIME_AT: Final = 56
_QUERY_MAX: Final = 64
_QUERY_LOOKS_MAX: Final = 1024
_QUERY_BYTES_MAX: Final = 4 << 20


class Search(Lookup):
    """Finds records of one store at a log offset, of a time, with a key."""

    def record_at(self, commit_log_offset: int, *, unconfirmed: bool = False) -> bytes | None:
        """The record that starts at this log offset; `None` when none does.

        `unconfirmed`: also one that consumers may not see yet.
        """
        found = self._record(commit_log_offset)
        if found is None or not (unconfirmed or found[0].end <= self.confirmed()):
            return None
        return bytes(found[1])

    def _record(self, offset: int) -> tuple[LogRecord, memoryview] | None:
        """The record that starts at log `offset`, with its bytes; `None` when none does."""
        file = self._log.file_at(offset)
        if file is None or offset >= self._log.end:
            return None
        record = read_record(file.view, offset - file.base, offset, crc=False)
        if record is None or record.end > self._log.end:
            return None
        return record, file.view[offset - file.base : record.end - file.base]

    def store_time_at(self, topic: str, queue_id: int, offset: int) -> int | None:
        """Store time (ms) of the record at queue `offset`; `None` when there is none."""
        queue = self._queues.get((topic, queue_id))
        return None if queue is None else self._store_time(queue, offset)

    def _store_time(self, queue: ConsumeQueue, offset: int) -> int | None:
        entry = queue.entry(offset)
        if entry is None:
            return None
        head = self._log.slice(entry[0], HEAD.size)
        if head is None or place_of(head, 0) != (entry[1], queue.queue_id, offset, entry[0]):
            return None
        at = _STORE_TIME_AT + (12 if int.from_bytes(head[36:40], "big") & 0x10 else 0)
        return int.from_bytes(head[at : at + 8], "big")

    def offset_at(self, topic: str, queue_id: int, timestamp_ms: int, *, upper: bool = False) -> int:
        """First queue offset stored at or after `timestamp_ms`; `upper`: the last one at or before it.

        Beyond the newest record the lower bound is the queue's end; before the oldest the upper one is 0, as
        Apache RocketMQ has it (ConsumeQueue.binarySearchInQueueByTime).
        """
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            return 0

        def is_reached(offset: int) -> bool:
            # A filler stands for the record behind it: there may be some between records.
            listed = queue.listed_from(offset)
            stored = None if listed is None else self._store_time(queue, listed[0])
            return stored is not None and (stored > timestamp_ms or (stored == timestamp_ms and not upper))

        floor = queue.min_offset(self._log.start)
        found = bisect_left(range(queue.end), True, floor, queue.end, key=is_reached)
        if not upper:
            return found
        return found - 1 if found > floor else 0

    def query(
        self,
        topic: str,
        key: str,
        max_count: int,
        begin_ms: int = 0,
        end_ms: int = (1 << 63) - 1,
        *,
        unique: bool = False,
    ) -> QueryFound:
        """Records with exactly this key (a business key or a unique id), newest first.

        `unique`: only records whose unique id it is. No more than 1,024 records are looked at, and about
        4 MiB of them are given.
        """
        index = self._index
        if index is None:
            return QueryFound([], 0, 0)
        last = index.files[-1] if index.files else None
        records: list[bytes] = []
        seen: set[int] = set()
        size = 0
        for offset in islice(index.offsets(topic, key, begin_ms, end_ms), _QUERY_LOOKS_MAX):
            if len(records) >= min(max_count, _QUERY_MAX) or size >= _QUERY_BYTES_MAX:
                break
            found = self._record(offset)
            if found is None or offset in seen:
                continue
            record, raw = found
            seen.add(offset)
            if record.topic != topic or not begin_ms <= record.store_timestamp <= end_ms:
                continue
            if unique:
                matches = find_property(record.properties, UNIQUE_KEY) == key
            else:
                matches = key in index_keys(record.properties)
            if matches:
                records.append(bytes(raw))
                size += len(raw)
        return QueryFound(records, last.end_timestamp if last else 0, last.end_offset if last else 0)
