"""The remoting frame: bytes in, frames out, and back (wire.md §1).

    4 B length of what follows | 1 B header form, 3 B header length | header | body

`FrameDecoder` takes bytes in any pieces and returns whole frames; it never touches a socket. The body of a
frame is a view of the bytes that came in, not a copy. Sources: RemotingCommand.java,
RocketMQSerializable.java.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, cast

import msgspec

from mqframe.core.codes import LANGUAGE_NUMBERS, LANGUAGES, VERSION
from mqframe.core.errors import FrameError

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""Default limit of a whole frame, its length word included."""

HEADER_BYTES_MAX: Final = (1 << 24) - 1
"""Longest header that a frame can say it has."""
PARTS_MAX: Final = 1024
"""Pieces of a frame under way that are kept before they are joined."""

Body = bytes | bytearray | memoryview


class HeaderForm(IntEnum):
    """How a frame's header is written; its number is the top byte of the header mark."""

    JSON = 0
    ROCKETMQ = 1


class Frame(msgspec.Struct, eq=True):
    """One request or answer.

    `ext` holds the header fields of the request kind as text; `None` where the sender wrote none at all.
    """

    code: int
    opaque: int = 0
    flag: int = 0
    remark: str | None = None
    ext: dict[str, str] | None = None
    body: Body = b""
    language: str = "PYTHON"
    version: int = VERSION
    form: HeaderForm = HeaderForm.JSON


class _JsonHeader(msgspec.Struct):
    code: int
    opaque: int = 0
    flag: int = 0
    version: int = 0
    language: str | None = "OTHER"
    remark: str | None = None
    extFields: dict[str, str] | None = None  # noqa: N815 - the wire's name


class _LaxJsonHeader(_JsonHeader):
    extFields: dict[str, str | int | float | bool | None] | None = None  # type: ignore[assignment]  # noqa: N815


_WORDS: Final = struct.Struct(">iI")
_BINARY: Final = struct.Struct(">hBhiii")
_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_LENGTH_MASK: Final = 0xFFFFFF
_TLS_RECORDS: Final = (0x1603, 0x1503)
"""First bytes of a TLS handshake, and of an alert: what a side that uses TLS says to one that does not."""

_NOTHING: Final = memoryview(b"")
_json_header: Final = msgspec.json.Decoder(_JsonHeader)
_lax_json_header: Final = msgspec.json.Decoder(_LaxJsonHeader)
_encode_json: Final = msgspec.json.Encoder().encode


