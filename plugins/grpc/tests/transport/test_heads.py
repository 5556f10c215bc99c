from __future__ import annotations

from typing import Any

import pytest
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import Method
from mqframe_grpc.transport.heads import NotGrpc, RequestHead, read_head
from mqframe_grpc.transport.status import GrpcError, GrpcStatus


async def serve(call: Any, request: Any) -> None: ...


METHOD = Method(serve, m.Resource)
FIELDS = {
    b":method": b"POST",
    b":scheme": b"http",
    b":path": b"/t/Echo",
    b":authority": b"here",
    b"content-type": b"application/grpc",
}


def read(now: float = 100.0, **changes: bytes | None) -> RequestHead:
    found = FIELDS | {name.replace("_", "-").encode(): value for name, value in changes.items() if value}
    for name, value in changes.items():
        if value is None:
            del found[name.replace("_", "-").encode()]
    return read_head(found.items(), {"/t/Echo": METHOD}, now)


def test_a_call_is_what_its_fields_say() -> None:
    head = read(grpc_timeout=b"3S", grpc_encoding=b"gzip", x_mq_client_id=b"c@1")
    assert head.call.method is METHOD
    assert head.call.deadline == 103.0
    assert head.call.metadata["x-mq-client-id"] == "c@1"
    assert head.call.metadata[":path"] == "/t/Echo"
    assert head.encoding == "gzip"


def test_what_is_not_said_is_not_there() -> None:
    head = read()
    assert head.call.deadline is None
    assert head.encoding == "identity"


def test_a_deadline_may_be_far_away() -> None:
    assert read(grpc_timeout=b"99999999H").call.deadline == 100.0 + 99999999 * 3600.0


def test_the_last_of_several_fields_counts() -> None:
    fields = [*FIELDS.items(), (b"a", b"1"), (b"a", b"2")]
    assert read_head(fields, {"/t/Echo": METHOD}, 0.0).call.metadata["a"] == "2"


def test_fields_of_any_bytes_are_read() -> None:
    head = read_head(
        [*FIELDS.items(), (b"a", b"\xff\xfe"), (b"b\xff", b"\xc3\xbc")], {"/t/Echo": METHOD}, 0.0
    )
    assert head.call.metadata["a"] == "\ufffd\ufffd"
    assert head.call.metadata["b\ufffd"] == "ü"


def test_memory_is_more_than_the_bytes() -> None:
    assert read(x=b"y" * 1000).held_bytes >= read().held_bytes + 1000 + 49


@pytest.mark.parametrize(
    "content",
    [
        b"application/grpc",
        b"application/grpc+proto",
        b"application/grpc;charset=utf-8",
        b"application/grpc+proto;v=1",
    ],
)
def test_protobuf_is_spoken(content: bytes) -> None:
    assert read(content_type=content).call.method is METHOD


@pytest.mark.parametrize(
    "content", [None, b"application/grpc-web", b"application/grpc+json", b"application/json", b"text/html"]
)
def test_another_content_is_refused(content: bytes | None) -> None:
    with pytest.raises(NotGrpc) as caught:
        read(content_type=content)
    assert caught.value.status == 415


def test_another_method_of_http_is_refused() -> None:
    for method in (b"GET", b"CONNECT", None):
        with pytest.raises(NotGrpc) as caught:
            read_head((FIELDS | {b":method": method or b""}).items(), {"/t/Echo": METHOD}, 0.0)
        assert caught.value.status == 405


@pytest.mark.parametrize(
    "fields",
    [
        [*FIELDS.items(), (b":path", b"/t/Echo")],
        [*FIELDS.items(), (b":status", b"200")],
        [*FIELDS.items(), (b":protocol", b"websocket")],
        [*FIELDS.items(), (b":", b"")],
        [each for each in FIELDS.items() if each[0] != b":path"],
        [],
    ],
)
def test_fields_that_no_request_has_are_malformed(fields: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(NotGrpc) as caught:
        read_head(fields, {"/t/Echo": METHOD}, 0.0)
    assert caught.value.status == 0


def test_an_unknown_method_is_unimplemented() -> None:
    fields = FIELDS | {b":path": b"/t/" + b"N" * 10_000}
    with pytest.raises(GrpcError, match="Method not found: t/NNN") as caught:
        read_head(fields.items(), {"/t/Echo": METHOD}, 0.0)
    assert caught.value.status is GrpcStatus.UNIMPLEMENTED
    assert len(caught.value.text) < 300


@pytest.mark.parametrize(
    ("timeout", "status"),
    [
        (b"0S", GrpcStatus.DEADLINE_EXCEEDED),
        (b"00000000n", GrpcStatus.DEADLINE_EXCEEDED),
        (b"x", GrpcStatus.INTERNAL),
    ],
)
def test_a_time_that_is_over_or_none_is_no_call(timeout: bytes, status: GrpcStatus) -> None:
    with pytest.raises(GrpcError) as caught:
        read(grpc_timeout=timeout)
    assert caught.value.status is status
