"""HTTP/2's bytes, cut into frames: what can be refused by their heads alone is refused here.

Sources: RFC 9113, sections 3.4, 4.1, 4.2 and 6.10.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from mqframe.core.errors import FrameError

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES: Final = 9
FRAME_BYTES_MAX: Final = 1 << 14
"""Longest frame that is read, without its head: what every peer has to be content with."""

DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PUSH_PROMISE: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITIZED: Final = 0x20

_HEAD: Final = Struct(">HBBBL")
_NUMBER: Final = 0x7FFFFFFF


class ErrorCode(IntEnum):
    """Why a stream or a connection ends. Source: RFC 9113, section 7."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


class HttpBroken(FrameError):
    """A client does what ends its connection. `code`: how it is told."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class HttpFrame(NamedTuple):
    """One frame. `number`: its stream, 0: the connection; `content`: what is behind its head."""

    kind: int
    flags: int
    number: int
    content: bytes


def frame_head(size: int, kind: int, flags: int, number: int) -> bytes:
    """The first bytes of a frame."""
    return _HEAD.pack(size >> 8, size & 0xFF, kind, flags, number)


class FrameCutter:
    """Takes the frames of one client out of what arrives.

    `headers_bytes_max`: longest block of header fields, packed, with the heads of its frames.
    """

    __slots__ = ("_at", "_block", "_block_bytes", "_data", "_headers_bytes_max", "_preface_read", "_settled")

    def __init__(self, headers_bytes_max: int) -> None:
        self._headers_bytes_max = headers_bytes_max
        self._data = b""
        self._at = 0
        self._preface_read = 0
        self._settled = False
        self._block = 0
        self._block_bytes = 0

    @property
    def held(self) -> int:
        """Bytes of what has not wholly arrived, or was not taken yet."""
        return len(self._data) - self._at + self._block_bytes

    def add(self, data: bytes) -> None:
        """More came."""
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0

    def take(self) -> HttpFrame | None:
        """The next whole frame; `None`: more has to come first.

        Raises `HttpBroken` for bytes that are no HTTP/2, and for a frame that may not come here, or that is
        too long: by its first bytes.
        """
        if self._preface_read < len(PREFACE):
            self._read_preface()
        data, at = self._data, self._at
        if len(data) - at < HEAD_BYTES:
            self._wait()
            return None
        high, low, kind, flags, number = _HEAD.unpack_from(data, at)
        size = high << 8 | low
        if size > FRAME_BYTES_MAX:
            raise HttpBroken(
                ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes; at most {FRAME_BYTES_MAX} are read"
            )
        end = at + HEAD_BYTES + size
        if len(data) < end:
            self._wait()
            return None
        self._at = end
        number &= _NUMBER
        if kind in (HEADERS, CONTINUATION) or self._block or not self._settled:
            self._check_order(kind, flags, number, size)
        return HttpFrame(kind, flags, number, data[at + HEAD_BYTES : end])

    def _wait(self) -> None:
        """Keep of what came only what is needed."""
        if self._at:
            self._data = self._data[self._at :]
            self._at = 0

    def _read_preface(self) -> None:
        read = self._preface_read
        part = self._data[self._at : self._at + len(PREFACE) - read]
        if not PREFACE.startswith(part, read):
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "this is not HTTP/2, as gRPC needs it")
        self._preface_read += len(part)
        self._at += len(part)

    def _check_order(self, kind: int, flags: int, number: int, size: int) -> None:
        if not self._settled:
            if kind != SETTINGS or flags & ACK:
                raise HttpBroken(ErrorCode.PROTOCOL_ERROR, f"the first frame is of kind {kind}, not settings")
            self._settled = True
            return
        if self._block:
            if kind != CONTINUATION or number != self._block:
                raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "another frame within a block of header fields")
        elif kind == CONTINUATION:
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "a block of header fields goes on that never began")
        self._block_bytes += HEAD_BYTES + size
        if self._block_bytes > self._headers_bytes_max:
            raise HttpBroken(
                ErrorCode.ENHANCE_YOUR_CALM,
                f"header fields of {self._block_bytes} bytes; at most {self._headers_bytes_max} are read",
            )
        if flags & END_HEADERS:
            self._block = self._block_bytes = 0
        else:
            self._block = number
