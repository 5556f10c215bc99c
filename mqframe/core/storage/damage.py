"""Behind the last good record of a log: an unfinished write, or damage (store.md §4).

Log files are zeros before they are written. So a write that never got to the disk whole has left at least one
512-byte sector of its record empty, or its end; bytes that are all there and wrong were damaged later.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from mqframe.core.codes import SysFlag
from mqframe.core.storage.log_scan import has_empty_sector, is_blank, read_record
from mqframe.core.storage.property_crc import PROPERTY_CRC_BYTES, property_crc
from mqframe.core.storage.record import HEAD, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, body_crc, parts_of
from mqframe.core.storage.zeros import PIECE_BYTES, data_end, is_empty

PAGE_BYTES: Final = 4096
RECORD_BYTES_MIN: Final = HEAD.size + 4
"""No record is shorter: a topic of one letter with its length, no body, the length of no properties."""
_MAGICS: Final = tuple(struct.pack(">i", magic) for magic in (MAGIC_V1, MAGIC_V2, MAGIC_BLANK))
_SIZE: Final = struct.Struct(">i")
_SHORT: Final = struct.Struct(">h")
_BLANK: Final = struct.Struct(">ii")
SET_ASIDE_TOPIC: Final = "SET_ASIDE"
"""What a record names, or a beginning of it, that stands for a stretch which was set aside."""
_NO_HOST: Final = bytes(8)


class Stretch(NamedTuple):
    """Bytes of the log, from offset `start` to before `end`, in one file, that hold no good record.

    `unfinished`: whether they look as a write that a power loss cut off, or kept from the disk, leaves them.
    """

    start: int
    end: int
    unfinished: bool


class LogBytes(Protocol):
    """A log file for searching. `view`: its bytes."""

    @property
    def view(self) -> memoryview:
        """All bytes."""

    def data_from(self, at: int) -> list[tuple[int, int]]:
        """(start, end) of the parts from byte `at` on that may hold anything but zeros, in order."""


def next_good(file: LogBytes, base: int, at: int, not_before: int) -> int | None:
    """Where the log goes on behind the bad record at byte `at`: at a good record or the blank end.

    `None` where nothing of the kind follows. `base`: log offset of the file's first byte. `not_before`: store
    time, ms, of the record before: older ones behind it are left over from before an earlier cut (Apache
    RocketMQ leaves them in its files).
    """
    view = file.view
    claimed = at + _claimed_size(view, at)
    if claimed > at and _is_good(view, base, claimed, not_before):
        # The head may be sound: what it spans is not searched, so that no body can pass for a record.
        return claimed
    behind = at + RECORD_BYTES_MIN
    for start, end in file.data_from(at):
        for magic in _magics(view, max(start - 8, 0), end):
            place = magic - 4
            is_end = place > at and is_blank(view, place)
            is_end = is_end and _SIZE.unpack_from(view, place)[0] == len(view) - place
            if is_end or (place >= behind and _is_good(view, base, place, not_before)):
                return place
    return None


def _magics(view: memoryview, start: int, end: int) -> Iterator[int]:
    """Where magics begin from byte `start` to before `end`, in order."""
    for at in range(start, end, PIECE_BYTES):
        first = max(at - len(_MAGICS[0]) + 1, start)  # one may lie across the border
        piece = bytes(view[first : min(at + PIECE_BYTES, end)])
        if not is_empty(piece):
            yield from sorted(first + place for magic in _MAGICS for place in _places(piece, magic))


def _places(piece: bytes, magic: bytes) -> Iterator[int]:
    place = piece.find(magic)
    while place >= 0:
        yield place
        place = piece.find(magic, place + 1)


def _is_good(view: memoryview, base: int, at: int, not_before: int) -> bool:
    record = read_record(view, at, base + at)
    return record is not None and record.store_timestamp >= not_before


def _claimed_size(view: memoryview, at: int) -> int:
    size = _SIZE.unpack_from(view, at)[0] if at + _SIZE.size <= len(view) else 0
    return size if RECORD_BYTES_MIN <= size <= len(view) - at else 0


def damaged_end(file: LogBytes, at: int, physical_offset: int) -> int | None:
    """The byte behind the last record of a log, at `at`, if it is all there and wrong; `None` if torn."""
    view, end = file.view, last_data(file, at)
    if end - at < RECORD_BYTES_MIN or has_empty_sector(view, at, end):
        return None
    _, magic, _, _, _, _, physical, *_, body = HEAD.unpack_from(view, at)
    if magic not in (MAGIC_V1, MAGIC_V2) or physical != physical_offset:
        return end  # the first sector is not empty, so it would be right in a torn record
    # Its last byte is none of zero, so the record ends where the bytes do, by one of its two accounts of it.
    try:
        end_of_parts = parts_of(view, at + HEAD.size + body, magic)[2]
    except (struct.error, IndexError):
        end_of_parts = 0
    return end if end in (at + _claimed_size(view, at), end_of_parts) else None


def last_data(file: LogBytes, at: int) -> int:
    """The byte behind the last one from `at` on that is not zero; `at` when all are."""
    view = file.view
    for start, end in reversed(file.data_from(at)):
        found = data_end(view, start, end)
        if found > start:
            return found
    return at


def has_empty_page(view: memoryview, at: int, end: int) -> bool:
    """Whether a whole page of zeros lies between bytes `at` and `end`."""
    first = at + -at % PAGE_BYTES
    return has_empty_sector(view, first, end - end % PAGE_BYTES, PAGE_BYTES)


def bridge(view: memoryview, base: int, at: int, end: int, store_timestamp: int) -> list[tuple[int, bytes]]:
    """What to write, as (byte, data), so that readers pass over the bytes from `at` to `end` of a log file.

    A blank end where they reach the file's end, otherwise the head and the tail of one record of the rolled
    back type, which no queue and no index lists; what lies between stays, as its body. Apache RocketMQ's
    brokers pass over both. `store_timestamp`, ms: that of the record before.
    """
    size = end - at
    if end == len(view):
        return [(at, _BLANK.pack(size, MAGIC_BLANK))]
    has_crc = size >= RECORD_BYTES_MIN + PROPERTY_CRC_BYTES
    room = size - RECORD_BYTES_MIN - has_crc * PROPERTY_CRC_BYTES
    topic = SET_ASIDE_TOPIC.encode()[: room + 1]
    tail = bytes((len(topic),)) + topic + _SHORT.pack(has_crc * PROPERTY_CRC_BYTES)
    tail_at = end - len(tail) - has_crc * PROPERTY_CRC_BYTES
    body = view[at + HEAD.size : tail_at]
    head = HEAD.pack(
        size, MAGIC_V1, body_crc(body), 0, 0, 0, base + at, SysFlag.TRANSACTION_ROLLBACK, store_timestamp,
        _NO_HOST, store_timestamp, _NO_HOST, 0, 0, len(body),
    )  # fmt: skip
    if has_crc:
        # A broker that verifies these CRCs takes a record without one for the end of the log.
        tail += property_crc(b"".join((head, body, tail)))
    return [(at, head), (tail_at, tail)]
