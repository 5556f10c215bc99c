"""HTTP/2 of one connection, on the server's side.

What comes is judged by `h2`, but for the most frequent kinds: windows that are opened, and data, of which h2
looks at each byte. What leaves is written here, in the order in which it was said: few kinds of frames, and
always the same fields. Sources: RFC 9113; PROTOCOL-HTTP2.md of grpc/grpc.
"""

from __future__ import annotations

from typing import Any, Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event, StreamReset
from h2.exceptions import ProtocolError, StreamClosedError
from h2.settings import SettingCodes, Settings

from mqframe_grpc.transport.fields import NO_TABLE, FieldReader
from mqframe_grpc.transport.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEAD_BYTES,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    RST_STREAM,
    WINDOW_UPDATE,
    HttpBroken,
    HttpFrame,
    frame_head,
)
from mqframe_grpc.transport.limits import GrpcLimits

WINDOW_BYTES: Final = 16 << 20
"""What a client may send on one connection before it is told that it was taken."""
WINDOW_SPARE_BYTES: Final = 1 << 16
"""As much more than a whole message a client may send for one call."""
_WINDOW_MAX: Final = (1 << 31) - 1
_WINDOW_FIRST: Final = (1 << 16) - 1
_WINDOW_UPDATE_BYTES: Final = 4
_SWEPT_MIN: Final = 64
_CONFIG: Final = H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_inbound_headers=False,  # `heads` looks at what matters to a call
    normalize_inbound_headers=False,
)


class _NoEncoder:
    """What h2 tells of the client's table: none is used."""

    header_table_size = 0


class _Judge(H2Connection):
    """h2, without what grows with each call that ever was, or costs as much for each call as there are."""

    MAX_CLOSED_STREAMS = 1024

    def __init__(self) -> None:
        super().__init__(_CONFIG)
        self.encoder: Any = _NoEncoder()
        self.decoder = FieldReader()
        self._swept = 0

    @property
    def open_inbound_streams(self) -> int:
        """None: whoever serves them counts them. Forgets those that are over, at times."""
        if len(self.streams) >= 2 * self._swept + _SWEPT_MIN:
            self._swept = super().open_inbound_streams
        return 0


