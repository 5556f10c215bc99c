"""Laying records out in the commit log, and noting what dispatch will need of them."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from mmap import mmap
from typing import Final, NamedTuple
from zlib import crc32

from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.delay_levels import parse_levels
from mqframe.core.dispatch_facts import index_keys, queue_code
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.properties import PROPERTIES_BYTES_MAX, UNIQUE_KEY, find_property
from mqframe.core.record import BLANK_BYTES, HEAD, HEADS, topic_part
from mqframe.store.commit_log import CommitLog
from mqframe.store.consume_queue import ENTRY, ConsumeQueue
from mqframe.store.incoming import Incoming, Stored
from mqframe.store.queue_table import QueueTable
from mqframe.store.settings import StoreSettings

_SHORT: Final = struct.Struct(">h")
_ELEMENT: Final = struct.Struct(">iiiii")
_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_NOT_LISTED: Final = (SysFlag.TRANSACTION_PREPARED, SysFlag.TRANSACTION_ROLLBACK)
_ZEROS: Final = bytes(8)


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
        """Append one message. Raises `Refusal` (13: too large; 14: the disk is full); nothing is stored then."""
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
        start_body = head.size
        size = start_body + body_size + len(topic_bytes) + 2 + properties_size
        log = self._log
        file = log.room(size)
        physical = log.end
        at = physical - file.base
        now = self._now_ms()
        if now < self.store_time:
            now = self.store_time
        self.store_time = now
        target = file.map
        head.pack_into(
            target, at, size, magic, crc32(body) & 0x7FFFFFFF, queue_id, incoming.flag, queue_offset, physical,
            sys_flag, incoming.born_timestamp, born_host, now, store_host, incoming.reconsume_times,
            incoming.prepared_transaction_offset, body_size,
        )  # fmt: skip
        body_end = at + start_body + body_size
        target[at + start_body : body_end] = body
        target[body_end : at + size] = topic_bytes + _SHORT.pack(properties_size) + properties
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

    def put_batch(self, head: Incoming, batch: memoryview, extra: bytes) -> list[Stored]:
        """Append the messages of `batch` to one queue; `extra` goes behind the properties of each.

        Raises `BodyError` for a malformed batch, `Refusal` as `put`; nothing is stored then.
        """
        log = self._log
        smallest = len(batch) + HEAD.size
        file = log.room(min(smallest, log.file_bytes - BLANK_BYTES))
        try:
            return self._lay_batch(file.map, file.base, head, batch, extra)
        except _DoesNotFit as problem:
            size = problem.size
        file = log.room(log.file_bytes - BLANK_BYTES) if log.end > file.base else file
        try:
            return self._lay_batch(file.map, file.base, head, batch, extra)
        except _DoesNotFit:
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL,
                f"a batch of more than {size} bytes does not fit a commit-log file of {log.file_bytes} bytes",
            ) from None

    def _lay_batch(
        self, target: mmap, base: int, head: Incoming, batch: memoryview, extra: bytes
    ) -> list[Stored]:
        log, topic = self._log, head.topic
        queue = self._queues.queue(topic, head.queue_id)
        magic, topic_bytes = topic_part(topic)
        layout, sys_flag = _hosts(head.born_host, head.store_host, head.sys_flag)
        now = max(self._now_ms(), self.store_time)
        queue_id, born_timestamp, born_host, store_host = (
            head.queue_id, head.born_timestamp, head.born_host, head.store_host,
        )  # fmt: skip
        fixed, overhead = layout.size, layout.size + len(topic_bytes) + 2
        first = log.end - base
        limit = log.file_bytes - BLANK_BYTES
        levels, body_max = self._levels, self._body_bytes_max
        facts = _SharedFacts(topic, extra.decode(), now, levels)
        pack, unpack, short, entry = layout.pack_into, _ELEMENT.unpack_from, _SHORT, ENTRY.pack
        raw = bytes(batch)
        position, stop_all = 0, len(raw)
        at, queue_offset = first, queue.next_offset
        stored: list[Stored] = []
        entries: list[bytes] = []
        codes: list[int] = []
        indexed: list[tuple[int, tuple[str, ...]]] = []
        try:
            while position < stop_all:
                total, _, _, flag, body_size = unpack(raw, position)
                body_start = position + 20
                body_end = body_start + body_size
                stop = body_end + 2 + short.unpack_from(raw, body_end)[0]
                if body_size < 0 or stop < body_end + 2 or stop - position != total or stop > stop_all:
                    raise _malformed(len(stored), position, f"says {total} bytes, has {stop - position}")
                properties = raw[body_end + 2 : stop]
                if extra:
                    if properties and properties[-1] != 2:
                        properties += b"\x02"
                    properties += extra
                size = overhead + body_size + len(properties)
                if len(properties) > PROPERTIES_BYTES_MAX or body_size > body_max:
                    raise _too_large(body_size, body_max, len(properties))
                if at + size > limit:
                    raise _DoesNotFit(size)
                body = raw[body_start:body_end]
                physical = base + at
                pack(
                    target, at, size, magic, crc32(body) & 0x7FFFFFFF, queue_id, flag, queue_offset, physical,
                    sys_flag, born_timestamp, born_host, now, store_host, 0, 0, body_size,
                )  # fmt: skip
                tail = at + fixed + body_size
                target[at + fixed : tail] = body
                target[tail : at + size] = topic_bytes + short.pack(len(properties)) + properties
                code, keys = facts.of(properties)
                entries.append(entry(physical, size, code))
                codes.append(code)
                if keys:
                    indexed.append((physical, keys))
                stored.append(Stored(physical, queue_offset, size, now))
                at += size
                queue_offset += 1
                position = stop
        except (BodyError, Refusal, struct.error, UnicodeDecodeError, IndexError) as problem:
            target[first : first + 8] = _ZEROS
            if isinstance(problem, BodyError | Refusal):
                raise
            raise _malformed(len(stored), position, str(problem)) from None
        if not stored:
            raise BodyError("the batch holds no message")
        self.store_time = now
        log.end = base + at
        self.waiting.append(
            Appended(log.end, queue, queue.next_offset, b"".join(entries), codes, topic, indexed, now)
        )
        queue.next_offset = queue_offset
        return stored


class _DoesNotFit(Exception):
    """The file has no room for a batch."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class _SharedFacts:
    """Tags code and keys of a batch's messages, whose properties share their end."""

    __slots__ = ("_levels", "_now", "_topic", "_unique")

    def __init__(self, topic: str, extra: str, now: int, levels: tuple[int, ...]) -> None:
        self._topic = topic
        self._now = now
        self._levels = levels
        self._unique = find_property(extra, UNIQUE_KEY)

    def of(self, properties: bytes) -> tuple[int, tuple[str, ...]]:
        """Tags code and index keys of the message with these properties. Raises UnicodeDecodeError."""
        text = properties.decode()
        code = queue_code(self._topic, text, self._now, self._levels)
        if self._unique is not None and "KEYS\x01" not in text:
            return code, (self._unique,)
        return code, index_keys(text)


def _hosts(born_host: bytes, store_host: bytes, sys_flag: int) -> tuple[struct.Struct, int]:
    born_v6, store_v6 = len(born_host) == 20, len(store_host) == 20
    sys_flag = sys_flag & ~_V6 | born_v6 * SysFlag.BORN_HOST_V6 | store_v6 * SysFlag.STORE_HOST_V6
    return HEADS[born_v6, store_v6], sys_flag


def _malformed(index: int, position: int, what: str) -> BodyError:
    return BodyError(f"message {index} of the batch, at byte {position}: {what}")


def _too_large(body_size: int, body_max: int, properties_size: int) -> Refusal:
    if body_size > body_max:
        remark = f"the body has {body_size} bytes, at most {body_max} are allowed"
    else:
        remark = f"the properties have {properties_size} bytes, at most {PROPERTIES_BYTES_MAX} are allowed"
    return Refusal(ResponseCode.MESSAGE_ILLEGAL, remark)
