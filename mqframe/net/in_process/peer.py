"""A client whose requests and answers are passed as objects, by a service in the process of its server."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import ConnectionLost, TooMuchInFlight
from mqframe.core.requests import Request, encode_fields
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Body, Frame
from mqframe.hooks.failed_requests import failure_reply
from mqframe.hooks.interfaces.broker_requests import ProxiedClient
from mqframe.log import get_logger
from mqframe.net.async_serving import AsyncServing
from mqframe.net.connection import Connection, request_name
from mqframe.net.peer_group import PeerGroup
from mqframe.net.serving import answer_frame

log = get_logger("net")


class InProcessCall(Call):
    """A request of such a peer.

    `found`: its answer, once there is one. `waiter`: gets an answer that comes after the turn of the request,
    or has to wait for `until`: what the answers of that turn depend on.
    """

    __slots__ = ("found", "until", "waiter")

    def __init__(self, frame: Frame, peer: InProcessPeer, received: float) -> None:
        super().__init__(frame, peer, received)
        self.found: Reply | None = None
        self.waiter: asyncio.Future[Reply] | None = None
        self.until: asyncio.Future[Any] | None = None


class InProcessPeer:
    """One client of a service. Made by `InProcessRequests`, which enters it among the connections of `group`.

    A `Peer` for handlers, a `ProxiedPeer` for the service.
    """

    __slots__ = (
        "_client", "_connection", "_group", "_last_used", "_loop", "_numbers", "_passed_on", "_requests",
        "_waiting", "address", "certificate", "pending", "protocol",
    )  # fmt: skip

    def __init__(self, group: PeerGroup, client: ProxiedClient) -> None:
        self._group = group
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._connection: Connection[asyncio.Future[Frame]] = Connection(group.endpoint, client.address)
        self._requests = AsyncServing(group)
        self._requests.guarded = not client.inner
        self._numbers = itertools.count(1)
        self._waiting: dict[InProcessCall, None] = {}
        self._passed_on: dict[int, asyncio.Task[Any]] = {}
        self._last_used = group.clock.monotonic()
        self.address = client.address
        self.certificate = client.certificate
        self.protocol = client.protocol
        self.pending = self._connection.pending

    def __repr__(self) -> str:
        return f"<InProcessPeer {self.address}{' closed' if self.closed else ''}>"

    @property
    def closed(self) -> bool:
        """Whether nothing is served any more."""
        return self._connection.closed

    @property
    def last_used(self) -> float:
        """When something was asked or passed on, monotonic seconds; now, while an answer is waited for."""
        return self._group.clock.monotonic() if self._waiting else self._last_used

    @property
    def unsent_bytes(self) -> int:
        """None: whatever there is, the service has it."""
        return 0

    # Requests of the client

    async def ask(
        self,
        request: Request,
        body: Body = b"",
        *,
        user: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Reply:
        """The answer to `request`; see `ProxiedPeer.ask`."""
        group, client, connection = self._group, self._client, self._connection
        if connection.closed:
            raise connection.refusal()
        self._last_used = now = group.clock.monotonic()
        path, reply = group.frame_path, None
        if path is not None and isinstance(request, SendMessageV2) and self._requests.is_free(len(body)):
            reply = path.take_one(request, body, self, now)
        if isinstance(reply, Reply):
            group.turns += 1
            until = group.finish_turn(self.address)
            if until is None:
                return reply
            call = InProcessCall(Frame(request.CODE), self, now)
            call.found, call.until = reply, until
            return await self._answer_of(call)
        if reply is not None:
            call = InProcessCall(Frame(request.CODE, body=body), self, now)
            group.turns += 1
            self._requests.hold(call)
            reply(call.reply)
        else:
            ext = encode_fields(request)
            if fields:
                ext.update(fields)
            if problem := self._too_long(ext, body):
                return Reply(ResponseCode.INVALID_PARAMETER, remark=problem)
            opaque, version = next(self._numbers), client.version
            frame = Frame(request.CODE, opaque, 0, None, ext, body, client.language, version)
            call = InProcessCall(frame, self, now)
            call.user = client.user if user is None else user
            group.turns += 1
            self._requests.take(call)
        call.until = group.finish_turn(self.address)
        if call.found is not None and call.until is None:
            return call.found
        return await self._answer_of(call)

    def _too_long(self, ext: Mapping[str, str], body: Body) -> str:
        """Why a request is longer than may be sent over a connection; empty when it is not."""
        settings = self._group.endpoint.settings
        chars = sum(map(len, ext.values()))
        if chars > settings.header_bytes_max:
            return (
                f"header fields of {chars} characters; at most {settings.header_bytes_max} bytes are read "
                "(net.header_bytes_max)"
            )
        if chars + len(body) > settings.frame_bytes_max:
            return (
                f"a request of {chars + len(body)} bytes; at most {settings.frame_bytes_max} are read "
                "(net.frame_bytes_max)"
            )
        return ""

    async def _answer_of(self, call: InProcessCall) -> Reply:
        """Wait for the answer, and for what it depends on."""
        if self.closed:  # by what was served
            raise self._lost(call)
        call.waiter = self._loop.create_future()
        self._waiting[call] = None
        if call.found is not None:
            self._hand_over(call, call.found)
        try:
            return await call.waiter
        except asyncio.CancelledError as given_up:
            if not call.waiter.cancelled():
                call.waiter.exception()  # it came at the same time; nobody else looks at it
            if call.found is not None:
                given_up.reply = call.found  # type: ignore[attr-defined]  # for `answered_meanwhile`
            elif call.on_cancel is not None:
                call.on_cancel()
                self._requests.let_go(call)
            raise
        finally:
            self._waiting.pop(call, None)

    def answer(self, call: InProcessCall, reply: Reply) -> None:
        """Give the answer to `call`; called by `Call.reply`."""
        if call.held_bytes >= 0 or self._requests.hooks:
            self._requests.answered(call, reply)
        if call.waiter is None:
            call.found = reply
        else:
            self._last_used = self._group.clock.monotonic()
            self._hand_over(call, reply)

    def _hand_over(self, call: InProcessCall, reply: Reply) -> None:
        waiter, until = call.waiter, call.until
        if waiter is None:
            return
        if reply.body.__class__ is not bytes:
            # Views of mapped files must not outlive this turn.
            reply.body = bytes(reply.joined_body())
        call.found = reply  # who gave it up, in this turn perhaps, may want to know
        if waiter.done():
            return
        if until is None:
            waiter.set_result(reply)
        elif until.cancelled():
            self.shed("what its answers depend on was given up")
        elif until.done():
            waiter.set_result(reply)
        else:
            until.add_done_callback(lambda _: self._hand_over(call, reply))

    # Requests of the server

    def oneway(self, request: Request, body: Body = b"") -> None:
        """Pass `request` on to the client, which gives no answer.

        Raises `ConnectionLost` and `TooMuchInFlight`.
        """
        connection = self._connection
        frame = connection.oneway(request)
        connection.encode(frame, body)  # shows it to the hooks, and refuses what cannot be sent to others
        try:
            self._client.notified(request, body)
        except (ConnectionLost, TooMuchInFlight):
            raise
        except Exception as problem:  # isolation boundary: others are to be notified, too
            log.exception("client was not notified", peer=self.address, code=request.CODE)
            raise ConnectionLost(
                f"{request_name(request.CODE)} could not be passed on to {self.address}: {problem}"
            ) from problem
        self._last_used = self._group.clock.monotonic()
        connection.finished(frame, None)

    def invoke(self, request: Request, body: Body = b"", timeout: float = 3.0) -> asyncio.Future[Frame]:
        """Pass `request` on to the client; the future of its answer, as of a connection."""
        group, connection = self._group, self._connection
        future: asyncio.Future[Frame] = self._loop.create_future()
        frame = connection.call(request, len(body), timeout, future)
        try:
            connection.encode(frame, body)
        except BaseException:
            connection.take(frame.opaque)
            raise
        self._last_used = now = group.clock.monotonic()
        deadline = now + timeout
        group.deadlines.add(deadline, frame.opaque, self)
        if deadline < group.armed_at:
            group.arm(deadline)
        self._passed_on[frame.opaque] = group.spawn(self._pass_on(frame, request, body))
        return future

    async def _pass_on(self, frame: Frame, request: Request, body: Body) -> None:
        try:
            reply = await self._client.asked(request, body)
        except Exception as problem:  # isolation boundary: as of a handler of a client
            reply = failure_reply(problem, Call(frame, self, 0.0))
        self._passed_on.pop(frame.opaque, None)
        pending = self._connection.take(frame.opaque)
        if pending is None:
            return  # it came too late
        self._last_used = self._group.clock.monotonic()
        answer = answer_frame(frame, reply)
        self._connection.finished(frame, answer)
        if not pending.waiter.done():
            pending.waiter.set_result(answer)

    def expire(self, opaque: int, now: float) -> None:
        """The time of a request to the client is over."""
        pending = self._connection.take(opaque)
        if pending is None:
            return
        if task := self._passed_on.pop(opaque, None):
            task.cancel()
        if not pending.waiter.done():
            pending.waiter.set_exception(self._connection.late(pending.request, pending.timeout))

    # The end

    def close(self, reason: str) -> None:
        """Serve nothing any more. What waits fails with `ConnectionLost`, which names `reason`."""
        if not self._connection.close(reason):
            return
        for call in self._waiting:
            if call.waiter is not None and not call.waiter.done():
                call.waiter.set_exception(self._lost(call))
        # Later: whoever closes may be in the middle of what the end changes.
        self._loop.call_soon(self._end)

    def _lost(self, call: Call) -> ConnectionLost:
        during = f"connection of {self.address} closed during {request_name(call.frame.code)}"
        return ConnectionLost(f"{during}: {self._connection.reason}")

    def _end(self) -> None:
        for task in self._passed_on.values():
            task.cancel()
        self._passed_on.clear()
        self._group.leave(self, self._connection.end(None))
        try:
            self._client.closed(self._connection.reason)
        except Exception:  # isolation boundary: others end, too
            log.exception("client was not told of its end", peer=self.address)

    def abort(self) -> None:
        """Close at once."""
        self.close(self._connection.reason or "given up")

    def shed(self, reason: str) -> None:
        """Close at once for `reason`: all connections together take too much."""
        self.close(reason)

    def close_if_idle(self, now: float) -> None:
        """Close when nothing passed for too long, and nothing is waited for."""
        if reason := self._connection.idle_reason(now - self.last_used):
            self.close(reason)