class Http:
    """One connection. `sent`: frames with something in them that left; whoever counts them sets it to 0.

    `granted`: bytes that the client may send on all streams together. Whatever is to be sent waits until
    somebody takes it.
    """

    __slots__ = ("_begun", "_h2", "_out", "granted", "sent")

    def __init__(self, limits: GrpcLimits) -> None:
        self._h2 = h2 = _Judge()
        self._out = bytearray()
        self._begun = False
        self.sent = 0
        self.granted = _WINDOW_FIRST
        window = min(limits.message_bytes_max + WINDOW_SPARE_BYTES, _WINDOW_MAX)
        values = {
            SettingCodes.MAX_HEADER_LIST_SIZE: limits.headers_bytes_max,
            # A whole message fits, so that one that is half there never waits for others.
            SettingCodes.INITIAL_WINDOW_SIZE: window,
            SettingCodes.MAX_CONCURRENT_STREAMS: limits.calls_max,
        }
        h2.local_settings = Settings(client=False, initial_values=values)
        h2.decoder.max_header_list_size = limits.headers_bytes_max
        h2.initiate_connection()
        h2.receive_data(PREFACE)
        self._out += h2.data_to_send()
        self.give_back(WINDOW_BYTES)

    # What came

    def receive(self, raw: bytes) -> list[Event]:
        """What the frame `raw` means, one of other kinds than the next ones.

        Raises `HttpBroken` for one that may not be.
        """
        h2 = self._h2
        try:
            events = h2.receive_data(raw)
        except ProtocolError as problem:
            h2.clear_outbound_data_buffer()  # its farewell: there is one for all reasons
            raise HttpBroken(problem.error_code, f"{type(problem).__name__}: {problem}") from None
        except Exception as problem:  # isolation boundary: bytes that h2 does not expect end one connection
            text = f"{type(problem).__name__}: {problem}"
            raise HttpBroken(ErrorCodes.INTERNAL_ERROR, text) from problem
        if out := h2.data_to_send():
            self._out += out
        return events

    def opened(self, frame: HttpFrame) -> bool:
        """A window is opened, as for each call; whether its stream, if it was that of one, bore it.

        Raises `HttpBroken`. Sources: RFC 9113, sections 5.1, 6.9 and 6.9.1.
        """
        h2, number = self._h2, frame.number
        if frame.size != _WINDOW_UPDATE_BYTES:
            raise HttpBroken(ErrorCodes.FRAME_SIZE_ERROR, f"a window is opened in {frame.size} bytes")
        more = int.from_bytes(frame.raw[HEAD_BYTES:], "big") & _WINDOW_MAX
        if not more:
            raise HttpBroken(ErrorCodes.PROTOCOL_ERROR, "a window is opened by nothing")
        if not number:
            h2.outbound_flow_control_window += more
            if h2.outbound_flow_control_window > _WINDOW_MAX:
                raise HttpBroken(ErrorCodes.FLOW_CONTROL_ERROR, "the window of all calls overflows")
            return True
        stream = h2.streams.get(number)
        if stream is None or stream.closed:
            self._check_begun(number)
            return True
        stream.outbound_flow_control_window += more
        if stream.outbound_flow_control_window <= _WINDOW_MAX:
            return True
        self.reset(number, ErrorCodes.FLOW_CONTROL_ERROR)
        return False

    def data_came(self, frame: HttpFrame) -> list[Event]:
        """What data means: nothing on a stream that has ended. Raises `HttpBroken`.

        Sources: RFC 9113, sections 5.1, 6.1 and 6.9.
        """
        h2, number, raw, start, end = self._h2, frame.number, frame.raw, HEAD_BYTES, len(frame.raw)
        self.granted -= frame.size
        if self.granted < 0:
            raise HttpBroken(ErrorCodes.FLOW_CONTROL_ERROR, "more data than all calls have room for")
        if frame.flags & PADDED:
            padding = raw[start] if frame.size else 1
            start, end = start + 1, end - padding
            if end < start:
                raise HttpBroken(ErrorCodes.PROTOCOL_ERROR, "data with more padding than there is")
        stream = h2.streams.get(number)
        if stream is None or stream.closed:
            self._check_begun(number)
            return []
        try:
            return stream.receive_data(raw[start:end], bool(frame.flags & END_STREAM), frame.size)[1]
        except StreamClosedError:  # the client had ended its side
            code = ErrorCodes.STREAM_CLOSED
            self._send_reset(number, code)
            return [StreamReset(stream_id=number, error_code=code, remote_reset=False)]
        except ProtocolError as problem:
            raise HttpBroken(problem.error_code, f"{type(problem).__name__}: {problem}") from None

    def _check_begun(self, number: int) -> None:
        if number > self._h2.highest_inbound_stream_id or not number & 1:
            raise HttpBroken(ErrorCodes.PROTOCOL_ERROR, f"a frame of stream {number}, which never began")

    def give_back(self, size: int, number: int = 0) -> None:
        """Let the client send `size` bytes more, on the stream `number`, 0: on all of them together."""
        if number:
            self._h2.streams[number].increase_flow_control_window(size)
        else:
            self.granted += size
        self._out += frame_head(4, WINDOW_UPDATE, 0, number) + size.to_bytes(4, "big")

    # What leaves

    @property
    def pending(self) -> int:
        """Bytes that wait to be taken."""
        return len(self._out)

    def take(self) -> bytearray:
        """What is to be sent now."""
        out, self._out = self._out, bytearray()
        return out

    def headers(self, number: int, block: bytes, *, end: bool = False) -> None:
        """Send a block of header fields; `end`: nothing follows on the stream."""
        if not self._begun:
            self._begun = True
            block = NO_TABLE + block
        self.sent += 1
        self._out += frame_head(len(block), HEADERS, END_HEADERS | END_STREAM if end else END_HEADERS, number)
        self._out += block

    @property
    def window(self) -> int:
        """Bytes that the client has room for on all streams together."""
        return self._h2.outbound_flow_control_window

    def room(self, number: int) -> int:
        """Bytes that the client has room for on the stream, in one frame."""
        h2 = self._h2
        return min(
            h2.outbound_flow_control_window,
            h2.streams[number].outbound_flow_control_window,
            h2.max_outbound_frame_size,
        )

    def data(self, number: int, piece: bytes | memoryview) -> None:
        """Send so much of a message; there has to be room for it."""
        h2, size = self._h2, len(piece)
        h2.outbound_flow_control_window -= size
        h2.streams[number].outbound_flow_control_window -= size
        self.sent += 1
        self._out += frame_head(size, DATA, 0, number)
        self._out += piece

    def forget(self, number: int) -> None:
        """Both sides have ended the stream."""
        self._h2.streams.pop(number, None)

    def reset(self, number: int, code: ErrorCodes) -> None:
        """End the stream, whatever the client is about to send on it. Without effect when it has ended."""
        stream = self._h2.streams.get(number)
        if stream is None or stream.closed:
            return
        stream.reset_stream(code)
        self._send_reset(number, code)

    def _send_reset(self, number: int, code: ErrorCodes) -> None:
        self._out += frame_head(4, RST_STREAM, 0, number) + int(code).to_bytes(4, "big")

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._out += frame_head(8, PING, 0, 0) + b"mqframe?"

    def go_away(self, code: ErrorCodes) -> None:
        """Say that streams the client opens from now on are not served."""
        last = self._h2.highest_inbound_stream_id
        self._out += frame_head(8, GOAWAY, 0, 0) + last.to_bytes(4, "big") + int(code).to_bytes(4, "big")
