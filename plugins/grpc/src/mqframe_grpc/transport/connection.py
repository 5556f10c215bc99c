"""One connection of a client that speaks gRPC over HTTP/2: its bytes, its turns and its end.

Bounds that a protocol leaves to its servers are kept here: how much is read in one turn of the loop, how much
comes that means nothing, how much waits of those who do not read, and how long nobody needs a connection.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from mqframe.log import get_logger
from mqframe.net.addresses import address_text
from mqframe_grpc.transport.call import GrpcCall
from mqframe_grpc.transport.floods import Floods
from mqframe_grpc.transport.frames import (
    ACK,
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    FrameCutter,
    HttpBroken,
    HttpFrame,
)
from mqframe_grpc.transport.http import WINDOW_BYTES, Http
from mqframe_grpc.transport.open_calls import OpenCalls, Served
from mqframe_grpc.transport.status import GrpcError, GrpcStatus

log = get_logger("grpc")

TURN_BYTES: Final = 64 << 10
"""So much of a connection is looked at before others have their turn, with what is unpacked of it."""
TURN_CALLS: Final = 32
"""So many calls begin in a turn: answers leave as it ends, and clients go on while others are served."""
_FRAME_COST: Final = 512
"""What looking at a frame costs, in bytes that could be copied meanwhile: small ones end a turn, too."""
_OF_THE_CONNECTION: Final = frozenset((SETTINGS, PING, GOAWAY))
_SETTINGS_WEIGHT: Final = 10
_GOAWAY_BYTES: Final = 8
_SMALL_BYTES: Final = 1024


class Connections(Served, Protocol):
    """What all connections of a server share."""

    def entered(self, connection: GrpcConnection) -> bool:
        """A connection was opened; whether there is room for it."""

    def left(self, connection: GrpcConnection) -> None:
        """It ended."""

    def partial(self, connection: GrpcConnection, size: int) -> None:
        """Of requests on it, `size` bytes came that are not served yet."""

    def unsent(self, connection: GrpcConnection, size: int) -> None:
        """`size` bytes of answers wait on it."""

    def broken(self, connection: GrpcConnection, problem: HttpBroken) -> None:
        """It is closed for what the client does."""


class GrpcConnection(asyncio.Protocol):
    """Serves the calls of one connection by the methods of `server`. `last_read`: monotonic seconds."""

    def __init__(self, server: Connections) -> None:
        self._server = server
        self._clock = clock = server.clock
        self._limits = server.limits
        self._cutter = FrameCutter(server.limits.headers_bytes_max)
        self._floods = Floods(server.limits, clock.monotonic)
        self._http = Http(server.limits, server.reader)
        self._calls = OpenCalls(self, server, self._http, self._floods, self._settle_soon)
        self._leaving = self._calls.leaving
        self._transport: asyncio.Transport | None = None
        self._in_turn = self._settle_due = self._turn_due = False
        self._reads = True
        self._taken_bytes = self._told_partial = self._told_unsent = 0
        self._paused_since = 0.0
        self._closed_at: float | None = None
        self._client_leaves = self._retires = self._pinged = False
        self._begun_seen = 0
        self.last_read = self._busy_at = clock.monotonic()
        self.address = ""

    def __repr__(self) -> str:
        return f"<GrpcConnection {self.address}>"

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say what may be sent here (asyncio.Protocol)."""
        self._transport = cast("asyncio.Transport", transport)
        self.address = address_text(transport.get_extra_info("peername"))
        if self._server.entered(self):
            self._settle()
        else:
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Serve what came, some of it in later turns where it is much (asyncio.Protocol)."""
        transport = self._transport
        if self._closed_at is not None or transport is None or transport.is_closing():
            return
        self.last_read = self._clock.monotonic()
        self._pinged = False
        self._cutter.add(data)
        if self._turn_due:
            self._choose_reading()
        elif not self._leaving.paused:
            self._turn()

    def pause_writing(self) -> None:
        """The client does not read (asyncio.Protocol)."""
        self._leaving.paused = True
        self._paused_since = self._clock.monotonic()
        self._choose_reading()

    def resume_writing(self) -> None:
        """It does again (asyncio.Protocol)."""
        self._leaving.paused = False
        self.last_read = self._clock.monotonic()  # nobody listened meanwhile
        self._take_turn_later()
        self._settle_soon()

    def eof_received(self) -> None:
        """The client sends no more: to one that is there no longer nothing can be said (asyncio.Protocol)."""
        self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel what was being served (asyncio.Protocol)."""
        self._let_go()
        self._server.left(self)

    # For the server

    @property
    def certificate(self) -> str:
        """The common name in the client's certificate; "" where it showed none that is trusted."""
        found = None if self._transport is None else self._transport.get_extra_info("peer_name")
        return str(found or "")

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait to leave."""
        waiting = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._leaving.waiting_bytes + self._http.pending + waiting

    @property
    def calls(self) -> int:
        """How many calls are open."""
        return len(self._calls)

    def close(self, code: ErrorCode = ErrorCode.NO_ERROR) -> None:
        """Tell the client that no call is served any more, and close once that has left."""
        if self._transport is None or self._closed_at is not None:
            return
        if self._transport.is_closing():
            self._let_go()
            return
        self._calls.cut_off_all(GrpcError(GrpcStatus.UNAVAILABLE, "the connection is being closed"))
        self._http.go_away(code)
        self._let_go()
        self._transport.write(self._http.take())
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._let_go()
        if self._transport is not None:
            self._transport.abort()

    def look(self, now: float) -> None:
        """Close the connection when nobody needs it, or the client does not answer. `now`: monotonic s."""
        limits = self._limits
        if self._calls or self._calls.begun != self._begun_seen:
            self._begun_seen = self._calls.begun
            self._busy_at = now
        if self._closed_at is not None:
            if now - self._closed_at >= limits.stalled_seconds:
                self.abort()
        elif self._leaving.paused:
            if now - self._paused_since >= limits.stalled_seconds:
                log.info("client does not read; connection closed", peer=self.address)
                self.abort()
        elif now - self._busy_at >= limits.idle_seconds:
            self._retire()
        elif self._calls:
            self._look_for_life(now)

    def _look_for_life(self, now: float) -> None:
        silent, patience = now - self.last_read, self._limits.idle_seconds
        if silent >= patience:
            log.info("client does not answer; connection closed", peer=self.address)
            self.abort()
            return
        if silent >= patience / 2 and not self._pinged:
            self._pinged = True
            self._http.ping()
            self._settle_soon()
        self._calls.cut_off_stalled(now - patience)

    def _retire(self) -> None:
        """Close an idle connection, so that a call that is under way to it is known not to be served."""
        if self._retires:
            self.close()
        else:
            self._retires = True
            self._http.go_away(ErrorCode.NO_ERROR)
            self._settle_soon()

    # What came

    def _turn(self) -> None:
        """Look at what came, until others have their turn."""
        self._turn_due = False
        if self._closed_at is not None:
            return
        self._in_turn = True
        try:
            more = self._take_frames()
            self._calls.turn_over()
            if self._taken_bytes >= WINDOW_BYTES // 4:
                self._http.give_back(self._taken_bytes)
                self._taken_bytes = 0
        except HttpBroken as problem:
            self._server.broken(self, problem)
            self.close(problem.code)
            return
        except Exception as problem:  # isolation boundary: of this connection alone
            log.error("connection failed", peer=self.address, exc_info=problem)
            self.close(ErrorCode.INTERNAL_ERROR)
            return
        finally:
            self._in_turn = False
        if more:
            self._take_turn_later()
        else:
            self._choose_reading()
        self._settle()

    def _take_frames(self) -> bool:
        """Whether there may be more."""
        cutter, calls, spent = self._cutter, self._calls, 0
        calls.spent, last = 0, calls.begun + TURN_CALLS
        while spent + calls.spent < TURN_BYTES and calls.begun < last:
            frame = cutter.take()
            if frame is None:
                return False
            spent += _FRAME_COST + len(frame.content)
            self._frame(frame)
            if self._closed_at is not None:
                return False
        return True

    def _take_turn_later(self) -> None:
        if not self._turn_due:
            self._turn_due = True
            self._choose_reading()
            asyncio.get_running_loop().call_soon(self._turn_if_heard)

    def _turn_if_heard(self) -> None:
        self._turn_due = False
        if not self._leaving.paused:  # else the client reads first
            self._turn()

    def _choose_reading(self) -> None:
        """Read while little waits to be looked at, and while the client reads what it is answered."""
        reads = not self._leaving.paused and not (self._turn_due and self._cutter.held > TURN_BYTES)
        transport = self._transport
        if reads == self._reads or transport is None or transport.is_closing():
            return
        self._reads = reads
        (transport.resume_reading if reads else transport.pause_reading)()

    def _frame(self, frame: HttpFrame) -> None:
        kind = frame.kind
        if self._retires and kind not in _OF_THE_CONNECTION:
            self._floods.signal()
            return  # of calls that are known not to be served
        if kind in (HEADERS, CONTINUATION):
            self._fields(frame)
        elif kind == DATA:
            self._data(frame)
        elif kind == RST_STREAM:
            self._floods.reset()
            if self._http.reset_came(frame) is not None:
                self._calls.reset(frame.number)
        elif kind == SETTINGS and not frame.flags & ACK:
            # They change the windows of all calls.
            self._floods.signal(_SETTINGS_WEIGHT + len(self._calls) // _SETTINGS_WEIGHT)
            self._http.settings_came(frame)
            self._leaving.opened_all()
            self._leaving.pump()
        else:
            self._floods.signal()
            self._signal(frame)

    def _fields(self, frame: HttpFrame) -> None:
        came = self._http.fields_came(frame)
        if came is None:
            if self._http.misled:
                self._misled(frame)
            return
        stream = came.stream
        if came.opens:
            self._calls.request(came)
        else:
            self._floods.signal()  # what a request ends with means nothing to gRPC
        if stream.half_closed:
            self._calls.half_closed(stream)

    def _data(self, frame: HttpFrame) -> None:
        size, http = len(frame.content), self._http
        self._taken_bytes += size
        came = http.data_came(frame)
        if came is not None:
            self._calls.data(came)
        elif http.misled:
            self._misled(frame)
        elif size < _SMALL_BYTES:
            self._floods.signal()  # for a call that was reset; who is told stops at the next large one

    def _misled(self, frame: HttpFrame) -> None:
        """The stream of `frame` was reset for it."""
        self._http.misled = False
        self._calls.reset(frame.number)
        self._floods.reset()

    def _signal(self, frame: HttpFrame) -> None:
        """A frame that carries nothing. Priorities, and what nobody knows yet, mean nothing here."""
        kind = frame.kind
        if kind == WINDOW_UPDATE:
            self._calls.window(frame.number, fits=self._http.opened(frame))
        elif kind == PING:
            self._http.ping_came(frame)
        elif kind == SETTINGS:
            self._http.settings_came(frame)
        elif kind == PUSH_PROMISE:
            raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "a client promises to push something")
        elif kind == GOAWAY:
            # It opens no further streams; those that are open are served.
            if frame.number or len(frame.content) < _GOAWAY_BYTES:
                raise HttpBroken(ErrorCode.PROTOCOL_ERROR, "a farewell that is none")
            self._client_leaves = True

    # What leaves

    def send(self, call: GrpcCall, data: bytes) -> None:
        """Have `data` leave behind what waits already (`CallCarrier`)."""
        self._leaving.send(call, data)
        self._settle_soon()

    def taken(self, call: GrpcCall, size: int) -> None:
        """Let the client send as much again (`CallCarrier`)."""
        self._calls.taken(call, size)
        self._settle_soon()

    def _settle_soon(self) -> None:
        if not self._settle_due and not self._in_turn:
            self._settle_due = True
            asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
        """Send what is to leave, and say what waits."""
        self._settle_due = False
        transport, leaving, http = self._transport, self._leaving, self._http
        if self._closed_at is not None or transport is None:
            return
        if transport.is_closing():  # by the other side, or by the layer below
            self._let_go()
            return
        leaving.pump()
        if http.pending:
            transport.write(http.take())
        self._floods.content += http.sent
        http.sent = 0
        if leaving.can_go_on:
            self._settle_soon()
        held = self._cutter.held + self._calls.held_bytes
        if held != self._told_partial:
            self._told_partial = held
            self._server.partial(self, held)
        if self._closed_at is None and (unsent := self.unsent_bytes) != self._told_unsent:
            self._told_unsent = unsent
            self._server.unsent(self, unsent)
        if self._client_leaves and not self._calls:
            self.close()

    def _let_go(self) -> None:
        """Serve nothing any more."""
        if self._closed_at is None:
            self._closed_at = self._clock.monotonic()
        self._calls.end_all()
