"""The remoting protocol of one connection without any I/O: bytes to frames, calls to bytes, and back.

Whoever owns a `Connection` moves the bytes: asyncio (`mqframe.net.async_peer`), threads
(`mqframe.net.blocking_peer`), a test.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from mqframe.core import requests
from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.errors import CallTimeout, ConnectionLost, HeaderError
from mqframe.core.requests.fields import Request, encode_fields
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Body, Frame, FrameDecoder, encode_answer, encode_head
from mqframe.hooks.isolate import after_rpc, before_rpc
from mqframe.log import get_logger
from mqframe.net.addresses import CLOSED
from mqframe.net.endpoint import Endpoint

W = TypeVar("W")
log = get_logger("net")

SILENT_SECONDS: Final = 1.0
"""After so long without a byte, a request that got no answer in time says that its connection is broken."""
_OPAQUE_MASK: Final = 0x7FFFFFFF


class PendingCall(Generic[W]):
    """A request of this side that waits for its answer.

    `waiter`: what its caller is woken by; `reads`: how often bytes had come when it began.
    """

    __slots__ = ("body_bytes", "reads", "request", "timeout", "waiter")

    def __init__(self, waiter: W, body_bytes: int, request: Frame, timeout: float, reads: int) -> None:
        self.reads = reads
        self.waiter = waiter
        self.body_bytes = body_bytes
        self.request = request
        self.timeout = timeout


class Connection(Generic[W]):
    """State of one connection: calls that wait for answers, why it ended.

    Bytes that came go into `receive`; `next_frame` then returns whole frames until it returns `None`, and
    raises `FrameError` at the first bytes that are no frame. An answer belongs to the call that `take`
    returns; a request is for a `RequestServing`. What is to be sent is returned as the bytes before the body.
    `address`: "ip:port" of the other side. `closed`: nothing is sent any more. `pending`: calls that wait, by
    the number of their request; `decoder`: what `receive` and `next_frame` are of. Not safe for several
    threads, except `encode`, `oneway`, `answer`.
    """

    __slots__ = (
        "_endpoint", "_silence", "address", "closed", "decoder", "hooks", "next_frame", "pending", "reason",
        "receive",
    )  # fmt: skip

    def __init__(self, endpoint: Endpoint, address: str = "") -> None:
        decoder = FrameDecoder(endpoint.settings.frame_bytes_max, endpoint.header_bytes_max)
        self.decoder = decoder
        self._endpoint = endpoint
        self._silence = (-1, 0.0)
        self.address = address
        self.closed = False
        self.reason = ""
        self.hooks = endpoint.rpc_hooks
        self.pending: dict[int, PendingCall[W]] = {}
        self.receive = decoder.receive
        self.next_frame = decoder.next_frame

    # Calls of this side

    def call(self, request: Request, body_bytes: int, timeout: float, waiter: W) -> Frame:
        """Begin a call; returns the frame to `encode` and send.

        Raises `ConnectionLost` when closed, and `TooMuchInFlight`.
        """
        if self.closed:
            raise self.refusal()
        endpoint = self._endpoint
        opaque = next(endpoint.opaques) & _OPAQUE_MASK
        frame = Frame(request.CODE, opaque, 0, None, encode_fields(request))
        endpoint.acquire(body_bytes)
        self.pending[opaque] = PendingCall(waiter, body_bytes, frame, timeout, self.decoder.reads)
        return frame

    def oneway(self, request: Request) -> Frame:
        """The frame of a request that wants no answer, to `encode` and send. Raises `ConnectionLost`."""
        if self.closed:
            raise self.refusal()
        opaque = next(self._endpoint.opaques) & _OPAQUE_MASK
        return Frame(request.CODE, opaque, FLAG_ONEWAY, None, encode_fields(request))

    def encode(self, request: Frame, body: Body) -> bytes:
        """What is sent before the body, once the hooks have seen the request: `request.body` from now on.

        Raises `HeaderError` for a field that cannot be encoded; then nothing may be sent.
        """
        request.body = body
        if self.hooks:
            before_rpc(self.hooks, self.address, request, serving=False)
        try:
            return encode_head(request)
        except UnicodeEncodeError as problem:
            raise HeaderError(f"{request_name(request.code)}: {_not_text(request, problem)}") from None

    def finished(self, request: Frame, answer: Frame | None) -> None:
        """Show the hooks a call of this side that ended; `answer`: `None` for a one-way request."""
        if self.hooks:
            after_rpc(self.hooks, self.address, request, answer)

    def take(self, opaque: int) -> PendingCall[W] | None:
        """End the call of this number: its answer came, or nobody waits any more. `None`: it ended before."""
        call = self.pending.pop(opaque, None)
        if call is not None:
            self._endpoint.release(call.body_bytes)
        return call

    def late(self, request: Frame, timeout: float) -> CallTimeout:
        """The error of a call that got no answer within `timeout` seconds."""
        return CallTimeout(f"{self.address} did not answer {request_name(request.code)} within {timeout:g} s")

    def silence(self, call: PendingCall[W], received: float, now: float) -> str:
        """Why the connection is to be closed when `call` got no answer in time; empty when it stays.

        Whoever sends nothing at all for `SILENT_SECONDS`, although it was asked, is not there any more, or
        the way to it is cut: nobody will ever say so. Where bytes come and no frame ends, one may have said
        that it is longer than it is, and takes in all the answers after it. `call` is not `pending` any more.
        `received`: when bytes came the last time, `now`: monotonic seconds.
        """
        reads = self.decoder.reads
        if call.reads != reads:
            return self._endless_frame(call, now - received)
        if self._silence[0] != reads:
            self._silence = (reads, now - call.timeout)
        seconds = now - self._silence[1]
        return f"it said nothing for {seconds:.3g} s" if seconds >= SILENT_SECONDS else ""

    def _endless_frame(self, call: PendingCall[W], quiet_seconds: float) -> str:
        """Why the frame under way keeps the answer to `call` away, and is not worth to be waited for."""
        ended, unread = self.decoder.ended, self.decoder.unread_bytes
        if not unread or call.reads < ended:
            return ""
        if quiet_seconds >= SILENT_SECONDS:
            return f"{unread} bytes into a frame it said nothing for {quiet_seconds:.3g} s"
        # A long answer on a slow line comes for somebody who asked before it began.
        if any(each.reads <= ended for each in self.pending.values()):
            return ""
        return f"no frame has ended for {call.timeout:.3g} s, {unread} bytes into one that nobody waits for"

    # Answers of this side

    def answer(self, call: Call, reply: Reply) -> bytes:
        """What is sent before the body of `reply`; empty when nothing is to be sent."""
        request, body = call.frame, reply.body
        if self.closed or request.flag & FLAG_ONEWAY:
            return b""
        size = sum(map(len, body)) if isinstance(body, list) else len(body)
        return encode_answer(request.opaque, reply.code, reply.fields(), reply.remark, size)

    # The end

    def blame(self, reason: str) -> None:
        """Keep `reason` as why the connection ends, unless one is known."""
        self.reason = self.reason or reason

    def close(self, reason: str) -> bool:
        """Send nothing any more; returns whether it was open. Calls wait on until `end`."""
        if self.closed:
            return False
        self.closed = True
        self.blame(reason)
        return True

    def lose(self, problem: Exception | None) -> None:
        """No more bytes come, because of `problem` or because the other side closed.

        Calls wait on until `end`.
        """
        self.closed = True
        self.blame(str(problem or self._closed_reason()))

    def end(self, problem: Exception | None) -> list[tuple[W, ConnectionLost]]:
        """No more bytes come, as in `lose`, and all that came were taken.

        Returns the waiters of all calls, each with its error.
        """
        self.lose(problem)
        self.decoder.drop()  # others may hold on to the connection for a while
        pending = tuple(self.pending.values())
        self.pending.clear()
        lost = []
        for call in pending:
            self._endpoint.release(call.body_bytes)
            during = f"connection to {self.address} closed during {request_name(call.request.code)}"
            lost.append((call.waiter, ConnectionLost(f"{during}: {self.reason}")))
        return lost

    def idle_reason(self, seconds: float) -> str:
        """Why a connection that carried nothing for `seconds` is to be closed; empty when it stays."""
        limit = self._endpoint.settings.idle_seconds
        if seconds < limit or self.pending:
            return ""
        unread = self.decoder.unread_bytes
        return f"idle for {limit:g} s" + (f", {unread} bytes into a frame" if unread else "")

    def refusal(self) -> ConnectionLost:
        """The error of whoever asks something of the other side, or for it, after the end."""
        refusal = ConnectionLost(f"connection to {self.address} is closed: {self.reason}; nothing was sent")
        refusal.maybe_stored = False
        return refusal

    def _closed_reason(self) -> str:
        if self.decoder.untouched:
            return (
                f"{CLOSED} before it said anything, as servers do that take TLS only; if it is one, set tls"
            )
        return CLOSED


def _not_text(request: Frame, problem: UnicodeEncodeError) -> str:
    bad = problem.object[problem.start]
    names = [name for name, value in (request.ext or {}).items() if bad in value or bad in name]
    where = f"field {names[0]}" if names else "a field"
    return f"{where} holds {bad!r}, which is no character that UTF-8 can carry; nothing was sent"


def request_name(code: int) -> str:
    """How a request kind is named in messages."""
    kind = requests.REQUESTS.get(code)
    return f"{kind.__name__} ({code})" if kind else f"request {code}"
