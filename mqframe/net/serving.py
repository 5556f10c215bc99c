"""How the requests of one peer are served, whatever carried them: who may ask, hooks, handlers, limits."""

from __future__ import annotations

from collections.abc import Awaitable

from mqframe.core.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.serving import Answer, Call, Reply
from mqframe.core.requests.unserved import not_supported
from mqframe.core.wire.frame import Frame
from mqframe.hooks.failed_requests import failure_reply
from mqframe.hooks.isolate import after_rpc, before_rpc
from mqframe.log import get_logger
from mqframe.net.endpoint import Endpoint

log = get_logger("net")


class RequestServing:
    """What is between a request that was decoded and an answer that is to be encoded.

    `hooks`: those that see both; `guarded`: who asks is judged. Safe for threads, but for `hold` and below.
    """

    __slots__ = ("_endpoint", "_held_bytes", "_held_requests", "guarded", "hooks")

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._held_requests = 0
        self._held_bytes = 0
        self.hooks = endpoint.rpc_hooks
        self.guarded = True

    def serve(self, call: Call) -> Answer | Awaitable[Answer] | None:
        """Run the handler of a request; returns what the handler does, and a `Reply` when it fails."""
        endpoint, frame = self._endpoint, call.frame
        try:
            if endpoint.admit is not None and self.guarded:  # first: hooks may change what was signed
                endpoint.admit(call)
            if self.hooks:
                before_rpc(self.hooks, call.peer.address, frame, serving=True)
            handler = endpoint.handlers.get(frame.code) or endpoint.handler_of(frame.code)
            if handler is None:
                raise Refusal(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, not_supported(frame.code))
            if self._held_requests or endpoint.held_bytes:
                self._check_held(frame)
            return handler(call)
        except Exception as problem:  # a handler's error is its request's, not the connection's
            return failure_reply(problem, call)

    def is_free(self, body_bytes: int) -> bool:
        """Whether nothing is refused, as too much waits, of requests with `body_bytes` together."""
        settings = self._endpoint.settings
        return (
            self._held_requests < settings.in_flight_requests_max
            and self._held_bytes + body_bytes <= settings.in_flight_bytes_max
            and self._endpoint.held_bytes + body_bytes <= settings.held_bytes_max
        )

    def hold_alike(self, number: int, size: int) -> None:
        """Count `number` requests of `size` bytes as `hold` does; negative: they are answered."""
        self._held_requests += number
        self._held_bytes += size
        self._endpoint.held_bytes += size

    def hold(self, call: Call) -> None:
        """Count a request that is answered later; too many of them are refused as busy."""
        self._held_requests += 1
        call.held_bytes = len(call.frame.body)
        self._held_bytes += call.held_bytes
        self._endpoint.held_bytes += call.held_bytes

    def answered(self, call: Call, reply: Reply) -> None:
        """Count and show what is answered, before it is; where `call` was held or there are `hooks`."""
        self.let_go(call)
        if self.hooks:
            request = call.frame
            oneway = request.flag & FLAG_ONEWAY
            answer = None if oneway else answer_frame(request, reply)
            after_rpc(self.hooks, call.peer.address, request, answer)
            if answer is not None:
                reply.body = answer.body

    def let_go(self, call: Call) -> None:
        """Count a request as held no more, if it was."""
        if call.held_bytes >= 0:
            self._held_requests -= 1
            self._held_bytes -= call.held_bytes
            self._endpoint.held_bytes -= call.held_bytes
            call.held_bytes = -1

    def _check_held(self, frame: Frame) -> None:
        settings = self._endpoint.settings
        if self._held_requests >= settings.in_flight_requests_max:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"{self._held_requests} requests of this connection wait (net.in_flight_requests_max); "
                "slow down",
            )
        if self._held_bytes and self._held_bytes + len(frame.body) > settings.in_flight_bytes_max:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"{self._held_bytes} bytes of this connection wait (net.in_flight_bytes_max); slow down",
            )
        held = self._endpoint.held_bytes
        if held + len(frame.body) > settings.held_bytes_max and frame.body:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"{held} bytes of requests wait for their answers, of all connections (net.held_bytes_max); "
                "send again later",
            )


def answer_frame(request: Frame, reply: Reply) -> Frame:
    """The frame of `reply`, which answers `request`."""
    return Frame(reply.code, request.opaque, FLAG_RESPONSE, reply.remark, reply.fields(), reply.joined_body())
