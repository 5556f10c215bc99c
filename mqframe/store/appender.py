"""Laying records out in the commit log, and noting what dispatch will need of them."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from zlib import crc32

from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.delay_levels import parse_levels
from mqframe.core.dispatch_facts import index_keys, queue_code
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.properties import PROPERTIES_BYTES_MAX
from mqframe.core.record import HEAD, HEADS, topic_part
from mqframe.store.commit_log import CommitLog
from mqframe.store.consume_queue import ENTRY, ConsumeQueue
from mqframe.store.incoming import Incoming, Stored, StoredBatch
from mqframe.store.queue_table import QueueTable
from mqframe.store.settings import StoreSettings

_SHORT: Final = struct.Struct(">h")
_ELEMENT: Final = struct.Struct(">iiiii")
_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
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


class Appender:
    """Writes records at the end of `log`. `waiting` holds what is appended but not dispatched, in order.

    `store_time`: time of the newest record, ms; it never goes back.
    """

    def __init__(
        self, log: CommitLog, queues: QueueTable, settings: StoreSettings, now_ms: Callable[[], int]
    ) -> None:
        self._log = log
        self._queues = queues
        self._now_ms = now_ms
        self._levels = parse_levels(settings.delay_levels)
        self._body_bytes_max = settings.body_bytes_max
        self.store_time = 0
        self.waiting: deque[Appended] = deque()

    def put(self, incoming: Incoming) -> Stored:
        """Append one message. Raises `Refusal` (13: too large; 14: disk full); nothing is stored then."""
        topic, queue_id, body = incoming.topic, incoming.queue_id, incoming.body
        text = incoming.properties
        properties = text.encode()
        body_size, properties_size = len(body), len(properties)
        if body_size > self._body_bytes_max or properties_size > PROPERTIES_BYTES_MAX:
            raise _too_large(body_size, self._body_bytes_max, properties_size)
        queue = self._queues.get((topic, queue_id)) or self._queues.queue(topic, queue_id)
        sys_flag = incoming.sys_flag
        listed = sys_flag & SysFlag.TRANSACTION_MASK not in _NOT_LISTED
        queue_offset = queue.next_offset if listed else 0
        magic, topic_bytes = topic_part(topic)
        born_host, store_host = incoming.born_host, incoming.store_host
        head = HEAD
        if len(born_host) != 8 or len(store_host) != 8 or sys_flag & _V6:
            head, sys_flag = _hosts(born_host, store_host, sys_flag)
        size = head.size + body_size + len(topic_bytes) + 2 + properties_size
        log = self._log
        file = log.room(size)
        physical = log.end
        now = self._now_ms()
        if now < self.store_time:
            now = self.store_time
        self.store_time = now
        fixed = head.pack(
            size, magic, crc32(body) & 0x7FFFFFFF, queue_id, incoming.flag, queue_offset, physical, sys_flag,
            incoming.born_timestamp, born_host, now, store_host, incoming.reconsume_times,
            incoming.prepared_transaction_offset, body_size,
        )  # fmt: skip
        file.write(
            physical - file.base,
            b"".join((fixed, body, topic_bytes, _SHORT.pack(properties_size), properties)),
        )
        end = physical + size
        log.end = end
        code = queue_code(topic, text, now, self._levels)
        keys = index_keys(text)
        indexed = [(physical, keys)] if keys and sys_flag & 0xC != SysFlag.TRANSACTION_ROLLBACK else []
        if listed:
            queue.next_offset = queue_offset + 1
            entries = ENTRY.pack(physical, size, code)
            self.waiting.append(Appended(end, queue, queue_offset, entries, [code], topic, indexed, now))
        else:
            self.waiting.append(Appended(end, None, 0, b"", [], topic, indexed, now))
        return Stored(physical, queue_offset, size, now)

    def put_batch(self, head: Incoming, batch: memoryview, extra: bytes) -> StoredBatch:
        """Append the messages of `batch` to one queue; `extra` goes behind the properties of each.

        Raises `BodyError` for a malformed batch, `Refusal` as `put`; nothing is stored then.
        """
        log = self._log
        now = max(self._now_ms(), self.store_time)
        queue = self._queues.queue(head.topic, head.queue_id)
        elements = list(_elements(bytes(batch), extra, self._body_bytes_max))
        laid = self._lay_batch(log.end, queue, head, elements, extra, now)
        size = laid.end - log.end
        file = log.room(size)
        if laid.end != log.end + size:  # the log turned to its next file, and all offsets with it
            laid = self._lay_batch(log.end, queue, head, elements, extra, now)
        at = log.end - file.base
        file.write(at, laid.records)
        self.store_time = now
        log.end = laid.end
        first = queue.next_offset
        queue.next_offset = first + len(elements)
        self.waiting.append(
            Appended(laid.end, queue, first, laid.entries, laid.codes, head.topic, laid.indexed, now)
        )
        return StoredBatch(laid.offsets, first, laid.end, now)

    def _lay_batch(
        self,
        physical: int,
        queue: ConsumeQueue,
        head: Incoming,
        elements: list[tuple[int, bytes, bytes]],
        extra: bytes,
        now: int,
    ) -> _Laid:
        """What the batch's records and queue entries are when the first lies at log offset `physical`."""
        layout, sys_flag = _hosts(head.born_host, head.store_host, head.sys_flag)
        magic, topic_bytes = topic_part(head.topic)
        queue_id, born, born_host, store_host = (
            head.queue_id, head.born_timestamp, head.born_host, head.store_host,
        )  # fmt: skip
        queue_offset, fixed = queue.next_offset, layout.size
        pack, entry = layout.pack, ENTRY.pack
        pieces: list[bytes] = []
        entries: list[bytes] = []
        codes: list[int] = []
        offsets: list[int] = []
        indexed: list[tuple[int, tuple[str, ...]]] = []
        known: dict[bytes, tuple[bytes, int, tuple[str, ...]]] = {}
        for flag, body, properties in elements:
            facts = known.get(properties)
            if facts is None:
                try:
                    text = (properties + extra).decode()
                except UnicodeDecodeError as problem:
                    raise BodyError(f"message {len(offsets)} of the batch: {problem}") from None
                tail = topic_bytes + _SHORT.pack(len(properties) + len(extra)) + properties + extra
                facts = tail, queue_code(head.topic, text, now, self._levels), index_keys(text)
                known[properties] = facts
            tail, code, keys = facts
            body_size = len(body)
            size = fixed + body_size + len(tail)
            pieces += (
                pack(
                    size, magic, crc32(body) & 0x7FFFFFFF, queue_id, flag, queue_offset, physical, sys_flag,
                    born, born_host, now, store_host, 0, 0, body_size,
                ),
                body,
                tail,
            )  # fmt: skip
            entries.append(entry(physical, size, code))
            codes.append(code)
            offsets.append(physical)
            if keys:
                indexed.append((physical, keys))
            physical += size
            queue_offset += 1
        return _Laid(b"".join(pieces), physical, b"".join(entries), codes, offsets, indexed)


