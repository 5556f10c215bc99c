"""The body of a batch request: messages back to back (wire.md §6).

total i32, magic i32 (0), CRC i32 (0), flag i32, body length i32, body, properties length i16, properties.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from mqframe.core.errors import BodyError

_HEAD: Final = struct.Struct(">iiiii")
_SHORT: Final = struct.Struct(">h")
_SIZES: Final = struct.Struct(">i12xi")
_SMALL_BYTES: Final = 512
"""Messages up to this are searched whole sooner than one by one."""
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


def may_hold(batch: bytes, words: Sequence[bytes], common: bytes = b"") -> bool:
    """Whether one of `words` may stand in the properties of some message; `False`: it surely does not.

    Much quicker than to take the messages apart. Of large ones the bodies are passed over. A batch that is
    no whole one may hold anything. `common`: what all `words` have in them, searched first.
    """
    at, end = 0, len(batch)
    if end < _SIZES.size or _SIZES.unpack_from(batch)[0] <= _SMALL_BYTES:
        return common in batch and any(word in batch for word in words)
    find, sizes = batch.find, _SIZES.unpack_from
    while at < end:
        if at + ELEMENT_OVERHEAD_BYTES > end:
            return True
        size, body_length = sizes(batch, at)
        if body_length < 0 or size < ELEMENT_OVERHEAD_BYTES + body_length:
            return True
        start, at = at + ELEMENT_OVERHEAD_BYTES + body_length, at + size
        if find(common, start, at) >= 0 and any(find(word, start, at) >= 0 for word in words):
            return True
    return at > end