class FrameDecoder:
    """Cuts a stream of bytes into frames.

    Call `receive` with whatever came, then `next_frame` until it returns `None`. The first bytes that cannot
    be a frame raise `FrameError`, after the good frames before them were returned; the stream is dead then.
    `frame_bytes_max`: longest frame accepted, its length word included; `header_bytes_max`: longest header.
    `untouched`: nothing ever came. `left`: bytes of a frame under way, as of the last `None` of `next_frame`.
    `reads`: how often bytes came; `ended`: what `reads` was when the last frame ended, 0 before any.
    """

    __slots__ = (
        "_buffer", "_frame_bytes_max", "_header_bytes_max", "_need", "_parts", "_parts_bytes", "_position",
        "_small", "ended", "left", "reads", "untouched",
    )  # fmt: skip

    def __init__(
        self, frame_bytes_max: int = FRAME_BYTES_MAX, header_bytes_max: int = HEADER_BYTES_MAX
    ) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._header_bytes_max = header_bytes_max
        self._buffer = _NOTHING
        self._position = 0
        self.left = 0
        self.reads = self.ended = 0
        self.untouched = True
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._small = 0
        self._need = 4

    @property
    def unread_bytes(self) -> int:
        """How many bytes wait here for the rest of their frame."""
        return len(self._buffer) - self._position + self._parts_bytes

    @property
    def unread(self) -> tuple[bytes, int]:
        """What came in one piece with the end of the last frame, and where in that begins what is unread."""
        return cast("bytes", self._buffer.obj), self._position

    def skip(self, size: int) -> None:
        """Pass so many bytes of what is `unread`, all of them of whole frames."""
        self._position += size

    def take_back(self, more: int) -> bytes:
        """The bytes of the frame under way, which are no longer here, if it may end with `more` bytes."""
        if self.unread_bytes + more < self._need:
            return b""
        begun = b"".join([self._buffer[self._position :], *self._parts])
        self.drop()
        return begun

    def drop(self) -> None:
        """Let go of the frame under way: nothing more comes."""
        self._buffer, self._position = _NOTHING, 0
        self._parts.clear()
        self._parts_bytes = self._small = 0
        self._need = 4

    def receive(self, data: bytes) -> None:
        """Take `data` in. It must not change afterwards."""
        self.untouched = False
        self.reads += 1
        if self._position == len(self._buffer) and not self._parts:
            self._buffer = memoryview(data)
            self._position = 0
            self._need = 4
            return
        # A frame is under way: pieces are gathered and joined once, when it is complete.
        parts = self._parts
        parts.append(data)
        self._parts_bytes += len(data)
        if len(parts) - self._small >= PARTS_MAX:
            # An object for each of many small pieces would take many times the room of what is in them.
            parts[self._small :] = [b"".join(parts[self._small :])]
            self._small += 1

    def next_frame(self) -> Frame | None:
        """The next whole frame, or `None` when more bytes are needed."""
        if self._parts:
            # Joining at each piece would copy a large frame as often as it has pieces.
            self.left = self.unread_bytes
            if self.left < self._need:
                return None
            rest = self._buffer[self._position :]
            self._buffer = memoryview(b"".join([rest, *self._parts]))
            self._position = 0
            self._parts.clear()
            self._parts_bytes = self._small = 0
        buffer, at = self._buffer, self._position
        available = len(buffer) - at
        if available < 8:
            if not available:
                self._buffer, self._position = _NOTHING, 0  # a large frame is not kept until the next one
            if available >= 4:
                # Already here: whoever sent no frame may never send four bytes more.
                self._check_length(_INT.unpack_from(buffer, at)[0])
            self._need = 8 if available >= 4 else 4
            self.left = available
            return None
        length, mark = _WORDS.unpack_from(buffer, at)
        self._check_length(length)
        header_length = mark & _LENGTH_MASK
        if header_length > length - 4:
            raise FrameError(f"header of {header_length} bytes in a frame that says it has {length}")
        if header_length > self._header_bytes_max:
            raise FrameError(
                f"header of {header_length} bytes; at most {self._header_bytes_max} are read "
                "(net.header_bytes_max)"
            )
        if available < length + 4:
            self._need = length + 4
            self.left = available
            return None
        start = at + 8 + header_length
        end = at + 4 + length
        self._position = end
        self.ended = self.reads
        frame = decode_header(buffer[at + 8 : start], mark >> 24)
        if start != end:
            frame.body = buffer[start:end]
        return frame

    def _check_length(self, length: int) -> None:
        if length < 4 or length + 4 > self._frame_bytes_max:
            if length >> 16 in _TLS_RECORDS:
                raise FrameError("these bytes are TLS, which this connection does not use")
            raise FrameError(f"frame length {length} is not within 4..{self._frame_bytes_max - 4} bytes")


def decode_header(header: memoryview, form: int) -> Frame:
    """The frame, without body, that `header` describes. Raises `FrameError` when it describes none."""
    if form == HeaderForm.JSON:
        return _decode_json(header)
    if form == HeaderForm.ROCKETMQ:
        return _decode_binary(header)
    raise FrameError(f"unknown header form {form}; JSON (0) and ROCKETMQ (1) are known")


def _decode_json(header: memoryview) -> Frame:
    try:
        raw = _json_header.decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = _decode_lax_json(header)
    return Frame(
        raw.code, raw.opaque, raw.flag, raw.remark, raw.extFields, b"", raw.language or "OTHER", raw.version
    )


def _decode_lax_json(header: memoryview) -> _JsonHeader:
    # Some foreign clients write numbers and booleans bare; Java reads them as text, and so do we.
    try:
        lax = _lax_json_header.decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise FrameError(f"JSON header cannot be read: {problem}") from None
    ext = {k: _text(v) for k, v in (lax.extFields or {}).items() if v is not None}
    return _JsonHeader(lax.code, lax.opaque, lax.flag, lax.version, lax.language, lax.remark, ext)


