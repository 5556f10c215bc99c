"""How a call ends: with its answer, with the status that says why not, and how a broker's answer is read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from mqframe.core.errors import ConnectionLost
from mqframe.core.requests.fields import Header, decode_fields
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Frame
from mqframe.log import get_logger
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, rejected, status
from mqframe_grpc.transport.call import GrpcCall

log = get_logger("grpc")

H = TypeVar("H", bound=Header)
Serve = Callable[[GrpcCall, Any], Coroutine[Any, Any, Any]]
LOST: Final = "the broker stops, or has closed the client; what was asked may have been done"


def status_of(problem: Exception, call: GrpcCall) -> m.Status:
    """The status that tells of `problem`; one that is nobody's fault but ours is logged."""
    if isinstance(problem, Rejected):
        return status(problem.code, problem.text)
    if isinstance(problem, ConnectionLost):
        return status(m.Code.INTERNAL_SERVER_ERROR, f"{LOST}: {problem}")
    path = call.metadata.get(":path", "")
    log.error("call failed", peer=call.address, path=path, exc_info=problem)
    return status(m.Code.INTERNAL_SERVER_ERROR, f"{type(problem).__name__}: {problem}")


def answering(answer: Callable[..., m.ProtoMessage], serve: Serve) -> Serve:
    """`serve`, whose errors become an `answer` with a status."""

    async def serve_call(call: GrpcCall, request: Any) -> m.ProtoMessage:
        try:
            found: m.ProtoMessage = await serve(call, request)
        except Exception as problem:  # isolation boundary: of this call
            return answer(status=status_of(problem, call))
        return found

    return serve_call


def need(reply: Reply) -> Reply:
    """`reply`, when it is a success. Raises `Rejected`."""
    if reply.code:
        raise rejected(reply.code, reply.remark)
    return reply


def frame_of(reply: Reply) -> Frame:
    """`reply` as the readers of remoting clients take it; to be read before anything is awaited."""
    return Frame(reply.code, 0, 0, reply.remark, reply.fields(), reply.joined_body())


def fields_of(reply: Reply, kind: type[H]) -> H:
    """The header fields of `reply`."""
    if isinstance(reply.header, kind):
        return reply.header
    return decode_fields(reply.fields() or {}, kind)
