"""The CRC over a whole record, kept as its last property (store.md §2).

`__CRC32#`, 0x01, ten decimal digits, the least significant first, 0x02: the CRC-32 without its top bit of the
record without these 20 bytes. Source: MessageDecoder.createCrc32, CommitLog.checkMessageAndReturnSize.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final
from zlib import crc32

PROPERTY_CRC: Final = "__CRC32#"
PROPERTY_CRC_BYTES: Final = 20
ROOM: Final = b"__CRC32#\x010000000000\x02"
"""Stands in a record until the CRC is known."""
_START: Final = b"__CRC32#\x01"


def property_crc(record: bytes | bytearray | memoryview) -> bytes:
    """The property that guards `record`, which has everything but this property."""
    return b"%s%s\x02" % (_START, (b"%010d" % (crc32(record) & 0x7FFFFFFF))[::-1])


def agrees(record: bytes | bytearray | memoryview) -> bool:
    """Whether `record` agrees with the CRC that it ends with; True when it has none.

    It has one, too, where all is right but the name of that property.
    """
    last = bytes(record[-PROPERTY_CRC_BYTES:])
    if last.startswith(_START):
        return last == property_crc(record[:-PROPERTY_CRC_BYTES])
    digits = last[len(_START) :]
    return not digits[:-1].isdigit() or digits != property_crc(record[:-PROPERTY_CRC_BYTES])[len(_START) :]


def without_crc(properties: str) -> str:
    """`properties`, in text form, without the CRC of the record that they were copied from."""
    if PROPERTY_CRC not in properties:
        return properties
    pairs = properties.split("\x02")
    return "\x02".join(pair for pair in pairs if not pair.startswith(f"{PROPERTY_CRC}\x01"))


def with_room(properties: str) -> str:
    """`properties`, in text form, with `ROOM` for the CRC behind them."""
    separator = "\x02" if properties and not properties.endswith("\x02") else ""
    return f"{properties}{separator}{ROOM.decode()}"


def fill_in(records: bytes, places: Sequence[int]) -> bytes:
    """`records`, all of which end with `ROOM`, with their CRCs.

    `places`: log offset of each, and the one behind the last.
    """
    filled, view, first = bytearray(records), memoryview(records), places[0]
    for place, following in pairwise(places):
        at, end = place - first, following - first - PROPERTY_CRC_BYTES
        filled[end : end + PROPERTY_CRC_BYTES] = property_crc(view[at:end])
    return bytes(filled)
