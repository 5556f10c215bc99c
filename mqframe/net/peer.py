"""One connection, whichever side opened it: requests and answers in both directions (wire.md §1)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Final, NamedTuple, cast

from mqframe.core.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from mqframe.core.errors import CallTimeout, ConnectionLost, FrameError, Refusal, TooMuchInFlight
from mqframe.core.frame import Body, Frame, FrameDecoder, encode_answer, encode_head
from mqframe.core.requests import REQUESTS, Request, encode_fields
from mqframe.hooks.isolate import after_rpc, before_rpc
from mqframe.log import get_logger
from mqframe.net.call import Call, Reply, failure_reply
from mqframe.net.endpoint import LONG_TURN_BYTES, TURN_BYTES_MAX, Endpoint
from mqframe.net.other_side import address_text, closed_reason

log = get_logger("net")
_UNKNOWN: Final = ResponseCode.REQUEST_CODE_NOT_SUPPORTED


class Waiting(NamedTuple):
    """A request of this side that waits for its answer."""

    future: asyncio.Future[Frame]
    body_bytes: int
    timeout: float
    request: Frame


class Peer(asyncio.Protocol):
    """One connection. Made by servers and clients, not by applications.

    `address`, `local_address`: "ip:port" of the other and of this side. `closed`: no frame is taken or sent
    any more. `data`: for the owner of the server, which may hang what it knows of the other side there.
    """

    __slots__ = (
        "__weakref__",
        "_decoder",
        "_endpoint",
        "_flush_due",
        "_held_bytes",
        "_held_requests",
        "_in_turn",
        "_last_active",
        "_loop",
        "_out",
        "_out_bytes",
        "_reason",
        "_received",
        "_stalled_since",
        "_transport",
        "address",
        "closed",
        "data",
        "local_address",
        "waiting",
    )

    def __init__(self, endpoint: Endpoint, address: str = "") -> None:
        self._endpoint = endpoint
        self._decoder = FrameDecoder(endpoint.settings.frame_bytes_max)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._out: list[Body] = []
        self._out_bytes = 0
        self._in_turn = False
        self._flush_due = False
        self._held_requests = 0
        self._held_bytes = 0
        self._received = self._last_active = endpoint.clock.monotonic()
        self._stalled_since: float | None = None
        self._reason = ""
        self.address = address
        self.local_address = ""
        self.closed = False
        self.data: object = None
        self.waiting: dict[int, Waiting] = {}

    def __repr__(self) -> str:
        return f"<Peer {self.address}{' closed' if self.closed else ''}>"

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait here to leave."""
        transport = self._transport
        return self._out_bytes + (transport.get_write_buffer_size() if transport is not None else 0)

    # Calls of this side

    def invoke(self, request: Request, body: Body = b"", timeout: float = 3.0) -> asyncio.Future[Frame]:
        """Send `request` and give the future of its answer, whatever its code.

        It fails with `CallTimeout` after `timeout` seconds and with `ConnectionLost` when the connection
        closes. Raises `ConnectionLost` and `TooMuchInFlight` at once when nothing could be sent.
        """
        endpoint = self._endpoint
        self._check_sendable()
        size = len(body)
        endpoint.admit(size)
        opaque = endpoint.next_opaque()
        frame = Frame(request.CODE, opaque, 0, None, encode_fields(request))
        if endpoint.rpc_hooks:
            frame.body = body
            before_rpc(endpoint.rpc_hooks, self.address, frame, serving=False)
        alone = not self.waiting
        future: asyncio.Future[Frame] = self._loop.create_future()
        self.waiting[opaque] = Waiting(future, size, timeout, frame)
        endpoint.deadlines.add(endpoint.clock.monotonic() + timeout, opaque, self)
        self._put(encode_head(frame, size), body)
        if not self._in_turn and not self._flush_due:
            # A lone call leaves at once; calls beside others leave together, with one write a turn.
            if alone:
                self._flush()
            else:
                self._flush_soon()
        return future

    def oneway(self, request: Request, body: Body = b"") -> None:
        """Send `request` without wanting an answer. Raises `ConnectionLost` and `TooMuchInFlight`."""
        self._check_sendable()
        frame = Frame(
            request.CODE, self._endpoint.next_opaque(), FLAG_ONEWAY, None, encode_fields(request), body
        )
        if self._endpoint.rpc_hooks:
            before_rpc(self._endpoint.rpc_hooks, self.address, frame, serving=False)
        self._put(encode_head(frame, len(body)), body)
        if not self._in_turn and not self._flush_due:
            self._flush_soon()
        if self._endpoint.rpc_hooks:
            after_rpc(self._endpoint.rpc_hooks, self.address, frame, None)

    def close(self, reason: str) -> None:
        """Send what is gathered, then close. `reason` is logged and told to those who wait for answers."""
        if self.closed:
            return
        self.closed = True
        self._reason = reason
        if self._out:
            self._flush()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once, without sending what is unsent."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    def expire(self, opaque: int) -> None:
        """End a call whose time is over."""
        waiting = self.waiting.pop(opaque)
        self._endpoint.release(waiting.body_bytes)
        if not waiting.future.done():
            name = request_name(waiting.request.code)
            late = CallTimeout(f"{self.address} did not answer {name} within {waiting.timeout:g} s")
            waiting.future.set_exception(late)

    def close_if_idle(self, now: float) -> None:
        """Close when nothing passed for too long, or when the other side does not read."""
        settings = self._endpoint.settings
        if self._stalled_since is not None and now - self._stalled_since >= settings.stalled_seconds:
            log.warning("peer does not read", peer=self.address, unsent_bytes=self.unsent_bytes)
            self._reason = f"it did not read for {settings.stalled_seconds:g} s"
            self.abort()
        elif now - self._last_active >= settings.idle_seconds and not self.waiting:
            half = self._decoder.unread_bytes
            within = f", {half} bytes into a frame" if half else ""
            self.close(f"idle for {settings.idle_seconds:g} s{within}")

    def _check_sendable(self) -> None:
        if self.closed:
            raise ConnectionLost(f"connection to {self.address} is closed: {self._reason}; nothing was sent")
        if self._stalled_since is not None or self._out_bytes > self._endpoint.settings.unsent_bytes_max:
            raise TooMuchInFlight(f"{self.unsent_bytes} bytes to {self.address} are unsent; it does not read")

    # Bytes out

    def _put(self, head: bytes, body: Body | list[Body]) -> None:
        out = self._out
        out.append(head)
        size = len(head)
        for part in body if isinstance(body, list) else (body,) if body else ():
            out.append(part if self._in_turn or part.__class__ is bytes else bytes(part))
            size += len(part)
        self._out_bytes += size

    def _flush_soon(self) -> None:
        self._flush_due = True
        self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        out = self._out
        if not out:
            return
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        self._out_bytes = 0
        self._last_active = self._endpoint.clock.monotonic()
        if self._transport is not None and not self._transport.is_closing():
            # Joined first: parts may be views of a mapped file, which must not outlive this turn.
            self._transport.write(data)

    def answer(self, call: Call, reply: Reply) -> None:
        """Send the answer to `call`; called by `Call.reply`."""
        if call.held_bytes >= 0:
            self._held_requests -= 1
            self._held_bytes -= call.held_bytes
        frame = call.frame
        oneway = frame.flag & FLAG_ONEWAY
        if not oneway and not self.closed:
            body = reply.body
            size = sum(map(len, body)) if isinstance(body, list) else len(body)
            self._put(encode_answer(frame.opaque, reply.code, reply.fields(), reply.remark, size), body)
            if not self._in_turn and not self._flush_due:
                self._flush_soon()
        if self._endpoint.rpc_hooks:
            after_rpc(
                self._endpoint.rpc_hooks, self.address, frame, None if oneway else _as_frame(frame, reply)
            )

    # Bytes in

    def data_received(self, data: bytes) -> None:
        """Serve what came (asyncio.Protocol)."""
        self._received = self._endpoint.clock.monotonic()
        self._decoder.receive(data)
        if self._stalled_since is None or not self._endpoint.throttle:
            self._read_frames()

    def _read_frames(self) -> None:
        """Handle all whole frames, end the turn, write the answers."""
        endpoint, next_frame = self._endpoint, self._decoder.next_frame
        turn_bytes_max = min(TURN_BYTES_MAX, endpoint.settings.unsent_bytes_max)
        more = True
        while more:
            problem, more, served = None, False, 0
            self._in_turn = True
            try:
                while not self.closed and (frame := next_frame()) is not None:
                    self._last_active = self._received
                    if frame.flag & FLAG_RESPONSE:
                        self._take_answer(frame)
                    else:
                        served += 1
                        self._serve(frame)
                    if self._out_bytes > turn_bytes_max:
                        more = True
                        break
            except FrameError as error:
                problem = error
            if endpoint.turn_end is not None:
                try:
                    endpoint.turn_end()
                except Exception:  # one turn's error must not end the connections of others
                    log.exception("end of turn failed", peer=self.address)
            self._in_turn = False
            long = self._out_bytes > LONG_TURN_BYTES
            if self._out:
                self._flush()
            if endpoint.busy_poll is not None and served:
                endpoint.busy_poll.turn(served)
            if problem is not None:
                log.warning("malformed frame", peer=self.address, problem=str(problem))
                self.close(f"malformed frame: {problem}")
            if more and long:
                self._loop.call_soon(self._continue)
                return
            more = more and self._stalled_since is None

    def _take_answer(self, frame: Frame) -> None:
        waiting = self.waiting.pop(frame.opaque, None)
        if waiting is None:
            return  # it came too late
        self._endpoint.release(waiting.body_bytes)
        if self._endpoint.rpc_hooks:
            after_rpc(self._endpoint.rpc_hooks, self.address, waiting.request, frame)
        if not waiting.future.done():
            waiting.future.set_result(frame)

    def _serve(self, frame: Frame) -> None:
        endpoint = self._endpoint
        call = Call(frame, self, self._received)
        handler = endpoint.handlers.get(frame.code)
        try:
            if endpoint.rpc_hooks:
                before_rpc(endpoint.rpc_hooks, self.address, frame, serving=True)
            if handler is None:
                call.reply(Reply(_UNKNOWN, remark=f"request code {frame.code} is not supported"))
                return
            if self._held_requests:
                self._check_held(frame)
            result = handler(call)
        except Exception as problem:  # a handler's error is its request's, not the connection's
            self._fail(call, problem)
            return
        if result.__class__ is Reply:
            call.reply(result)
        elif not call.answered:
            self._held_requests += 1
            call.held_bytes = len(frame.body)
            self._held_bytes += call.held_bytes
            if result is not None:
                endpoint.spawn(self._finish(call, cast("Awaitable[Reply]", result)))
        elif inspect.iscoroutine(result):
            result.close()

    async def _finish(self, call: Call, awaitable: Awaitable[Reply]) -> None:
        try:
            reply = await awaitable
        except Exception as problem:  # as in _serve
            self._fail(call, problem)
            return
        if not call.answered:
            call.reply(reply)

    def _check_held(self, frame: Frame) -> None:
        settings = self._endpoint.settings
        if self._held_requests >= settings.in_flight_requests_max:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY, f"{self._held_requests} requests of this connection wait; slow down"
            )
        if self._held_bytes and self._held_bytes + len(frame.body) > settings.in_flight_bytes_max:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY, f"{self._held_bytes} bytes of this connection wait; slow down"
            )

    def _fail(self, call: Call, problem: Exception) -> None:
        reply = failure_reply(problem)
        if reply is None:
            log.error("request failed", code=call.frame.code, peer=self.address, exc_info=problem)
            reply = Reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(problem).__name__}: {problem}")
        if not call.answered:
            call.reply(reply)

    # The connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection (asyncio.Protocol)."""
        self._transport = cast("asyncio.Transport", transport)
        limit = self._endpoint.settings.unsent_bytes_max
        self._transport.set_write_buffer_limits(high=limit, low=limit // 4)
        self.address = self.address or address_text(transport.get_extra_info("peername"))
        self.local_address = address_text(transport.get_extra_info("sockname"))
        self._endpoint.peers.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what waits (asyncio.Protocol)."""
        endpoint = self._endpoint
        self.closed, self._reason = True, self._reason or str(exc or closed_reason(self._decoder))
        endpoint.peers.discard(self)
        waiting, self.waiting = self.waiting, {}
        for call in waiting.values():
            endpoint.release(call.body_bytes)
            if not call.future.done():
                name = request_name(call.request.code)
                problem = ConnectionLost(f"connection to {self.address} closed during {name}: {self._reason}")
                call.future.set_exception(problem)
        if endpoint.on_close is not None:
            endpoint.on_close(self)

    def pause_writing(self) -> None:
        """The other side does not read: a server does not read from it either (asyncio.Protocol)."""
        self._stalled_since = self._endpoint.clock.monotonic()
        if self._endpoint.throttle and self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The other side reads again (asyncio.Protocol)."""
        self._stalled_since = None
        if self._endpoint.throttle and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
            self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        if not self.closed and self._stalled_since is None:
            self._read_frames()


def _as_frame(request: Frame, reply: Reply) -> Frame:
    body = b"".join(reply.body) if isinstance(reply.body, list) else reply.body
    return Frame(reply.code, request.opaque, FLAG_RESPONSE, reply.remark, reply.fields(), body)


def request_name(code: int) -> str:
    """How a request kind is named in messages."""
    kind = REQUESTS.get(code)
    return f"{kind.__name__} ({code})" if kind else f"request {code}"
