"""The answer to acknowledgements that all went well, as most do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import status

_MORE: Final = 0x80


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes, as protobuf writes it."""
    size = len(content)
    head = bytearray((number << 3 | 2,))
    while size >= _MORE:
        head.append(size & 0x7F | _MORE)
        size >>= 7
    head.append(size)
    return bytes(head) + content


_STATUS: Final = status(m.Code.OK).SerializeToString()
_WHOLE: Final = _field(1, _STATUS)
_OF_ENTRY: Final = _field(3, _STATUS)


def all_done(entries: Sequence[tuple[str, str]]) -> m.AckMessageResponse:
    """OK for each message id and receipt handle of `entries`, and for the whole.

    To have it read from its bytes takes half the time that setting its fields does.
    """
    parts = [_WHOLE]
    for message_id, handle in entries:
        entry = _OF_ENTRY
        if handle:
            entry = _field(2, handle.encode()) + entry
        if message_id:
            entry = _field(1, message_id.encode()) + entry
        parts.append(_field(2, entry))
    return m.AckMessageResponse.FromString(b"".join(parts))
