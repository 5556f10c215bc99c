"""The body of a batch request: messages back to back (wire.md §6).

total i32, magic i32 (0), CRC i32 (0), flag i32, body length i32, body, properties length i16, properties.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from mqframe.core.errors import BodyError

_HEAD: Final = struct.Struct(">iiiii")
_SHORT: Final = struct.Struct(">h")
ELEMENT_OVERHEAD_BYTES: Final = _HEAD.size + _SHORT.size


def encode_element(body: bytes, properties: bytes, flag: int = 0) -> bytes:
    """One message of a batch; `properties` in their text form, UTF-8."""
    size = ELEMENT_OVERHEAD_BYTES + len(body) + len(properties)
    return b"".join((_HEAD.pack(size, 0, 0, flag, len(body)), body, _SHORT.pack(len(properties)), properties))


def decode_batch(batch: bytes | memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """(flag, body, properties) of each message, as views. Raises `BodyError` naming the element and byte."""
    view = memoryview(batch)
    at, end, index = 0, len(view), 0
    while at < end:
        try:
            size, _magic, _crc, flag, body_length = _HEAD.unpack_from(view, at)
            start = at + _HEAD.size
            body_end = start + body_length
            (properties_length,) = _SHORT.unpack_from(view, body_end) if body_length >= 0 else (-1,)
        except struct.error as problem:
            raise BodyError(f"message {index} of the batch, at byte {at}: {problem}") from None
        stop = body_end + 2 + properties_length
        if body_length < 0 or properties_length < 0 or stop - at != size or stop > end:
            raise BodyError(f"message {index} of the batch, at byte {at}: says {size} bytes, has {stop - at}")
        yield flag, view[start:body_end], view[body_end + 2 : stop]
        at = stop
        index += 1
