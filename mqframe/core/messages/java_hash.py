"""`java.lang.String.hashCode`, which tags, keys and queue selectors of foreign clients agree on."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_MASK: Final = 0xFFFFFFFF
_CHUNK: Final = 4
_CHUNK_FACTOR: Final = 31**_CHUNK


@lru_cache(maxsize=1 << 16)
def _chunk(text: str) -> int:
    value = 0
    for unit in text.encode("latin-1"):
        value = value * 31 + unit
    return value


def unsigned_hash(text: str, start: int = 0) -> int:
    """The hash of `text` as an unsigned 32-bit number, continuing from `start` (the hash of a prefix)."""
    if not text.isascii():
        return _hash_utf16(text, start)
    # Message keys share long stretches, so four characters at a time are looked up instead of computed.
    whole = len(text) & -_CHUNK
    value = start
    for at in range(0, whole, _CHUNK):
        value = (value * _CHUNK_FACTOR + _chunk(text[at : at + _CHUNK])) & _MASK
    for character in text[whole:]:
        value = (value * 31 + ord(character)) & _MASK
    return value


def _hash_utf16(text: str, start: int) -> int:
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    value = start
    for unit in units:
        value = (value * 31 + unit) & _MASK
    return value


def java_hash(text: str) -> int:
    """The hash of `text` as Java's signed int, in [-2^31, 2^31)."""
    value = unsigned_hash(text)
    return value - (1 << 32) if value & 0x80000000 else value
