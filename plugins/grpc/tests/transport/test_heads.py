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
    ":method": "POST",
    ":scheme": "http",
    ":path": "/t/Echo",
    ":authority": "here",
    "content-type": "application/grpc",
}


def read(now: float = 100.0, **changes: str | None) -> RequestHead:
    found = FIELDS | {name.replace("_", "-"): value for name, value in changes.items() if value}
    for name, value in changes.items():
        if value is None:
            del found[name.replace("_", "-")]
    return read_head(list(found.items()), {"/t/Echo": METHOD}, now)


def test_a_call_is_what_its_fields_say() -> None:
    head = read(grpc_timeout="3S", grpc_encoding="gzip", x_mq_client_id="c@1")
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
    assert read(grpc_timeout="99999999H").call.deadline == 100.0 + 99999999 * 3600.0


def test_the_last_of_several_fields_counts() -> None:
    fields = [*FIELDS.items(), ("a", "1"), ("a", "2")]
    assert read_head(fields, {"/t/Echo": METHOD}, 0.0).call.metadata["a"] == "2"


def test_fields_of_any_bytes_are_read() -> None:
    head = read_head([*FIELDS.items(), ("a", "\ufffd"), ("", "ü")], {"/t/Echo": METHOD}, 0.0)
    assert head.call.metadata["a"] == "\ufffd"
    assert head.call.metadata[""] == "ü"


@pytest.mark.parametrize(
    "content",
    [
        "application/grpc",
        "application/grpc+proto",
        "application/grpc;charset=utf-8",
        "application/grpc+proto;v=1",
    ],
)
def test_protobuf_is_spoken(content: str) -> None:
    assert read(content_type=content).call.method is METHOD


@pytest.mark.parametrize(
    "content", [None, "application/grpc-web", "application/grpc+json", "application/json", "text/html"]
)
def test_another_content_is_refused(content: str | None) -> None:
    with pytest.raises(NotGrpc) as caught:
        read(content_type=content)
    assert caught.value.status == 415


def test_another_method_of_http_is_refused() -> None:
    for method in ("GET", "CONNECT", None):
        with pytest.raises(NotGrpc) as caught:
            read_head(list((FIELDS | {":method": method or ""}).items()), {"/t/Echo": METHOD}, 0.0)
        assert caught.value.status == 405


@pytest.mark.parametrize(
    "fields",
    [
        [*FIELDS.items(), (":path", "/t/Echo")],
        [*FIELDS.items(), (":status", "200")],
        [*FIELDS.items(), (":protocol", "websocket")],
        [*FIELDS.items(), (":", "")],
        [each for each in FIELDS.items() if each[0] != ":path"],
        [],
    ],
)
def test_fields_that_no_request_has_are_malformed(fields: list[tuple[str, str]]) -> None:
    with pytest.raises(NotGrpc) as caught:
        read_head(fields, {"/t/Echo": METHOD}, 0.0)
    assert caught.value.status == 0


def test_an_unknown_method_is_unimplemented() -> None:
    fields = FIELDS | {":path": "/t/" + "N" * 10_000}
    with pytest.raises(GrpcError, match="Method not found: t/NNN") as caught:
        read_head(list(fields.items()), {"/t/Echo": METHOD}, 0.0)
    assert caught.value.status is GrpcStatus.UNIMPLEMENTED
    assert len(caught.value.text) < 300


@pytest.mark.parametrize(
    ("timeout", "status"),
    [
        ("0S", GrpcStatus.DEADLINE_EXCEEDED),
        ("00000000n", GrpcStatus.DEADLINE_EXCEEDED),
        ("x", GrpcStatus.INTERNAL),
    ],
)
def test_a_time_that_is_over_or_none_is_no_call(timeout: str, status: GrpcStatus) -> None:
    with pytest.raises(GrpcError) as caught:
        read(grpc_timeout=timeout)
    assert caught.value.status is status


def test_how_much_is_to_come_may_be_said() -> None:
    assert read().length is None
    assert read(content_length="1234").length == 1234


@pytest.mark.parametrize("length", ["-1", "1x", "\u0661", "9" * 19])
def test_a_length_that_is_none_is_malformed(length: str) -> None:
    with pytest.raises(NotGrpc) as caught:
        read(content_length=length)
    assert caught.value.status == 0
