"""Appends: records are laid out in the commit log, and queued for dispatch."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple
from zlib import crc32

from mqframe.core.codes import SysFlag
from mqframe.core.errors import MessageError
from mqframe.core.messages.properties import PROPERTIES_BYTES_MAX
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.storage.property_crc import ROOM, fill_in, with_room, without_crc
from mqframe.core.storage.record import HEAD, topic_part
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.store.appending.batch_layout import (
    HOSTS_V6,
    BatchLayout,
    BatchLimits,
    fixed_part,
    too_large,
    without_own,
)
from mqframe.store.incoming import Incoming
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.consume_queue import ENTRY, ConsumeQueue
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.settings import StoreSettings

_SHORT: Final = struct.Struct(">h")
_NOT_LISTED: Final = (SysFlag.TRANSACTION_PREPARED, SysFlag.TRANSACTION_ROLLBACK)


class Appended(NamedTuple):
    """One append that waits for dispatch.

    `end`: log offset behind it; `queue`: `None` for types that no queue lists; `entries`: its queue entries;
    `codes`: their tags codes; `indexed`: (log offset, keys) of its records.
    """

    end: int
    queue: ConsumeQueue | None
    queue_offset: int
    entries: bytes
    codes: list[int]
    topic: str
    indexed: list[tuple[int, tuple[str, ...]]]
    timestamp: int


class Placed(NamedTuple):
    """One message that was appended; its properties are looked into when it is dispatched, after its answer.

    `end`, `physical`: log offsets behind it and of it; `queue`: `None` for types that no queue lists;
    `indexed`: whether its keys go into the index.
    """

    end: int
    queue: ConsumeQueue | None
    queue_offset: int
    physical: int
    size: int
    topic: str
    properties: str
    indexed: bool
    timestamp: int


def placed(record: LogRecord, queue: ConsumeQueue | None) -> Placed:
    """`record` as it waits to be listed by `queue`; by none where that is `None`."""
    return Placed(
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


class Copied(NamedTuple):
    """Records that lie one behind the other, `end` behind the last; `queues`: of each, `None` for no queue.

    Those of one queue follow one another in it, too.
    """

    end: int
    records: Sequence[LogRecord]
    queues: Sequence[ConsumeQueue | None]

    def singly(self) -> list[Placed]:
        """The same, one by one."""
        return [placed(record, queue) for record, queue in zip(self.records, self.queues, strict=True)]

    def parted(self, end: int) -> tuple[Copied, Copied] | None:
        """Those that end at or before log offset `end`, and the others; `None` where no record does."""
        records, queues = self.records, self.queues
        count = bisect_right(records, end, key=attrgetter("end"))
        if not count:
            return None
        before = Copied(records[count - 1].end, records[:count], queues[:count])
        return before, Copied(self.end, records[count:], queues[count:])


class Appender:
    """Writes records at the end of `log`. `waiting` holds what is appended but not dispatched, in order.

    `store_time`: time of the newest record, ms; it never goes back. While the clock is behind it, because it
    was set back, `held` is true, and delays count from the clock.
    """

    def __init__(
        self, log: CommitLog, queues: QueueTable, settings: StoreSettings, now_ms: Callable[[], int]
    ) -> None:
        self._log = log
        self._queues = queues
        self._now_ms = now_ms
        self._levels = queues.delays
        self._crc = settings.property_crc
        self.change(settings)
        self.store_time = 0
        self.held = False
        self.waiting: deque[Appended | Placed | Copied] = deque()

    def change(self, settings: StoreSettings) -> None:
        """Take messages as large as `settings` say from now on."""
        self._body_bytes_max = settings.body_bytes_max
        self._limits = BatchLimits(
            settings.body_bytes_max, settings.batch_messages_max, settings.message_keys_max
        )

    def put(self, incoming: Incoming) -> Stored:
        """Append one message. Raises `MessageError` (too large, a topic without a path, numbers or text that
        records do not hold) and `StoreUnavailable` (disk full); nothing is stored then."""
        topic, queue_id, body = incoming.topic, incoming.queue_id, incoming.body
        text = incoming.properties
        if "__CRC32#" in text:
            text = without_crc(text)  # of the record that this one is a copy of
        try:
            properties = (with_room(text) if self._crc else text).encode()
        except UnicodeEncodeError as problem:
            raise MessageError(f"the properties of a message to {topic} are no text: {problem}") from None
        body_size, properties_size = len(body), len(properties)
        if body_size > self._body_bytes_max or properties_size > PROPERTIES_BYTES_MAX:
            raise too_large(body_size, self._body_bytes_max, properties_size)
        queue = self._queues.get((topic, queue_id)) or self._queues.queue(topic, queue_id)
        sys_flag = incoming.sys_flag
        listed = sys_flag & SysFlag.TRANSACTION_MASK not in _NOT_LISTED
        queue_offset = queue.next_offset if listed else 0
        magic, topic_bytes = topic_part(topic)
        born_host, store_host = incoming.born_host, incoming.store_host
        head = HEAD
        if len(born_host) != 8 or len(store_host) != 8 or sys_flag & HOSTS_V6:
            head, sys_flag = fixed_part(born_host, store_host, sys_flag)
        size = head.size + body_size + len(topic_bytes) + 2 + properties_size
        log = self._log
        file = log.room(size)
        physical = log.end
        now = self._now_ms()
        if now < self.store_time:
            now = self.store_time
            self.held = True
        self.store_time = now
        try:
            fixed = head.pack(
                size, magic, crc32(body) & 0x7FFFFFFF, queue_id, incoming.flag, queue_offset, physical,
                sys_flag, incoming.born_timestamp, born_host, now, store_host, incoming.reconsume_times,
                incoming.prepared_transaction_offset, body_size,
            )  # fmt: skip
        except struct.error as problem:
            raise MessageError(f"a number of a message to {topic} fits no record: {problem}") from None
        record = b"".join((fixed, body, topic_bytes, _SHORT.pack(properties_size), properties))
        file.write(physical - file.base, fill_in(record, (0, size)) if self._crc else record)
        end = physical + size
        log.end = end
        indexed = sys_flag & SysFlag.TRANSACTION_MASK != SysFlag.TRANSACTION_ROLLBACK
        if listed:
            queue.next_offset = queue_offset + 1
        placed = Placed(
            end, queue if listed else None, queue_offset, physical, size, topic, text, indexed, now
        )
        self.waiting.append(placed)
        return Stored(physical, queue_offset, size, now)

    def describe(self, placed: Placed) -> Appended:
        """What dispatch needs to know of `placed`."""
        text, physical, now = placed.properties, placed.physical, placed.timestamp
        keys = index_keys(text) if placed.indexed else ()
        indexed = [(physical, keys)] if keys else []
        if placed.queue is None:
            return Appended(placed.end, None, 0, b"", [], placed.topic, indexed, now)
        stored = self._unheld(now) if self.held else now
        code = queue_code(placed.topic, text, stored, self._levels)
        entry = ENTRY.pack(physical, placed.size, code)
        return Appended(
            placed.end, placed.queue, placed.queue_offset, entry, [code], placed.topic, indexed, now
        )

    def _unheld(self, stamp: int) -> int:
        """About when a record with this stamp was stored: the stamp may be that of a clock set back since."""
        now = self._now_ms()
        self.held = now < self.store_time
        return min(stamp, now)

    def put_batch(self, head: Incoming, batch: memoryview, extra: bytes) -> StoredBatch:
        """Append the messages of `batch` to one queue; `extra` goes behind the properties of each.

        Raises `BodyError` for a malformed batch, the others as `put`; nothing is stored then.
        """
        log, topic = self._log, head.topic
        now = max(self._now_ms(), self.store_time)
        queue = self._queues.queue(head.topic, head.queue_id)
        first, raw, extra = queue.next_offset, bytes(batch), without_own(extra)
        if self._crc:
            extra += ROOM
        layout = BatchLayout(head, extra, now, self._levels, self._limits)
        try:
            laid = layout.lay(raw, log.end, first)
        except struct.error as problem:
            raise MessageError(f"a number of a batch to {topic} fits no record: {problem}") from None
        size = laid.end - log.end
        file = log.room(size)
        if laid.end != log.end + size:  # the log turned to its next file, and all offsets with it
            laid = layout.lay(raw, log.end, first)
        records = fill_in(laid.records, [*laid.offsets, laid.end]) if self._crc else laid.records
        file.write(log.end - file.base, records)
        self.store_time = now
        log.end = laid.end
        queue.next_offset = first + len(laid.offsets)
        self.waiting.append(
            Appended(laid.end, queue, first, laid.entries, laid.codes, head.topic, laid.indexed, now)
        )
        return StoredBatch(laid.offsets, first, laid.end, now)
