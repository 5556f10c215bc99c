"""What the header fields of a request say. Source: PROTOCOL-HTTP2.md of grpc/grpc, "Requests"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from mqframe_grpc.transport.call import CallHead, Method
from mqframe_grpc.transport.status import GrpcError, GrpcStatus, timeout_seconds

_CONTENT: Final = "application/grpc"
_FIELD_BYTES: Final = 128
"""What a field takes in memory besides its own bytes."""
_HTTP_FIELDS: Final = frozenset((":method", ":scheme", ":path", ":authority"))
_WRONG_METHOD: Final = 405
_WRONG_CONTENT: Final = 415


class NotGrpc(Exception):
    """A request that is none of gRPC.

    `status`: that of HTTP by which it is answered; 0: it is malformed, and gets none.
    """

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class RequestHead(NamedTuple):
    """`call`: what is called; `encoding`: how its messages may be packed; `held_bytes`: memory it takes."""

    call: CallHead
    encoding: str
    held_bytes: int


def read_head(
    fields: Collection[tuple[bytes, bytes]], methods: Mapping[str, Method], now: float
) -> RequestHead:
    """What `fields` ask for. `now`: monotonic seconds.

    Raises `NotGrpc`, and `GrpcError` for a call that is not served.
    """
    try:
        found = _texts(fields, "strict")
    except UnicodeDecodeError:
        found = _texts(fields, "replace")
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
    held = _FIELD_BYTES * len(found) + sum(map(len, found)) + sum(map(len, found.values()))
    return RequestHead(CallHead(method, found, deadline), found.get("grpc-encoding", "identity"), held)


def _texts(fields: Iterable[tuple[bytes, bytes]], errors: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name = raw_name.decode("utf-8", errors)
        if raw_name[:1] == b":" and (name in found or name not in _HTTP_FIELDS):
            raise NotGrpc(0)
        found[name] = raw_value.decode("utf-8", errors)
    return found


def _is_grpc(content: str) -> bool:
    """Whether messages are those of protobuf: another format, or gRPC-Web, begins alike."""
    if not content.startswith(_CONTENT):
        return False
    rest = content[len(_CONTENT) :]
    return not rest or rest.startswith((";", "+proto"))
