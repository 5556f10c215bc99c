"""How calls end on the level of gRPC: its status codes, and the text forms of its header fields.

Source: the gRPC protocol over HTTP/2 (PROTOCOL-HTTP2.md of grpc/grpc).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final
from urllib.parse import quote

from mqframe.core.errors import FixError

_UNITS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_DIGITS_MAX: Final = 8
_TEXT_BYTES_MAX: Final = 1024
_READABLE: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


class GrpcStatus(IntEnum):
    """Those of gRPC's status codes that a server has a use for."""

    OK = 0
    CANCELLED = 1
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


class GrpcError(FixError):
    """A call ends with a status of gRPC, without an answer. `status`, and `text` for people."""

    def __init__(self, status: GrpcStatus, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def timeout_seconds(text: str | None) -> float | None:
    """What the header field `grpc-timeout` says; `None` without one. Raises `GrpcError`."""
    if text is None:
        return None
    digits, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not digits.isascii() or not digits.isdigit() or len(digits) > _DIGITS_MAX:
        raise GrpcError(GrpcStatus.INTERNAL, f"grpc-timeout {text[:40]!r} is no time, such as 3S or 500m")
    return int(digits) * _UNITS[unit]


def message_field(text: str) -> str:
    """`text`, or its beginning, as the field `grpc-message` carries it."""
    raw = text.encode("utf-8", "replace")
    if len(raw) > _TEXT_BYTES_MAX:
        # No half of a character at the end.
        raw = raw[:_TEXT_BYTES_MAX].decode("utf-8", "ignore").encode()
    return quote(raw, safe=_READABLE)
