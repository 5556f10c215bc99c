"""Both ends of connections of gRPC in memory: the server's is the one under test, the client's is that of h2.

    wire = Wire()                                    # in a running loop
    peer = wire.connect()
    number = peer.call("Echo", b"x")                 # what it sends waits in `peer` …
    await wire.settle()                              # … until bytes have gone both ways and all is at rest
    assert peer.answers[number].messages == [b"x"]

Time is that of a `ManualClock`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    PingAckReceived,
    PingReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import GrpcCall, Method
from mqframe_grpc.transport.connection import GrpcConnection
from mqframe_grpc.transport.frames import (
    DATA,
    GOAWAY,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    FrameCutter,
    frame_head,
)
from mqframe_grpc.transport.limits import GrpcLimits
from mqframe_grpc.transport.messages import framed
from mqframe_grpc.transport.server import GrpcServer
from mqframe_grpc.transport.status import GrpcError, GrpcStatus
from mqframe_testing.manual_clock import ManualClock

HIGH_BYTES: Final = 64 << 10
LOW_BYTES: Final = 16 << 10
_QUIET_TURNS: Final = 3
_TURNS_MAX: Final = 500_000


class MemoryTransport(asyncio.Transport):
    """What a connection writes to. `arrived`: bytes that the other side may read; `stuck`: it reads none."""

    def __init__(self, address: tuple[str, int] = ("10.0.0.9", 5000)) -> None:
        super().__init__()
        self.protocol: asyncio.Protocol | None = None
        self.arrived = bytearray()
        self.stuck = False
        self.reading = True
        self.lost = False
        self._address = address
        self._buffer = bytearray()
        self._paused = False
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert data, "an empty write"
        if self._closing:
            return
        self._buffer += data
        self.drain()
        if len(self._buffer) > HIGH_BYTES and not self._paused:
            self._paused = True
            self._protocol.pause_writing()

    def drain(self, size: int | None = None) -> None:
        """The other side's system takes `size` bytes, all while it is not stuck."""
        if size is None:
            size = 0 if self.stuck else len(self._buffer)
        self.arrived += self._buffer[:size]
        del self._buffer[:size]
        if self._closing:
            if not self._buffer:
                self._lose()
        elif self._paused and len(self._buffer) <= LOW_BYTES:
            self._paused = False
            self._protocol.resume_writing()

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self.drain()

    def abort(self) -> None:
        self._closing = True
        self._buffer.clear()
        self._lose()

    def _lose(self) -> None:
        if not self.lost:
            self.lost = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": self._address, "peer_name": "client.example"}.get(name, default)

    @property
    def _protocol(self) -> asyncio.Protocol:
        assert self.protocol is not None
        return self.protocol


@dataclass
class Answer:
    """What came for one call."""

    fields: dict[str, str] = field(default_factory=dict)
    raw: bytes = b""
    ended: bool = False
    trailers_only: bool = False
    reset: int | None = None

    @property
    def status(self) -> int | None:
        text = self.fields.get("grpc-status")
        return None if text is None else int(text)

    @property
    def text(self) -> str:
        return self.fields.get("grpc-message", "")

    @property
    def messages(self) -> list[bytes]:
        """Names in the messages, each of which is a `Resource`."""
        found, rest = [], self.raw
        while rest:
            size = int.from_bytes(rest[1:5], "big")
            assert rest[:1] == b"\0"
            assert len(rest) >= 5 + size, "half a message"
            found.append(m.Resource.FromString(rest[5 : 5 + size]).name.encode())
            rest = rest[5 + size :]
        return found