def _elements(raw: bytes, extra: bytes, body_max: int) -> Iterator[tuple[int, bytes, bytes]]:
    """(flag, body, properties) of each message of a batch, ready for `extra` to follow.

    Raises `BodyError`, `Refusal`.
    """
    extra_size = len(extra) + 1 if extra else 0
    unpack, short = _ELEMENT.unpack_from, _SHORT.unpack_from
    position, stop_all, number = 0, len(raw), 0
    if not raw:
        raise BodyError("the batch holds no message")
    while position < stop_all:
        try:
            total, _, _, flag, body_size = unpack(raw, position)
            body_end = position + 20 + body_size
            (properties_size,) = short(raw, body_end) if body_size >= 0 else (-1,)
        except struct.error as problem:
            raise BodyError(f"message {number} of the batch, at byte {position}: {problem}") from None
        stop = body_end + 2 + properties_size
        if properties_size < 0 or stop - position != total or stop > stop_all:
            raise BodyError(
                f"message {number} of the batch, at byte {position}: says {total} bytes,"
                f" has {stop - position}"
            )
        properties = raw[body_end + 2 : stop]
        if extra and properties and properties[-1] != 2:
            properties += b"\x02"
        if properties_size + extra_size > PROPERTIES_BYTES_MAX or body_size > body_max:
            raise _too_large(body_size, body_max, properties_size + extra_size)
        yield flag, raw[position + 20 : body_end], properties
        position = stop
        number += 1


class _Laid(NamedTuple):
    """A batch as it will lie in the log: its bytes, the offset behind it, what dispatch needs of it."""

    records: bytes
    end: int
    entries: bytes
    codes: list[int]
    offsets: list[int]
    indexed: list[tuple[int, tuple[str, ...]]]


def _hosts(born_host: bytes, store_host: bytes, sys_flag: int) -> tuple[struct.Struct, int]:
    born_v6, store_v6 = len(born_host) == 20, len(store_host) == 20
    sys_flag = sys_flag & ~_V6 | born_v6 * SysFlag.BORN_HOST_V6 | store_v6 * SysFlag.STORE_HOST_V6
    return HEADS[born_v6, store_v6], sys_flag


def _too_large(body_size: int, body_max: int, properties_size: int) -> Refusal:
    if body_size > body_max:
        remark = f"the body has {body_size} bytes, at most {body_max} are allowed"
    else:
        remark = f"the properties have {properties_size} bytes, at most {PROPERTIES_BYTES_MAX} are allowed"
    return Refusal(ResponseCode.MESSAGE_ILLEGAL, remark)
