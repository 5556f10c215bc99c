"""Walking a commit log record by record, and telling where it ends (store.md §4)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from mqframe.core.codes import SysFlag
from mqframe.core.messages.names import is_queue_place
from mqframe.core.storage.property_crc import agrees
from mqframe.core.storage.record import HEAD, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, head_of, parts_of, topic_text
from mqframe.core.storage.zeros import is_empty

_SIZE_MAGIC: Final = struct.Struct(">ii")
_CHECKED: Final = struct.Struct(">iii16xqi44xi")
"""Of the fixed part with IPv4 hosts: size, magic, CRC, physical offset, sys flag, body length."""
_NEEDED: Final = struct.Struct(">iiii4xqqi16xq20xi")
"""As `_CHECKED`, with queue id and queue offset before the physical offset, and the store time."""
_READ_AT_ONCE: Final = 1 << 18
SECTOR_BYTES: Final = 512
"""What a disk writes whole or not at all."""
_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6


class LogRecord(NamedTuple):
    """What dispatch needs of one record; offsets and sizes in bytes, `properties` in text form."""

    physical_offset: int
    size: int
    topic: str
    queue_id: int
    queue_offset: int
    sys_flag: int
    store_timestamp: int
    properties: str

    @property
    def end(self) -> int:
        """Where the next record starts."""
        return self.physical_offset + self.size

    @property
    def has_queue_entry(self) -> bool:
        """False for prepared and rolled-back transaction types, and where no queue can have such a name."""
        kind = self.sys_flag & SysFlag.TRANSACTION_MASK
        listed = kind in (SysFlag.TRANSACTION_NONE, SysFlag.TRANSACTION_COMMIT)
        return listed and self.queue_offset >= 0 and is_queue_place(self.topic, self.queue_id)

    @property
    def is_indexed(self) -> bool:
        """False for the rolled-back type only."""
        return self.sys_flag & SysFlag.TRANSACTION_MASK != SysFlag.TRANSACTION_ROLLBACK


def is_blank(buffer: bytes | memoryview, at: int) -> bool:
    """Whether the unused end of a file starts at byte `at`."""
    return at + 8 <= len(buffer) and _SIZE_MAGIC.unpack_from(buffer, at)[1] == MAGIC_BLANK


def has_empty_sector(
    view: bytes | bytearray | memoryview, at: int, end: int, sector_bytes: int = SECTOR_BYTES, first: int = 0
) -> bool:
    """Whether one of the disk's sectors is zeros, as far as it lies between bytes `at` and `end`.

    `first`: log offset of the first byte of `view`.
    """
    while at < end:
        stop = min(at - (first + at) % sector_bytes + sector_bytes, end)
        if is_empty(view, at, stop):
            return True
        at = stop
    return False


def read_record(
    buffer: bytes | bytearray | memoryview, at: int, physical_offset: int, *, crc: bool = True
) -> LogRecord | None:
    """The record at byte `at` of `buffer`, which is `physical_offset` of the log; `None` when there is none.

    Checked: magic, that the lengths of the parts add up and fit, the CRCs (with `crc`) of the body and, where
    there is one, of the whole record, that text is UTF-8, that no disk sector of it is zeros, as a write that
    was cut off leaves it, and that the record says the offset at which it
    lies (Apache RocketMQ leaves the last one out).
    """
    try:
        fields, start = head_of(buffer, at)
        size, magic, body_crc, queue_id, _, queue_offset, physical, sys_flag, _, _, stored, *_, body = fields
        if magic not in (MAGIC_V1, MAGIC_V2) or physical != physical_offset or size > len(buffer) - at:
            return None
        body_end = start + body
        if body < 0 or body_end > at + size:
            return None
        topic_at, properties_at, end = parts_of(buffer, body_end, magic)
        if end != at + size or properties_at - 2 < topic_at or end < properties_at:
            return None
        if crc and (
            zlib.crc32(buffer[start:body_end]) & 0x7FFFFFFF != body_crc or not agrees(buffer[at:end])
        ):
            return None
        topic = topic_text(bytes(buffer[topic_at : properties_at - 2]))
        properties = str(buffer[properties_at:end], "utf-8")
        first = physical_offset - at
        if crc and "\0" in properties and has_empty_sector(buffer, properties_at, end, first=first):
            return None
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    return LogRecord(physical_offset, size, topic, queue_id, queue_offset, sys_flag, stored, properties)


def read_records(
    buffer: bytes | memoryview, at: int, base: int, stop: int | None = None, *, crc: bool = True
) -> list[LogRecord]:
    """Good records one behind the other, from byte `at` of `buffer` on, of some 256 KiB or up to byte `stop`.

    `base`: the log offset of the first byte of `buffer`. Empty where no good record begins at `at`. Checked
    as in `read_record`, whose work is done here at once for the kind that most records are of.
    """
    records: list[LogRecord] = []
    note, new, unpack, crc32 = records.append, tuple.__new__, _NEEDED.unpack_from, zlib.crc32
    start, size_of_head = at, HEAD.size
    stop = len(buffer) if stop is None else stop
    # Slices of bytes take half the time of those of a view.
    some = bytes(buffer[at : min(at + _READ_AT_ONCE, stop)])
    first, end, here = base + start, len(some), 0
    # What stands between body and properties, which is often the same as in the record before.
    topic, between, between_size, text_size = "", b"", 0, -1
    while here < end:
        try:
            size, magic, body_crc, queue_id, offset, physical, flag, stored, length = unpack(some, here)
            body, behind = here + size_of_head, here + size
            topic_at = body + length
            if (
                magic == MAGIC_V1
                and not flag & _V6
                and physical == first + here
                and length >= 0
                and topic_at < behind <= end
                and (not crc or crc32(some[body:topic_at]) & 0x7FFFFFFF == body_crc)
                and some[behind - 12] != 1
                and some[behind - 20] != 95  # no CRC over the whole record, see `first_unsound`
            ):
                text_at = topic_at + between_size
                if behind - text_at != text_size or some[topic_at:text_at] != between:
                    text_at = topic_at + 3 + some[topic_at]
                    between, between_size = some[topic_at:text_at], text_at - topic_at
                    text_size = int.from_bytes(between[-2:])
                    topic = topic_text(between[1:-2])
                if behind - text_at == text_size < 0x8000 and "\0" not in (
                    text := str(some[text_at:behind], "utf-8")
                ):
                    note(new(LogRecord, (physical, size, topic, queue_id, offset, flag, stored, text)))
                    here = behind
                    continue
        except (struct.error, IndexError, UnicodeDecodeError):
            between, between_size, text_size = b"", 0, -1  # it is looked at once more
        record = read_record(buffer, start + here, first + here, crc=crc)
        if record is None:
            break
        note(record)
        here += record.size
    return records


def scan(
    buffer: bytes | memoryview, base: int, start: int = 0, end: int | None = None, *, crc: bool = True
) -> Iterator[LogRecord]:
    """The records of one file from byte `start` on, until `end`, the blank end or the first bad record.

    `base`: the log offset of the file's first byte.
    """
    at = start
    stop = len(buffer) if end is None else end
    while at < stop and (record := read_record(buffer, at, base + at, crc=crc)) is not None:
        yield record
        at += record.size


def scan_parts(
    buffer: bytes | memoryview, base: int, start: int = 0, end: int | None = None, *, crc: bool = True
) -> Iterator[list[LogRecord]]:
    """As `scan`, many neighbours at once: for whoever takes them all."""
    at = start
    while records := read_records(buffer, at, base, end, crc=crc):
        at = records[-1].end - base
        yield records


def first_unsound(buffer: bytes | bytearray | memoryview, physical_offset: int) -> int | None:
    """The log offset of the first record of `buffer` that is damaged, as far as CRCs tell; `None`: none is.

    `buffer`: whole records one behind the other, the first from `physical_offset` of the log on.
    """
    at, end = 0, len(buffer)
    while at < end:
        try:
            size, magic, body_crc, physical, sys_flag, body_size = _CHECKED.unpack_from(buffer, at)
        except struct.error:
            return physical_offset + at
        body, behind = at + HEAD.size, at + size
        topic_at = body + body_size
        # Most records have IPv4 hosts: their bodies are checked here, in a fifth of the time. A CRC over
        # all of a record has an underscore 20 bytes before the end, and a 1 in the 12th byte before it; where
        # the last byte is 0, the end of the properties may be lost.
        sound = (
            magic == MAGIC_V1
            and not sys_flag & _V6
            and physical == physical_offset + at
            and body_size >= 0
            and topic_at < behind <= end
            and (topic_end := topic_at + 1 + buffer[topic_at]) + 2 <= behind
            and buffer[topic_end] << 8 | buffer[topic_end + 1] == behind - topic_end - 2
            and zlib.crc32(buffer[body:topic_at]) & 0x7FFFFFFF == body_crc
            and buffer[behind - 1]
            and ((buffer[behind - 12] != 1 and buffer[behind - 20] != 95) or agrees(buffer[at:behind]))
        )
        if not sound and read_record(buffer, at, physical_offset + at) is None:
            return physical_offset + at
        at = behind
    return None


def record_end(buffer: bytes | memoryview, start: int, limit: int) -> int:
    """The last byte at or before `limit` at which a record ends, walking from the one at `start`.

    Only sizes are read: for ranges that are known to hold whole records. The blank end counts as a record
    that reaches to the end of `buffer`.
    """
    at = start
    while at + 8 <= len(buffer):
        size, magic = _SIZE_MAGIC.unpack_from(buffer, at)
        following = len(buffer) if magic == MAGIC_BLANK else at + size
        if size <= 0 or following > limit:
            return at
        at = following
    return at