class Peer:
    """One client.

    `reads`: whether it takes what arrives; `credits`: whether it gives room back at once; `bare`: whether h2
    is spared what arrives, as it does not know of all that was sent.
    """

    def __init__(self, wire: Wire, settings: dict[int, int] | None = None) -> None:
        self.wire = wire
        self.transport = MemoryTransport()
        self.connection = GrpcConnection(wire.server)
        self.transport.protocol = self.connection
        self.http = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        if settings:
            self.http.local_settings.update(cast("Any", settings))
            self.http.local_settings.acknowledge()
            self.http.max_inbound_frame_size = self.http.local_settings.max_frame_size
        self.http.initiate_connection()
        self.answers: dict[int, Answer] = {}
        self.farewell: int | None = None
        self.last_served = -1
        self.events: list[Event] = []
        self.reads = True
        self.credits = True
        self.bare = False
        self.sent = bytearray()
        self._out = bytearray()
        self.connection.connection_made(self.transport)

    # What the client does

    def headers(self, rpc: str, *, end: bool = False, **fields: str) -> int:
        """Open a stream; `fields` replace the usual ones, empty ones leave them out."""
        number = self.http.get_next_available_stream_id()
        head = {
            ":method": "POST",
            ":scheme": "http",
            ":path": rpc if rpc.startswith("/") else f"/t/{rpc}",
            ":authority": "server",
            "te": "trailers",
            "content-type": "application/grpc",
            **{name.replace("_", "-"): value for name, value in fields.items()},
        }
        self.http.send_headers(number, [each for each in head.items() if each[1]], end_stream=end)
        self.answers[number] = Answer()
        return number

    def call(self, rpc: str, *names: bytes, end: bool = True, **fields: str) -> int:
        """A whole call with a `Resource` for each of `names`."""
        number = self.headers(rpc, end=end and not names, **fields)
        for place, name in enumerate(names, 1):
            self.data(number, message(name), end=end and place == len(names))
        return number

    def data(self, number: int, data: bytes, *, end: bool = False, padding: int | None = None) -> None:
        """Send `data`, in as many frames as it takes; there has to be room for it."""
        size = self.http.max_outbound_frame_size - (0 if padding is None else padding + 1)
        pieces = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
        for place, piece in enumerate(pieces, 1):
            self.http.send_data(number, piece, end_stream=end and place == len(pieces), pad_length=padding)

    def cancel(self, number: int) -> None:
        self.http.reset_stream(number, ErrorCodes.CANCEL)

    def send_raw(self, data: bytes) -> None:
        """Bytes that h2 would not send."""
        self._out += self.http.data_to_send() + data

    def vanish(self) -> None:
        """The connection is lost."""
        self.transport.abort()

    # What comes of it

    def push(self, size: int | None = None) -> bool:
        """Hand over what was sent, `size` bytes of it at most; whether there was anything."""
        self._out += self.http.data_to_send()
        if not self._out or not self.transport.reading or self.transport.is_closing():
            return False
        data = bytes(self._out[:size] if size is not None else self._out)
        del self._out[: len(data)]
        self.sent += data
        self.connection.data_received(data)
        return True

    def pull(self) -> bool:
        """Take what arrived; whether there was anything."""
        if not self.reads or not self.transport.arrived:
            return False
        data = bytes(self.transport.arrived)
        self.transport.arrived.clear()
        if self.bare:
            self._take_frames(data)
        else:
            for event in self.http.receive_data(data):
                self._take(event)
        return True

    def _take_frames(self, data: bytes) -> None:
        cutter = FrameCutter(1 << 30)
        cutter.add(PREFACE + frame_head(0, SETTINGS, 0, 0) + data)
        while (frame := cutter.take()) is not None:
            body, answer = frame.content, self.answers.setdefault(frame.number, Answer())
            if frame.kind == GOAWAY:
                self.farewell = int.from_bytes(body[4:8], "big")
            elif frame.kind == DATA:
                answer.raw += body
            elif frame.kind == RST_STREAM:
                answer.reset = int.from_bytes(body, "big")
        assert cutter.held == 0

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, ResponseReceived | TrailersReceived):
            answer = self.answers[event.stream_id]
            answer.trailers_only = isinstance(event, ResponseReceived) and event.stream_ended is not None
            answer.fields |= dict(cast("Iterable[tuple[str, str]]", event.headers))
        elif isinstance(event, DataReceived):
            self.answers[event.stream_id].raw += event.data
            if self.credits and event.flow_controlled_length:
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self.answers[event.stream_id].ended = True
        elif isinstance(event, StreamReset):
            self.answers[event.stream_id].reset = int(event.error_code)
        elif isinstance(event, ConnectionTerminated):
            self.farewell, self.last_served = int(event.error_code), event.last_stream_id

    def count(self, *kinds: type[Event]) -> int:
        """How many events of `kinds` there were."""
        return sum(isinstance(event, kinds) for event in self.events)

    @property
    def pings(self) -> int:
        return self.count(PingReceived)

    @property
    def pongs(self) -> int:
        return self.count(PingAckReceived)

    def opened(self, number: int) -> int:
        """Bytes by which the server has opened a window."""
        return sum(
            event.delta or 0
            for event in self.events
            if isinstance(event, WindowUpdated) and event.stream_id == number
        )

    @property
    def closed(self) -> bool:
        return self.transport.lost


def message(name: bytes) -> bytes:
    """A `Resource` of that name, as it travels."""
    return framed(m.Resource(name=name.decode()).SerializeToString())


