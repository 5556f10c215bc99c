"""Blocks of header fields (HPACK, RFC 7541): written without a table, and read by that of `hpack`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

NO_TABLE: Final = b"\x20"
"""Begins the first block of a connection: no table is used, whatever the other side has room for."""
_STATUS: Final = {200: b"\x88", 204: b"\x89", 400: b"\x8c", 404: b"\x8d", 500: b"\x8e"}
"""Those of the static table."""
_LONG: Final = 127


def status_block(status: int) -> bytes:
    """The field `:status`."""
    return _STATUS.get(status) or b"\x08" + _text(b"%d" % status)


def block_of(fields: Iterable[tuple[str, str]]) -> bytes:
    """`fields` (ASCII), each as a literal that is not to be remembered: nothing a client makes a server say
    takes memory at either side."""
    return b"".join(b"\0" + _text(name.encode()) + _text(value.encode()) for name, value in fields)


def _text(raw: bytes) -> bytes:
    size = len(raw)
    if size < _LONG:
        return bytes((size,)) + raw
    head = bytearray((_LONG,))
    size -= _LONG
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head) + raw
