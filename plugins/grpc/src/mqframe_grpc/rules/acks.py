"""The answer to acknowledgements that all went well, as most do, written without its fields being set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import status

_MORE: Final = 0x80


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes, as protobuf writes it."""
    size = len(content)
    if size < _MORE:
        return b"%c%c%b" % (number << 3 | 2, size, content)
    head = bytearray((number << 3 | 2,))
    while size >= _MORE:
        head.append(size & 0x7F | _MORE)
        size >>= 7
    head.append(size)
    return bytes(head) + content


_OK: Final = status(m.Code.OK)
OK_STATUS: Final = _OK.SerializeToString()
"""The status of each message, and of all together, as it travels."""
_WHOLE: Final = _field(1, OK_STATUS)
_OF_ENTRY: Final = _field(3, OK_STATUS)


class AllDone:
    """An `AckMessageResponse` by which all went well. `data`: as it travels; `status`: OK."""

    __slots__ = ("data",)

    status: Final = _OK

    def __init__(self, data: bytes) -> None:
        self.data = data

    def SerializeToString(self) -> bytes:  # noqa: N802 - as protobuf has it
        """As it travels."""
        return self.data


def all_done(entries: Sequence[tuple[str, str]]) -> AllDone:
    """OK for each message id and receipt handle of `entries`, and for the whole."""
    parts = [_WHOLE]
    for message_id, handle in entries:
        entry = _OF_ENTRY
        if handle:
            entry = _field(2, handle.encode()) + entry
        if message_id:
            entry = _field(1, message_id.encode()) + entry
        parts.append(_field(2, entry))
    return AllDone(b"".join(parts))
