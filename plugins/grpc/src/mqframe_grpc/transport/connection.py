"""One connection of a client that speaks gRPC over HTTP/2.

HTTP/2 itself is that of `h2`. Bounds that it leaves to its users are kept here: how much is read in one turn
of the loop, how often calls are cancelled, and how much waits for those who do not read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from google.protobuf.message import DecodeError
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingReceived,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from mqframe.core.clock import TimerClock
from mqframe.log import get_logger
from mqframe.net.addresses import address_text
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import ROOM_BYTES, GrpcCall, Method
from mqframe_grpc.transport.limits import GrpcLimits
from mqframe_grpc.transport.messages import Incoming, framed
from mqframe_grpc.transport.status import GrpcError, GrpcStatus, message_field, timeout_seconds
from mqframe_grpc.transport.steps import Finished, run_at_once

log = get_logger("grpc")

TURN_BYTES: Final = 64 << 10
"""So much of a connection is looked at before others have their turn."""
WINDOW_BYTES: Final = 16 << 20
"""What a client may send on one connection before it is told that it was taken."""
_HEAD: Final = [(":status", "200"), ("content-type", "application/grpc")]
_OK_TRAILERS: Final = [("grpc-status", "0")]
_CONFIG: Final = H2Configuration(
    client_side=False,
    header_encoding="utf-8",
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)


class Connections(Protocol):
    """What all connections of a server share."""

    limits: GrpcLimits
    methods: Mapping[str, Method]

    @property
    def clock(self) -> TimerClock:
        """The time of deadlines."""

    def entered(self, connection: GrpcConnection) -> bool:
        """A connection was opened; whether there is room for it."""

    def left(self, connection: GrpcConnection) -> None:
        """It ended."""

    def partial(self, connection: GrpcConnection, size: int) -> None:
        """Of requests on it, `size` bytes came, and the rest did not."""

    def unsent(self, connection: GrpcConnection, size: int) -> None:
        """`size` bytes of answers wait on it."""

    def flooded(self, connection: GrpcConnection, what: str) -> None:
        """It is closed, for it sends too much of `what`."""


class GrpcConnection(asyncio.Protocol):
    """Serves the calls of one connection by the methods of `server`. `last_read`: monotonic seconds."""

    def __init__(self, server: Connections) -> None:
        self._server = server
        self._clock = server.clock
        self._limits = server.limits
        self._http = H2Connection(_CONFIG)
        self._calls: dict[int, GrpcCall] = {}
        self._transport: asyncio.Transport | None = None
        self._flush_due = False
        self._taken_bytes = 0
        self._partial_bytes = 0
        self._unsent_bytes = 0
        self._second = 0
        self._resets = 0
        self._signals = 0
        self._later = bytearray()
        self._paused = False
        self._paused_since = 0.0
        self._pinged = False
        self.last_read = self._clock.monotonic()
        self.address = ""
        self._on: dict[type, Callable[[Any], None]] = {
            RequestReceived: self._request,
            DataReceived: self._data,
            StreamEnded: self._request_ended,
            StreamReset: self._reset,
            WindowUpdated: self._window,
            RemoteSettingsChanged: self._settings,
            PingReceived: self._signal,
            ConnectionTerminated: self._terminated,
        }

    def __repr__(self) -> str:
        return f"<GrpcConnection {self.address}>"

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say what may be sent here (asyncio.Protocol)."""
        self._transport = cast("asyncio.Transport", transport)
        self.address = address_text(transport.get_extra_info("peername"))
        if not self._server.entered(self):
            self._transport.abort()
            return
        http, limits = self._http, self._limits
        http.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: limits.calls_max,
                SettingCodes.MAX_HEADER_LIST_SIZE: limits.headers_bytes_max,
                # A whole message fits, so that one that is half there never waits for others.
                SettingCodes.INITIAL_WINDOW_SIZE: limits.message_bytes_max + (1 << 16),
            },
        )
        http.initiate_connection()
        http.increment_flow_control_window(WINDOW_BYTES)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Serve what came, some of it in later turns where it is much (asyncio.Protocol)."""
        self.last_read = self._clock.monotonic()
        self._pinged = False
        if self._later:
            self._later += data
            return
        if len(data) > TURN_BYTES:
            self._later += data[TURN_BYTES:]
            data = data[:TURN_BYTES]
            self._transport_now.pause_reading()
            asyncio.get_running_loop().call_soon(self._go_on)
        self._take(data)

    def _go_on(self) -> None:
        data = bytes(self._later[:TURN_BYTES])
        del self._later[:TURN_BYTES]
        if self._later:
            asyncio.get_running_loop().call_soon(self._go_on)
        elif not self._transport_now.is_closing():
            self._transport_now.resume_reading()
        if data and not self._transport_now.is_closing():
            self._take(data)

    def pause_writing(self) -> None:
        """The client does not read (asyncio.Protocol)."""
        self._paused = True
        self._paused_since = self._clock.monotonic()

    def resume_writing(self) -> None:
        """It does again (asyncio.Protocol)."""
        self._paused = False
        self._pump_all()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel what was being served (asyncio.Protocol)."""
        for call in tuple(self._calls.values()):
            self._end(call)
        self._server.left(self)

    @property
    def _transport_now(self) -> asyncio.Transport:
        assert self._transport is not None, "used before it was opened"
        return self._transport

    # For the server

    @property
    def certificate(self) -> str:
        """The common name in the client's certificate; "" where it showed none that is trusted."""
        found = self._transport_now.get_extra_info("peer_name")
        return str(found or "")

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait to leave."""
        waiting = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._unsent_bytes + waiting

    @property
    def calls(self) -> int:
        """How many calls are open."""
        return len(self._calls)

    def close(self, error: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        """Tell the client that no call is served any more, and close once that has left."""
        if self._transport is None or self._transport.is_closing():
            return
        with contextlib.suppress(ProtocolError):  # it was told already
            self._http.close_connection(error)
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def look(self, now: float) -> None:
        """Close the connection when nobody needs it, or the client does not answer. `now`: monotonic s."""
        limits = self._limits
        if self._paused and now - self._paused_since >= limits.stalled_seconds:
            log.info("client does not read; connection closed", peer=self.address)
            self.abort()
        elif not self._calls:
            if now - self.last_read >= limits.idle_seconds:
                self.close()
        elif now - self.last_read >= limits.idle_seconds:
            self.abort()
        elif now - self.last_read >= limits.idle_seconds / 2 and not self._pinged:
            self._pinged = True
            self._http.ping(b"mqframe?")
            self._flush()

    # What came

    def _take(self, data: bytes) -> None:
        try:
            events = self._http.receive_data(data)
            for event in events:
                if (serve := self._on.get(type(event))) is not None:
                    serve(event)
        except ProtocolError as problem:
            log.info("client broke HTTP/2; connection closed", peer=self.address, problem=str(problem))
            self._flush()
            self._transport_now.close()
            return
        if self._taken_bytes >= WINDOW_BYTES // 4:
            self._http.increment_flow_control_window(self._taken_bytes)
            self._taken_bytes = 0
        self._flush()

    def _request(self, event: RequestReceived) -> None:
        fields: dict[str, str] = {}
        for name, value in cast("list[tuple[str, str]]", event.headers):
            fields.setdefault(name, value)
        number = event.stream_id
        if not fields.get("content-type", "").startswith("application/grpc"):
            self._http.send_headers(number, [(":status", "415")], end_stream=True)
            self._refuse_rest(number)
            return
        method = self._server.methods.get(fields.get(":path", ""))
        try:
            if method is None:
                path = fields.get(":path", "")[:200]
                raise GrpcError(GrpcStatus.UNIMPLEMENTED, f"Method not found: {path.lstrip('/')}")
            seconds = timeout_seconds(fields.get("grpc-timeout"))
        except GrpcError as problem:
            self._http.send_headers(number, [*_HEAD, *_trailers(problem)], end_stream=True)
            self._refuse_rest(number)
            return
        deadline = None if seconds is None else self._clock.monotonic() + seconds
        incoming = Incoming(fields.get("grpc-encoding", "identity"), self._limits.message_bytes_max)
        call = self._calls[number] = GrpcCall(self, number, method, fields, deadline, incoming)
        if method.both_ways:
            self._start(call, method.serve(call))

    def _refuse_rest(self, number: int) -> None:
        """Have the client send no body of a call that was answered already."""
        with contextlib.suppress(ProtocolError):  # it has ended by itself
            self._http.reset_stream(number, ErrorCodes.NO_ERROR)

    def _data(self, event: DataReceived) -> None:
        size = event.flow_controlled_length
        self._taken_bytes += size
        call = self._calls.get(event.stream_id)
        if call is None or call.trailers is not None:
            return
        if not event.data:
            self._signal(event)
            return
        before = call.incoming.partial_bytes
        try:
            messages = call.incoming.feed(event.data)
        except GrpcError as problem:
            self._finish(call, problem)
            self._refuse_rest(call.number)
            return
        self._signals = 0
        self._partly(call.incoming.partial_bytes - before)
        for message in messages:
            if call.method.both_ways:
                if not call.arrived(message, len(message)):
                    self._finish(call, GrpcError(GrpcStatus.RESOURCE_EXHAUSTED, "too many requests wait"))
                    return
            elif not call.started:
                self._serve(call, message)
            else:
                self._finish(call, GrpcError(GrpcStatus.INTERNAL, "a second request in a call of one"))
                return

    def _partly(self, more: int) -> None:
        if more:
            self._partial_bytes += more
            self._server.partial(self, self._partial_bytes)

    def _request_ended(self, event: StreamEnded) -> None:
        call = self._calls.get(event.stream_id)
        if call is None or call.trailers is not None:
            return
        if call.incoming.partial_bytes or not (call.started or call.method.both_ways):
            self._finish(call, GrpcError(GrpcStatus.INTERNAL, "the request was cut off"))
        else:
            call.no_more()

    def _reset(self, event: StreamReset) -> None:
        if event.remote_reset:
            second = int(self._clock.monotonic())
            self._resets = self._resets + 1 if second == self._second else 1
            self._second = second
            if self._resets > self._limits.resets_max:
                self._flooded("cancelled calls")
                return
        call = self._calls.get(event.stream_id)
        if call is not None:
            self._end(call)

    def _window(self, event: WindowUpdated) -> None:
        if event.stream_id:
            call = self._calls.get(event.stream_id)
            if call is not None and call.waiting:
                self._pump(call)
                return
        else:
            self._pump_all()
        self._signal(event)

    def _settings(self, event: RemoteSettingsChanged) -> None:
        self._signal(event)
        self._pump_all()

    def _terminated(self, event: ConnectionTerminated) -> None:
        # Calls that are open are served; the client closes when it has their answers.
        if not self._calls:
            self._transport_now.close()

    def _signal(self, event: object) -> None:
        """A frame that carries nothing: some between two that do are as it should be."""
        self._signals += 1
        if self._signals > self._limits.signals_max:
            self._flooded("frames without anything in them")

    def _flooded(self, what: str) -> None:
        self._server.flooded(self, what)
        self.close(ErrorCodes.ENHANCE_YOUR_CALM)

    # Serving

    def _serve(self, call: GrpcCall, message: bytes) -> None:
        try:
            request = call.method.asked.FromString(message)
        except DecodeError as problem:
            self._finish(call, GrpcError(GrpcStatus.INTERNAL, f"the request cannot be read: {problem}"))
            return
        self._start(call, call.method.serve(call, request))

    def _start(self, call: GrpcCall, work: Any) -> None:
        call.started = True
        try:
            rest = run_at_once(work)
        except Exception as problem:  # isolation boundary: of this call alone
            self._failed(call, problem)
            return
        if isinstance(rest, Finished):
            self._finish(call, rest.result)
            return
        call.task = asyncio.ensure_future(rest)
        call.task.add_done_callback(lambda task: self._done(call, task))
        if call.deadline is not None and not call.method.both_ways:
            seconds = max(0.0, call.deadline - self._clock.monotonic())
            call.timer = self._clock.call_later(seconds, lambda: self._too_late(call))

    def _done(self, call: GrpcCall, task: asyncio.Task[Any]) -> None:
        if call.ended:
            if not task.cancelled() and (problem := task.exception()) is not None:
                log.error("call failed after its end", peer=self.address, exc_info=problem)
            return
        if task.cancelled():
            self._finish(call, GrpcError(GrpcStatus.CANCELLED, "given up"))
        elif (problem := task.exception()) is not None:
            self._failed(call, problem)
        else:
            self._finish(call, task.result())
        self._flush_soon()

    def _failed(self, call: GrpcCall, problem: BaseException) -> None:
        if not isinstance(problem, GrpcError):
            log.error("call failed", peer=self.address, exc_info=problem)
            problem = GrpcError(GrpcStatus.INTERNAL, f"{type(problem).__name__}: {problem}")
        self._finish(call, problem)

    def _too_late(self, call: GrpcCall) -> None:
        if not call.ended and call.trailers is None:
            self._finish(call, GrpcError(GrpcStatus.DEADLINE_EXCEEDED, "the time of the call is over"))
            self._flush_soon()

    def _finish(self, call: GrpcCall, outcome: m.ProtoMessage | GrpcError | None) -> None:
        """Send what a call ends with, once all that waits has left."""
        if call.ended or call.trailers is not None:
            return
        if isinstance(outcome, GrpcError):
            call.trailers = _trailers(outcome)
        else:
            call.trailers = _OK_TRAILERS
            if outcome is not None:
                self._put(call, framed(outcome.SerializeToString()))
        if not call.waiting:
            self._send_trailers(call)
        if isinstance(outcome, GrpcError) and call.task is not None:
            call.task.cancel()

    def _send_trailers(self, call: GrpcCall) -> None:
        try:
            if not call.headed:
                call.headed = True
                self._http.send_headers(call.number, [*_HEAD, *(call.trailers or ())], end_stream=True)
            else:
                self._http.send_headers(call.number, call.trailers or _OK_TRAILERS, end_stream=True)
        except ProtocolError:
            pass  # the client has given the call up
        self._end(call)

    def _end(self, call: GrpcCall) -> None:
        """Nothing more is sent or taken."""
        if call.ended:
            return
        call.ended = True
        self._calls.pop(call.number, None)
        self._partly(-call.incoming.partial_bytes)
        self._unsent(-call.waiting_bytes)
        call.waiting.clear()
        if call.timer is not None:
            call.timer.cancel()
        if call.task is not None and not call.task.done():
            call.task.cancel()

    # What leaves

    def send(self, call: GrpcCall, data: bytes) -> None:
        """Have `data` leave behind what waits already (`Carrier`)."""
        if not call.ended:
            self._put(call, data)
            self._flush_soon()

    def taken(self, call: GrpcCall, size: int) -> None:
        """Let the client send as much again (`Carrier`)."""
        if not call.ended and size:
            try:
                self._http.increment_flow_control_window(size, call.number)
            except ProtocolError:
                return  # the client has ended its side
            self._flush_soon()

    def _put(self, call: GrpcCall, data: bytes) -> None:
        if not call.headed:
            call.headed = True
            self._http.send_headers(call.number, _HEAD)
        call.waiting.append(data)
        call.waiting_bytes += len(data)
        self._unsent(len(data))
        self._pump(call)

    def _unsent(self, more: int) -> None:
        self._unsent_bytes += more

    def _pump_all(self) -> None:
        for call in [each for each in self._calls.values() if each.waiting]:
            self._pump(call)

    def _pump(self, call: GrpcCall) -> None:
        """Send what the client has room for."""
        http, waiting = self._http, call.waiting
        try:
            while waiting and not self._paused:
                room = http.local_flow_control_window(call.number)
                data = waiting[0]
                size = min(room, http.max_outbound_frame_size, len(data))
                if size <= 0:
                    break
                http.send_data(call.number, data[:size] if size < len(data) else data)
                call.waiting_bytes -= size
                self._unsent(-size)
                if size == len(data):
                    waiting.popleft()
                else:
                    waiting[0] = data[size:]
        except ProtocolError:
            self._end(call)  # the client has given it up
            return
        if call.waiting_bytes <= ROOM_BYTES:
            call.has_room()
        if not waiting and call.trailers is not None:
            self._send_trailers(call)

    def _flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if data := self._http.data_to_send():
            transport.write(data)
        if self._unsent_bytes or self._paused:
            self._server.unsent(self, self.unsent_bytes)


def _trailers(problem: GrpcError) -> list[tuple[str, str]]:
    return [("grpc-status", str(int(problem.status))), ("grpc-message", message_field(problem.text))]
