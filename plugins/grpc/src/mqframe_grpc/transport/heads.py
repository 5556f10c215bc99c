"""What the header fields of a request say. Source: PROTOCOL-HTTP2.md of grpc/grpc, "Requests"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mqframe_grpc.transport.call import CallHead, Method
from mqframe_grpc.transport.status import GrpcError, GrpcStatus, timeout_seconds

_CONTENT: Final = "application/grpc"
_HTTP_FIELDS: Final = frozenset((":method", ":scheme", ":path", ":authority"))
_WRONG_METHOD: Final = 405
_WRONG_CONTENT: Final = 415
_DIGITS_MAX: Final = 18


class NotGrpc(Exception):
    """A request that is none of gRPC.

    `status`: that of HTTP by which it is answered; 0: it is malformed, and gets none.
    """

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class RequestHead(NamedTuple):
    """`call`: what is called; `encoding`: how its messages may be packed; `length`: bytes that are to come,
    where that is said."""

    call: CallHead
    encoding: str
    length: int | None


def read_head(fields: Sequence[tuple[str, str]], methods: Mapping[str, Method], now: float) -> RequestHead:
    """What `fields` ask for. `now`: monotonic seconds.

    Raises `NotGrpc`, and `GrpcError` for a call that is not served.
    """
    found = dict(fields)
    http = [name for name, _ in fields if name[:1] == ":"]
    if len(http) > len(_HTTP_FIELDS) or not _HTTP_FIELDS.issuperset(http) or len(set(http)) < len(http):
        raise NotGrpc(0)
    path = found.get(":path")
    if path is None:
        raise NotGrpc(0)
    if found.get(":method") != "POST":
        raise NotGrpc(_WRONG_METHOD)
    if not _is_grpc(found.get("content-type", "")):
        raise NotGrpc(_WRONG_CONTENT)
    method = methods.get(path)
    if method is None:
        raise GrpcError(GrpcStatus.UNIMPLEMENTED, f"Method not found: {path[:200].lstrip('/')}")
    seconds = timeout_seconds(found.get("grpc-timeout"))
    if seconds is not None and seconds <= 0:
        raise GrpcError(GrpcStatus.DEADLINE_EXCEEDED, "the time of the call was over when it began")
    deadline = None if seconds is None else now + seconds
    length = found.get("content-length")
    if length is not None and not (length.isascii() and length.isdigit() and len(length) <= _DIGITS_MAX):
        raise NotGrpc(0)
    return RequestHead(
        CallHead(method, found, deadline),
        found.get("grpc-encoding", "identity"),
        None if length is None else int(length),
    )


def _is_grpc(content: str) -> bool:
    """Whether messages are those of protobuf: another format, or gRPC-Web, begins alike."""
    if not content.startswith(_CONTENT):
        return False
    rest = content[len(_CONTENT) :]
    return not rest or rest.startswith((";", "+proto"))
