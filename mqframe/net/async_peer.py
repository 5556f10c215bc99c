"""One asyncio connection, whichever side opened it: moves the bytes of a `Connection`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from mqframe.core.codes import FLAG_RESPONSE
from mqframe.core.errors import FrameError, TooMuchInFlight
from mqframe.core.requests.fields import Request
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Body, Frame
from mqframe.log import get_logger
from mqframe.net.addresses import address_text
from mqframe.net.async_serving import AsyncServing
from mqframe.net.connection import Connection
from mqframe.net.peer_group import PeerGroup
from mqframe.net.send_buffer import SendBuffer
from mqframe.net.unread import unread

if TYPE_CHECKING:  # what servers alone have is not imported for clients
    from mqframe.net.frame_path import AlikeRequests, FramePath, FramesServed

log = get_logger("net")

TURN_BYTES_MAX: Final = 16384
"""Answers of one read that leave together. More end the turn, so that the other side works on large ones
while the rest is served."""
TURN_SECONDS: Final = 0.01
"""After a turn that took so long the other connections are served first, then the rest of this one."""
LONG_TURN_BYTES: Final = 128 * 1024
"""After a turn with so much to send the other connections are served first, then the rest of this one."""


class AsyncPeer(asyncio.Protocol):
    """One connection. Made by servers and clients, not by applications.

    Whatever ends it but this side, the requests and answers that came before are taken, also those that the
    system still holds: who sent them and left may never ask what became of them.

    `address`: "ip:port" of the other side. `closed`: nothing is sent any more. It is a `HoldingPeer`, too.
    """

    __slots__ = (
        "_buffer", "_connection", "_cut", "_decoder", "_group", "_half_bytes", "_last_frame", "_loop",
        "_lost", "_queued", "_received", "_requests", "_stalled_since", "_taking", "_unsent_bytes_max",
        "address", "closed", "hold", "is_free", "pending",
    )  # fmt: skip

    def __init__(self, group: PeerGroup, address: str = "") -> None:
        self._group = group
        self._loop = asyncio.get_running_loop()
        self._connection: Connection[asyncio.Future[Frame]] = Connection(group.endpoint, address)
        self._buffer = SendBuffer(
            self._loop, group.clock, partial(group.unsent, self) if group.throttle else None
        )
        self._requests = AsyncServing(group)
        self.is_free, self.hold = self._requests.is_free, self._requests.hold
        self._decoder = self._connection.decoder
        self._half_bytes = 0
        self._received = self._last_frame = self._buffer.last_write
        self._cut: tuple[float, int] | None = None
        self._queued = 0.0
        self._stalled_since: float | None = None
        self._taking = True
        self._lost = False
        self._unsent_bytes_max = group.endpoint.settings.unsent_bytes_max
        self.address = address
        self.closed = False
        self.pending = self._connection.pending

    def __repr__(self) -> str:
        return f"<AsyncPeer {self.address}{' closed' if self.closed else ''}>"

    @property
    def certificate(self) -> str:
        """The common name in the certificate of the other side; "" where it showed none that is trusted."""
        transport = self._buffer.transport
        return "" if transport is None else transport.get_extra_info("peer_name", "")

    @property
    def last_used(self) -> float:
        """When a whole frame came or something was sent, monotonic seconds."""
        return max(self._last_frame, self._buffer.last_write)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait here to leave."""
        return self._buffer.unsent_bytes

    # Calls of this side

    def invoke(self, request: Request, body: Body = b"", timeout: float = 3.0) -> asyncio.Future[Frame]:
        """Send `request` and return the future of its answer, whatever its code.

        It fails with `CallTimeout` after `timeout` seconds and with `ConnectionLost` when the connection
        closes. Raises `ConnectionLost`, `TooMuchInFlight` and `HeaderError` at once when nothing was sent.
        """
        group, connection, buffer = self._group, self._connection, self._buffer
        if self._stalled_since is not None or buffer.gathered_bytes > self._unsent_bytes_max:
            self._check_reads()
        alone = not connection.pending
        future: asyncio.Future[Frame] = self._loop.create_future()
        frame = connection.call(request, len(body), timeout, future)
        try:
            head = connection.encode(frame, body)
        except BaseException:
            connection.take(frame.opaque)
            raise
        deadline = group.clock.monotonic() + timeout
        group.deadlines.add(deadline, frame.opaque, self)
        if deadline < group.armed_at:
            group.arm(deadline)
        # A lone call leaves at once; calls beside others leave together, with one write a turn.
        buffer.put(head, frame.body, at_once=alone)
        return future

    def expire(self, opaque: int, now: float) -> None:
        """The time of a call is over. A server that says nothing at all loses its connection."""
        connection = self._connection
        call = connection.take(opaque)
        if call is None:
            return
        if not call.waiter.done():
            call.waiter.set_exception(connection.late(call.request, call.timeout))
        if self._group.throttle or self.closed:
            return  # a client may well take its time for what a server asks
        if reason := connection.silence(call, self._received, now):
            log.warning("connection closed", peer=self.address, reason=reason)
            self.shed(reason)

    def oneway(self, request: Request, body: Body = b"") -> None:
        """Send `request` without wanting an answer. Raises `ConnectionLost` and `TooMuchInFlight`."""
        self._check_reads()
        frame = self._connection.oneway(request)
        self._buffer.put(self._connection.encode(frame, body), frame.body)
        self._connection.finished(frame, None)

    def answer(self, call: Call, reply: Reply) -> None:
        """Send the answer to `call`; called by `Call.reply`."""
        requests = self._requests
        if call.held_bytes >= 0 or requests.hooks:
            requests.answered(call, reply)
        head = self._connection.answer(call, reply)
        if head:
            self._buffer.put(head, reply.body)
        if self._group.latencies is not None:
            self._group.latencies.add(call, reply.code, self._group.clock.monotonic())

    def answer_whole(self, call: Call, answer: bytes) -> None:
        """As `HoldingPeer.answer_whole`."""
        call.answered = True
        self._requests.let_go(call)
        if not self.closed:
            self._buffer.put(answer, b"")
        if self._group.latencies is not None:
            self._group.latencies.add(call, 0, self._group.clock.monotonic())

    def _check_reads(self) -> None:
        """Raise `TooMuchInFlight` when the other side of an open connection does not read."""
        stalled = self._stalled_since is not None or self._buffer.gathered_bytes > self._unsent_bytes_max
        if stalled and not self.closed:
            raise TooMuchInFlight(f"{self.unsent_bytes} bytes to {self.address} are unsent; it does not read")

    # Bytes in

    def data_received(self, data: bytes) -> None:
        """Serve what came (asyncio.Protocol)."""
        self._received = self._group.clock.monotonic()
        self._queued = 0.0
        served = 0
        if self._group.frame_path is not None:
            data, served = self._shorten(data, self._group.frame_path)
        self._connection.receive(data)
        if not self._buffer.held and (self._stalled_since is None or not self._group.throttle):
            self._read_frames(self._received, served)
            left = self._decoder.left
        else:
            left = self._decoder.unread_bytes
        if left != self._half_bytes and not self.closed:
            self._half_bytes = left
            self._group.half_frame(self, left)

    def _shorten(self, data: bytes, path: FramePath) -> tuple[bytes, int]:
        """Serve by `path` what it takes of `data`: what is left, after how many requests the next is near."""
        decoder = self._decoder
        if self._buffer.held or self._stalled_since is not None or not self._taking:
            return data, 0
        if decoder.unread_bytes:
            begun = decoder.take_back(len(data))
            data = begun + data if begun else data
        if decoder.unread_bytes:
            return data, 0
        size, served = self._offer(data, 0, path)
        return data[size:], served

    def _offer(self, data: bytes, start: int, path: FramePath) -> tuple[int, int]:
        """As `_shorten`, of a frame that begins at byte `start`, and what is behind: so many bytes."""
        room = self._requests.is_free(len(data) - start)
        if not room or (found := path.take(data, start, self, self._received)) is None:
            return 0, 0
        self._last_frame, self._buffer.gathering = self._received, True
        number = found.number
        if isinstance(found.answers, bytes):
            self._answer_alike(found.answers, 0, found.requests, self._received)
        else:
            self._requests.hold_alike(number, found.size)
            found.answers(partial(self._answer_late, found, self._received))
        return found.size, 0 if found.unhurried else number

    def _answer_late(self, found: FramesServed, received: float, answers: bytes, code: int) -> None:
        self._requests.hold_alike(-found.number, -found.size)
        self._answer_alike(b"" if self.closed else answers, code, found.requests, received)

    def _answer_alike(self, answers: bytes, code: int, alike: list[AlikeRequests], received: float) -> None:
        if answers:
            self._buffer.put(answers, b"")
        if (latencies := self._group.latencies) is not None:
            took_ms = (self._group.clock.monotonic() - received) * 1000
            for each in alike:
                latencies.add_alike(each, code or each.answered, took_ms)

    def _read_frames(self, began: float, served: int = 0) -> None:
        """Handle all whole frames, end the turn, write the answers.

        `began`: now, monotonic seconds; `served`: requests of this turn that were served already.
        """
        group, connection, buffer, decoder = self._group, self._connection, self._buffer, self._decoder
        next_frame, now, take = connection.next_frame, group.clock.monotonic, self._requests.take
        path = None if self._queued or self._stalled_since is not None else group.frame_path
        turn_bytes_max = min(TURN_BYTES_MAX, self._unsent_bytes_max)
        more, end = True, began + TURN_SECONDS
        group.turns += 1
        while more:
            problem, more, long = None, False, False
            buffer.gathering = True
            try:
                while self._taking and (frame := next_frame()) is not None:
                    self._last_frame = self._received
                    if frame.flag & FLAG_RESPONSE:
                        self._take_answer(frame)
                    else:
                        served += 1
                        if self._stalled_since is None or group.throttle:
                            take(Call(frame, self, self._received, self._queued))
                        else:  # a server is not read from; a client reads on, for the answers to its calls
                            self.shed("it asks, and does not read the answers")
                        if path is not None and self._taking and path.may_take(*decoder.unread):
                            size, served_so = self._offer(*decoder.unread, path)
                            decoder.skip(size)
                            served += served_so
                            path = path if size else None  # it looks at what it leaves to others but once
                    if buffer.gathered_bytes > turn_bytes_max:
                        more = True
                        break
                    if now() >= end:
                        more = long = True
                        break
            except FrameError as error:
                problem = error
            until = group.finish_turn(self.address)
            if until is not None:
                self._hold(until)
                more = long = False
            buffer.gathering = False
            long = long or buffer.gathered_bytes > LONG_TURN_BYTES
            if buffer.gathered_bytes:
                buffer.flush()
            if group.busy_poll is not None and served:
                group.busy_poll.turn(served)
            served = 0
            if problem is not None:
                log.warning("malformed frame", peer=self.address, problem=str(problem))
                self.close(f"malformed frame: {problem}")
            if more and long:
                self._cut = group.processor_seconds(), group.turns
                self._loop.call_soon(self._continue)
                return
            more = more and self._stalled_since is None
        if self._lost and not buffer.held:
            self._end()

    def _take_answer(self, frame: Frame) -> None:
        call = self._connection.take(frame.opaque)
        if call is not None:  # else it came too late
            self._connection.finished(call.request, frame)
            if not call.waiter.done():
                call.waiter.set_result(frame)

    def _continue(self) -> None:
        # What waits here waits for the turns of others. That the process had no processor meanwhile, or that
        # something else held the loop up, is no sign of too many requests.
        cut, self._cut = self._cut, None
        if cut is not None:
            worked, turns = self._group.processor_seconds() - cut[0], self._group.turns - cut[1]
            self._queued += min(worked, turns * TURN_SECONDS)
        if self._taking and self._stalled_since is None and not self._buffer.held:
            self._read_frames(self._group.clock.monotonic())

    def _hold(self, until: asyncio.Future[Any]) -> None:
        """Let nothing leave and serve nothing more before `until` is done."""
        self._buffer.hold()
        if self._buffer.transport is not None and not self._buffer.transport.is_closing():
            self._buffer.transport.pause_reading()
        until.add_done_callback(self._let_go)

    def _let_go(self, until: asyncio.Future[Any]) -> None:
        if until.cancelled():
            self.shed("what its answers depend on was given up")
            return
        self._buffer.release()
        self._resume_reading()

    # The transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection (asyncio.Protocol)."""
        self._buffer.transport = cast("asyncio.Transport", transport)
        limit = self._unsent_bytes_max
        self._buffer.transport.set_write_buffer_limits(high=limit, low=limit // 4)
        self.address = self.address or address_text(transport.get_extra_info("peername"))
        self._connection.address = self.address
        if not self._group.enter(self):
            self.shed("the server has as many connections as it may (net.connections_max)")

    def connection_lost(self, exc: Exception | None) -> None:
        """Take what came, then fail the calls that wait (asyncio.Protocol)."""
        self._stalled_since = None
        if self._taking and (rest := unread(self._buffer.transport)):
            self.data_received(rest)
        self.closed = self._lost = True
        self._connection.lose(exc)
        if self._taking:
            self._continue()
        else:
            self._end()

    def _end(self) -> None:
        """All that came was taken."""
        self._taking = self._lost = False
        self._group.leave(self, self._connection.end(None))

    def close(self, reason: str) -> None:
        """Send what is gathered, then close. `reason` is what the errors of waiting calls name."""
        if self._connection.close(reason):
            self.closed = True
            self._taking = False
            self._buffer.flush()
            if self._buffer.transport is not None:
                self._buffer.transport.close()

    def abort(self) -> None:
        """Close at once, without sending what is unsent."""
        self.closed = self._connection.closed = True
        self._taking = False
        if self._lost:
            self._end()
        if self._buffer.transport is not None:
            self._buffer.transport.abort()

    def shed(self, reason: str) -> None:
        """Close at once, as `abort`; `reason` is what the errors of waiting calls name."""
        self._connection.blame(reason)
        self.abort()

    def close_if_idle(self, now: float) -> None:
        """Close when nothing passed for too long, or when the other side does not read."""
        stalled_seconds = self._group.endpoint.settings.stalled_seconds
        if self._stalled_since is not None and now - self._stalled_since >= stalled_seconds:
            log.warning("peer does not read", peer=self.address, unsent_bytes=self.unsent_bytes)
            self.shed(f"it did not read for {stalled_seconds:g} s")
        elif reason := self._connection.idle_reason(now - self.last_used):
            self.close(reason)

    def pause_writing(self) -> None:
        """The other side does not read: a server does not read from it either (asyncio.Protocol)."""
        self._stalled_since = self._group.clock.monotonic()
        if self._group.throttle and self._buffer.transport is not None:
            self._buffer.transport.pause_reading()

    def resume_writing(self) -> None:
        """The other side reads again (asyncio.Protocol)."""
        self._stalled_since = None
        if self._group.throttle:
            self._resume_reading()

    def _resume_reading(self) -> None:
        if self._stalled_since is None and not self._buffer.held:
            transport = self._buffer.transport
            if transport is not None and not transport.is_closing():
                transport.resume_reading()
            self._loop.call_soon(self._continue)