class Wire:
    """A server in memory, what it serves, and its clients.

    `Echo` returns its request, `Held` does so once `release(name)` was called, `Many` ("3:100") sends so many
    answers of so many bytes, `Both` returns each of its requests, `Listens` only takes them when `go` is set,
    `Fails` and `Refuses` raise. `begun`, `cancelled`, `done`: names of requests, in order.
    """

    def __init__(self, **limits: Any) -> None:
        self.clock = ManualClock()
        self.limits = GrpcLimits(**limits)
        kinds = {
            "Echo": Method(self._echo, m.Resource),
            "Held": Method(self._held, m.Resource),
            "Many": Method(self._many, m.Resource),
            "Both": Method(self._both, m.Resource, both_ways=True),
            "Listens": Method(self._listens, m.Resource, both_ways=True),
            "Fails": Method(self._fails, m.Resource),
            "Refuses": Method(self._refuses, m.Resource),
        }
        self.server = GrpcServer(
            {f"/t/{name}": method for name, method in kinds.items()}, self.clock, self.limits
        )
        self.peers: list[Peer] = []
        self.calls: list[GrpcCall] = []
        self.begun: list[bytes] = []
        self.cancelled: list[bytes] = []
        self.done: list[bytes] = []
        self.go = asyncio.Event()
        self._gates: dict[bytes, asyncio.Event] = {}

    def connect(self, settings: dict[int, int] | None = None, *, greet: bool = True) -> Peer:
        """A new client; `greet`: both sides know each other's settings."""
        peer = Peer(self, settings)
        self.peers.append(peer)
        while greet and (peer.push() or peer.pull()):
            pass
        return peer

    async def settle(self) -> None:
        """Let bytes go both ways until nothing moves any more."""
        ready = getattr(asyncio.get_running_loop(), "_ready", ())
        quiet = 0
        for _ in range(_TURNS_MAX):
            moved = False
            for peer in self.peers:
                moved |= peer.push()
                moved |= peer.pull()
            await asyncio.sleep(0)
            quiet = 0 if moved or ready else quiet + 1
            if quiet == _QUIET_TURNS:
                return
        raise AssertionError("it never comes to rest")

    async def pass_time(self, seconds: float) -> None:
        """Move the clock, and let follow what does."""
        await self.settle()
        await self.clock.aadvance(seconds)
        await self.settle()

    async def pass_looks(self, seconds: float) -> None:
        """Move the clock, with the server's looks at its connections."""
        interval = min(self.limits.idle_seconds, self.limits.stalled_seconds) / 8
        for _ in range(round(seconds / interval)):
            await self.pass_time(interval)
            for connection in tuple(self.server.connections):
                connection.look(self.clock.monotonic())
        await self.settle()

    def release(self, name: bytes) -> None:
        self._gate(name).set()

    def _gate(self, name: bytes) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def at_rest(self) -> bool:
        """Whether nothing is accounted for any more."""
        server = self.server
        return (server.partial_bytes, server.unsent_bytes, server.in_work_bytes) == (0, 0, 0)

    # What is served

    async def _echo(self, call: GrpcCall, request: Any) -> Any:
        self.calls.append(call)
        self.begun.append(request.name.encode())
        self.done.append(request.name.encode())
        return request

    async def _held(self, call: GrpcCall, request: Any) -> Any:
        self.calls.append(call)
        name = request.name.encode()
        self.begun.append(name)
        try:
            await self._gate(name).wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        self.done.append(name)
        return request

    async def _many(self, call: GrpcCall, request: Any) -> None:
        self.calls.append(call)
        self.begun.append(request.name.encode())
        count, size = map(int, request.name.split(":"))
        try:
            for number in range(count):
                await call.send(m.Resource(name=answer_name(number, size)))
        except asyncio.CancelledError:
            self.cancelled.append(request.name.encode())
            raise
        self.done.append(request.name.encode())

    async def _both(self, call: GrpcCall) -> None:
        self.calls.append(call)
        try:
            while (request := await call.receive()) is not None:
                self.begun.append(request.name.encode())
                await call.send(request)
        except asyncio.CancelledError:
            self.cancelled.append(b"both")
            raise
        self.done.append(b"both")

    async def _listens(self, call: GrpcCall) -> None:
        self.calls.append(call)
        await self.go.wait()
        while (request := await call.receive()) is not None:
            self.begun.append(request.name.encode())
        self.done.append(b"listens")

    async def _fails(self, call: GrpcCall, request: Any) -> None:
        raise ValueError("not this one")

    async def _refuses(self, call: GrpcCall, request: Any) -> None:
        if request.name:
            await self._gate(request.name.encode()).wait()
        raise GrpcError(GrpcStatus.INVALID_ARGUMENT, "says no: 50 %, ü")


def answer_name(number: int, size: int) -> str:
    """The name in the answer `number` of `Many`."""
    return f"{number}:".ljust(size, "x")