def _text(value: str | int | float | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _decode_binary(header: memoryview) -> Frame:
    try:
        code, language, version, opaque, flag, remark_length = _BINARY.unpack_from(header)
        at = _BINARY.size
        remark = None
        if remark_length > 0:
            remark = _slice(header, at, remark_length)
            at += remark_length
        (ext_length,) = _INT.unpack_from(header, at)
        at += 4
        ext = _decode_binary_ext(header, at, at + ext_length) if ext_length > 0 else None
    except (struct.error, UnicodeDecodeError) as problem:
        raise FrameError(f"binary header cannot be read: {problem}") from None
    name = LANGUAGES[language] if language < len(LANGUAGES) else "OTHER"
    return Frame(code, opaque, flag, remark, ext, b"", name, version, HeaderForm.ROCKETMQ)


def _decode_binary_ext(header: memoryview, at: int, end: int) -> dict[str, str]:
    if end > len(header):
        raise FrameError(f"header fields end at byte {end} of a header of {len(header)}")
    ext = {}
    while at < end:
        (length,) = _SHORT.unpack_from(header, at)
        at += 2
        key = _slice(header, at, length)
        at += length
        (length,) = _INT.unpack_from(header, at)
        at += 4
        ext[key] = _slice(header, at, length)
        at += length
    return ext


def _slice(header: memoryview, at: int, length: int) -> str:
    if length < 0 or at + length > len(header):
        raise FrameError(f"text of {length} bytes at byte {at} of a header of {len(header)}")
    return str(header[at : at + length], "utf-8")


def encode_frame(frame: Frame) -> bytes:
    """The whole frame as bytes. Raises `FrameError` for a code that the binary form cannot carry."""
    head = encode_head(frame)
    return b"".join((head, frame.body)) if len(frame.body) else head


def encode_head(frame: Frame, body_length: int | None = None) -> bytes:
    """Everything before the body. `body_length`: bytes that will follow; `None`: the frame's own body."""
    if frame.form is HeaderForm.JSON:
        header = _encode_json_header(frame)
    else:
        header = _encode_binary_header(frame)
    length = len(frame.body) if body_length is None else body_length
    return _WORDS.pack(4 + len(header) + length, frame.form << 24 | len(header)) + header


def encode_answer(
    opaque: int, code: int, ext: dict[str, str] | None, remark: str | None, body_length: int
) -> bytes:
    """Everything before the body of the answer to request `opaque`, in JSON as brokers write it."""
    if ext is None and remark is None:
        header = _BARE_ANSWER % (code, opaque, VERSION)
    else:
        header = _ANSWER % (
            code,
            b'"extFields":%b,' % _encode_json(ext) if ext is not None else b"",
            opaque,
            b'"remark":%b,' % _encode_json(remark) if remark is not None else b"",
            VERSION,
        )
    return _WORDS.pack(4 + len(header) + body_length, len(header)) + header


_BARE_ANSWER: Final = (
    b'{"code":%d,"flag":1,"language":"PYTHON","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":%d}'
)
_ANSWER: Final = (
    b'{"code":%d,%b"flag":1,"language":"PYTHON","opaque":%d,%b"serializeTypeCurrentRPC":"JSON","version":%d}'
)


def _encode_json_header(frame: Frame) -> bytes:
    # Keys in the order of Apache RocketMQ (alphabetical), so that recorded frames come out the same.
    ext = b'"extFields":%b,' % _encode_json(frame.ext) if frame.ext is not None else b""
    remark = b'"remark":%b,' % _encode_json(frame.remark) if frame.remark is not None else b""
    return b'{"code":%d,%b"flag":%d,"language":"%b","opaque":%d,%b%b"version":%d}' % (
        frame.code,
        ext,
        frame.flag,
        frame.language.encode(),
        frame.opaque,
        remark,
        b'"serializeTypeCurrentRPC":"JSON",',
        frame.version,
    )


def _encode_binary_header(frame: Frame) -> bytes:
    if not -0x8000 <= frame.code <= 0x7FFF:
        raise FrameError(f"code {frame.code} does not fit the two bytes of a binary header; use JSON")
    remark = (frame.remark or "").encode()
    parts: list[bytes] = []
    for key, value in (frame.ext or {}).items():
        name, text = key.encode(), value.encode()
        parts += (_SHORT.pack(len(name)), name, _INT.pack(len(text)), text)
    ext = b"".join(parts)
    head = _BINARY.pack(
        frame.code,
        LANGUAGE_NUMBERS.get(frame.language, LANGUAGE_NUMBERS["OTHER"]),
        frame.version,
        frame.opaque,
        frame.flag,
        len(remark),
    )
    return b"".join((head, remark, _INT.pack(len(ext)), ext))
