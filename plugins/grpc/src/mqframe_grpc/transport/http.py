"""HTTP/2 of one connection, on the server's side: what comes is judged, what leaves is written.

Calls of gRPC need little of it: streams that clients open, fields, data, windows. The rest is refused, or
passed over where the protocol says so. Sources: RFC 9113; PROTOCOL-HTTP2.md of grpc/grpc.

| a frame for   | an open stream           | one that the client has ended | one that is over     |
|---------------|--------------------------|-------------------------------|----------------------|
| HEADERS       | trailers, if they end it | the stream is reset           | the connection ends* |
| DATA          | is handed on             | the stream is reset           | is answered by one*  |
| RST_STREAM    | it is over               | it is over                    | nothing              |
| WINDOW_UPDATE | there is room            | there is room                 | nothing              |

*: nothing where the stream was reset: what was under way meanwhile is no offence. A frame for a stream that
never began ends the connection.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from mqframe_grpc.transport.fields import NO_TABLE, FieldReader, MakeReader, block_of, status_block
from mqframe_grpc.transport.frames import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES_MAX,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITIZED,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    HttpBroken,
    HttpFrame,
    frame_head,
)
from mqframe_grpc.transport.limits import GrpcLimits
from mqframe_grpc.transport.streams import Data, Fields, HttpStream

WINDOW_BYTES: Final = 16 << 20
"""What a client may send on one connection before it is told that it was taken."""
WINDOW_SPARE_BYTES: Final = 1 << 16
"""As much more than a whole message a client may send for one call."""
ANSWER_HEAD: Final = status_block(200) + block_of([("content-type", "application/grpc")])
"""The fields by which an answer begins."""
ANSWER_OK: Final = block_of([("grpc-status", "0")])
"""Those by which one ends well."""
_WINDOW_MAX: Final = (1 << 31) - 1
_WINDOW_FIRST: Final = (1 << 16) - 1
_LONGEST_FRAME: Final = (1 << 24) - 1
_RESET_KEPT: Final = 2048
"""As many streams that were reset are remembered, the latest of them."""
_PRIORITY_BYTES: Final = 5
_NUMBER_BYTES: Final = 4
_PING_BYTES: Final = 8

_SETTING: Final = Struct(">HL")
_ENABLE_PUSH: Final = 2
_MAX_CONCURRENT_STREAMS: Final = 3
_INITIAL_WINDOW_SIZE: Final = 4
_MAX_FRAME_SIZE: Final = 5
_MAX_HEADER_LIST_SIZE: Final = 6

_HEAD_FRAME: Final = frame_head(len(ANSWER_HEAD), HEADERS, END_HEADERS, 0)[:-_NUMBER_BYTES]
_OK_FRAME: Final = frame_head(len(ANSWER_OK), HEADERS, END_HEADERS | END_STREAM, 0)[:-_NUMBER_BYTES]


class Http:
    """One connection. `sent`: frames with something in them that left; whoever counts them sets it to 0.

    `granted`: bytes that the client may send on all streams together; `window`: those that it takes;
    `streams`: those that are open, by number; `last`: the number of the newest. `misled`: whether a stream
    was reset for what came; whoever heeds it sets it back. Whatever is to be sent waits until somebody
    takes it.
    """

    __slots__ = (
        "_begun",
        "_block",
        "_block_flags",
        "_first_room",
        "_frame_max",
        "_out",
        "_reader",
        "_reset",
        "_stream_window",
        "granted",
        "last",
        "misled",
        "sent",
        "streams",
        "window",
    )

    def __init__(self, limits: GrpcLimits, reader: MakeReader = FieldReader) -> None:
        self._out = bytearray()
        self._reader = reader(limits.headers_bytes_max)
        self._block = b""
        self._block_flags = 0
        self._begun = False
        self._reset: dict[int, None] = {}
        self._first_room = _WINDOW_FIRST
        self._frame_max = FRAME_BYTES_MAX
        self.streams: dict[int, HttpStream] = {}
        self.last = self.sent = 0
        self.misled = False
        self.window = _WINDOW_FIRST
        # A whole message fits, so that one that is half there never waits for others.
        self._stream_window = min(limits.message_bytes_max + WINDOW_SPARE_BYTES, _WINDOW_MAX)
        settings = (
            (_MAX_CONCURRENT_STREAMS, limits.calls_max),
            (_INITIAL_WINDOW_SIZE, self._stream_window),
            (_MAX_HEADER_LIST_SIZE, limits.headers_bytes_max),
        )
        self._out += frame_head(_SETTING.size * len(settings), SETTINGS, 0, 0)
        for setting in settings:
            self._out += _SETTING.pack(*setting)
        self.granted = _WINDOW_FIRST
        self.give_back(WINDOW_BYTES)

    # What came

    def fields_came(self, frame: HttpFrame) -> Fields | None:
        """Header fields, once their block is whole; `None`: it goes on, or says nothing.

        Raises `HttpBroken`.
        """
        kind, flags, number, content = frame
        if kind == HEADERS:
            if flags & (PADDED | PRIORITIZED):
                content = _bare(content, flags)
            self._block_flags = flags
        else:
            content = self._block + content
        if not flags & END_HEADERS:
            self._block = content
            return None
        self._block = b""
        fields = self._reader.read(content)
        ends = bool(self._block_flags & END_STREAM)
        if number > self.last:
            if not number & 1:
                raise HttpBroken(
                    ErrorCode.PROTOCOL_ERROR, f"a client opens stream {number}, which is the server's"
                )
            self.last = number
            stream = self.streams[number] = HttpStream(number, self._first_room, self._stream_window)
            stream.half_closed = ends
            return Fields(stream, fields, self._reader.read_bytes, opens=True)
        found = self.streams.get(number)
        if found is None and number in self._reset:
            return None
        if found is None:
            raise HttpBroken(ErrorCode.STREAM_CLOSED, f"header fields of stream {number}, which is over")
        if found.half_closed:
            self._mislead(number)
            return None
        if not ends:
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, f"stream {number} goes on after its trailers")
        found.half_closed = True
        self._check_length(found)
        return Fields(found, fields, self._reader.read_bytes, opens=False)

    def data_came(self, frame: HttpFrame) -> Data | None:
        """What data means: nothing on a stream that has ended. Raises `HttpBroken`."""
        _, flags, number, content = frame
        size = len(content)
        self.granted -= size
        if self.granted < 0:
            raise HttpBroken(ErrorCode.FLOW_CONTROL_ERROR, "more data than all calls have room for")
        if flags & PADDED:
            content = _bare(content, flags)
        stream = self.streams.get(number)
        if stream is None:
            self._check_began(number)
            if number not in self._reset:
                self._mislead(number)
            return None
        if stream.half_closed:
            self._mislead(number)
            return None
        stream.granted -= size
        if stream.granted < 0:
            raise HttpBroken(ErrorCode.FLOW_CONTROL_ERROR, "more data than the call has room for")
        if flags & END_STREAM:
            stream.half_closed = True
        if stream.missing is not None:
            stream.missing -= len(content)
            self._check_length(stream)
        return Data(stream, content, size)

    def reset_came(self, frame: HttpFrame) -> HttpStream | None:
        """The stream that the client gives up; `None`: it was over. Raises `HttpBroken`."""
        if len(frame.content) != _NUMBER_BYTES:
            raise HttpBroken(ErrorCode.FRAME_SIZE_ERROR, f"a stream is reset in {len(frame.content)} bytes")
        stream = self.streams.pop(frame.number, None)
        if stream is not None:
            self._remember(frame.number)
        else:
            self._check_began(frame.number)
        return stream

    def opened(self, frame: HttpFrame) -> bool:
        """A window is opened, as for each call; whether its stream, if it was that of one, bore it.

        Raises `HttpBroken`.
        """
        number = frame.number
        if len(frame.content) != _NUMBER_BYTES:
            raise HttpBroken(ErrorCode.FRAME_SIZE_ERROR, f"a window is opened in {len(frame.content)} bytes")
        more = int.from_bytes(frame.content, "big") & _WINDOW_MAX
        if not more:
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "a window is opened by nothing")
        if not number:
            self.window += more
            if self.window > _WINDOW_MAX:
                raise HttpBroken(ErrorCode.FLOW_CONTROL_ERROR, "the window of all calls overflows")
            return True
        stream = self.streams.get(number)
        if stream is None:
            self._check_began(number)
            return True
        stream.room += more
        if stream.room <= _WINDOW_MAX:
            return True
        self.reset(number, ErrorCode.FLOW_CONTROL_ERROR)
        return False

    def settings_came(self, frame: HttpFrame) -> None:
        """What the client takes, which is heeded from now on. Raises `HttpBroken`."""
        content = frame.content
        if frame.number:
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "settings of a stream")
        if len(content) % _SETTING.size or (frame.flags & ACK and content):
            raise HttpBroken(ErrorCode.FRAME_SIZE_ERROR, f"settings of {len(content)} bytes")
        if frame.flags & ACK:
            return
        for name, value in _SETTING.iter_unpack(content):
            if name == _INITIAL_WINDOW_SIZE:
                self._resize_windows(value)
            elif name == _MAX_FRAME_SIZE:
                if not FRAME_BYTES_MAX <= value <= _LONGEST_FRAME:
                    raise HttpBroken(ErrorCode.PROTOCOL_ERROR, f"frames of at most {value} bytes")
                self._frame_max = value
            elif name == _ENABLE_PUSH and value > 1:
                raise HttpBroken(ErrorCode.PROTOCOL_ERROR, f"pushing is set to {value}; 0 and 1 are known")
        self._out += frame_head(0, SETTINGS, ACK, 0)

    def _resize_windows(self, size: int) -> None:
        if size > _WINDOW_MAX:
            raise HttpBroken(ErrorCode.FLOW_CONTROL_ERROR, f"calls begin with a window of {size} bytes")
        more = size - self._first_room
        self._first_room = size
        for stream in self.streams.values():
            stream.room += more
            if stream.room > _WINDOW_MAX:
                raise HttpBroken(ErrorCode.FLOW_CONTROL_ERROR, "the window of a call overflows")

    def ping_came(self, frame: HttpFrame) -> None:
        """A ping, or the answer to one. Raises `HttpBroken`."""
        if frame.number:
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "a ping of a stream")
        if len(frame.content) != _PING_BYTES:
            raise HttpBroken(ErrorCode.FRAME_SIZE_ERROR, f"a ping of {len(frame.content)} bytes")
        if not frame.flags & ACK:
            self._out += frame_head(_PING_BYTES, PING, ACK, 0) + frame.content

    def _check_began(self, number: int) -> None:
        if number > self.last or not number & 1:
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, f"a frame of stream {number}, which never began")

    def _check_length(self, stream: HttpStream) -> None:
        """Raise unless as much has come, or may still come, as the client said it would."""
        missing = stream.missing
        if missing is not None and (missing < 0 or (missing and stream.half_closed)):
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "not as much data as content-length says")

    def _mislead(self, number: int) -> None:
        """The client goes on with what it had ended."""
        self.streams.pop(number, None)
        self.misled = True
        self._send_reset(number, ErrorCode.STREAM_CLOSED)

    def give_back(self, size: int, stream: HttpStream | None = None) -> None:
        """Let the client send `size` bytes more, on `stream`, `None`: on all of them together."""
        if stream is None:
            self.granted += size
        else:
            stream.granted += size
        number = 0 if stream is None else stream.number
        self._out += frame_head(_NUMBER_BYTES, WINDOW_UPDATE, 0, number) + size.to_bytes(_NUMBER_BYTES, "big")

    # What leaves

    @property
    def pending(self) -> int:
        """Bytes that wait to be taken."""
        return len(self._out)

    def take(self) -> bytearray:
        """What is to be sent now."""
        out, self._out = self._out, bytearray()
        return out

    def headers(self, stream: HttpStream, block: bytes, *, end: bool = False) -> None:
        """Send a block of header fields; `end`: nothing follows on the stream."""
        if not self._begun:
            self._begun = True
            block = NO_TABLE + block
        self.sent += 1
        flags = END_HEADERS | END_STREAM if end else END_HEADERS
        self._out += frame_head(len(block), HEADERS, flags, stream.number)
        self._out += block

    def room(self, stream: HttpStream) -> int:
        """Bytes that the client has room for on the stream, in one frame."""
        room = self.window if self.window < stream.room else stream.room
        return room if room < self._frame_max else self._frame_max

    def data(self, stream: HttpStream, piece: bytes | memoryview) -> None:
        """Send so much of a message; there has to be room for it."""
        size = len(piece)
        self.window -= size
        stream.room -= size
        self.sent += 1
        self._out += frame_head(size, DATA, 0, stream.number)
        self._out += piece

    def answer(self, stream: HttpStream, message: bytes) -> None:
        """Send a whole answer: its head, one message, and that it ends well; there has to be room for it."""
        if not self._begun:
            self.headers(stream, ANSWER_HEAD)
            self.data(stream, message)
            self.headers(stream, ANSWER_OK, end=True)
            return
        size = len(message)
        self.window -= size
        stream.room -= size
        self.sent += 3
        number = stream.number
        raw = number.to_bytes(_NUMBER_BYTES, "big")
        head = frame_head(size, DATA, 0, number)
        self._out += b"".join((_HEAD_FRAME, raw, ANSWER_HEAD, head, message, _OK_FRAME, raw, ANSWER_OK))

    def forget(self, stream: HttpStream) -> None:
        """Both sides have ended the stream."""
        self.streams.pop(stream.number, None)

    def reset(self, number: int, code: ErrorCode) -> None:
        """End the stream, whatever the client is about to send on it. Without effect when it is over."""
        if self.streams.pop(number, None) is not None:
            self._send_reset(number, code)

    def _send_reset(self, number: int, code: ErrorCode) -> None:
        self._remember(number)
        self._out += frame_head(_NUMBER_BYTES, RST_STREAM, 0, number) + code.to_bytes(_NUMBER_BYTES, "big")

    def _remember(self, number: int) -> None:
        self._reset[number] = None
        if len(self._reset) > _RESET_KEPT:
            del self._reset[next(iter(self._reset))]

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._out += frame_head(_PING_BYTES, PING, 0, 0) + b"mqframe?"

    def go_away(self, code: ErrorCode) -> None:
        """Say that streams the client opens from now on are not served."""
        self._out += frame_head(2 * _NUMBER_BYTES, GOAWAY, 0, 0)
        self._out += self.last.to_bytes(_NUMBER_BYTES, "big") + code.to_bytes(_NUMBER_BYTES, "big")


def _bare(content: bytes, flags: int) -> bytes:
    """What a frame carries, without its padding and without its priority. Raises `HttpBroken`."""
    start, end = 0, len(content)
    if flags & PADDED:
        end -= content[0] if content else 1
        start = 1
    if flags & PRIORITIZED:
        start += _PRIORITY_BYTES
    if end < start:
        raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "a frame with more padding than there is")
    return content[start:end]
