"""Acknowledgements that compiled code reads: what Python makes of them is the same, and it refuses none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_grpc.calls.ordinary_acks import AckRequests, OrdinaryAck
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.acks import all_done
from mqframe_grpc.rules.handles import DoorHandle
from mqframe_speedups._native import AckReader

READER = AckRequests(AckReader)
HANDLE = "17 1795971784500 60000 3 0 broker-a 3 19 1234567"
WORDS = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "3",
        "007",
        "-1",
        "+1",
        "",
        "a",
        "broker-a",
        "é",
        "9" * 9,
        "9" * 10,
        "9" * 18,
        "9" * 19,
        "٣",
    ]
)
HANDLES = st.lists(WORDS, max_size=11).map(" ".join)
NAMES = st.sampled_from(["", "a", "orders", "é", "x" * 200])


def bent(handle: list[str], at: int, word: str) -> str:
    return " ".join([*handle[:at], word, *handle[at + 1 :]])


@st.composite
def requests(draw: st.DrawFn) -> m.AckMessageRequest:
    usual = HANDLE.split(" ")
    handles = st.builds(bent, st.just(usual), st.integers(0, 9), WORDS) | HANDLES | st.just(HANDLE)
    entries = [
        m.AckMessageEntry(message_id=draw(NAMES), receipt_handle=draw(handles))
        for _ in range(draw(st.sampled_from([1, 1, 1, 0, 2])))
    ]
    return m.AckMessageRequest(
        group=m.Resource(name=draw(NAMES), resource_namespace=draw(NAMES)),
        topic=m.Resource(name=draw(NAMES)),
        entries=entries,
    )


def usual(handle: str = HANDLE, message_id: str = "01A", **other: Any) -> m.AckMessageRequest:
    said: dict[str, Any] = {"group": m.Resource(name="billing"), "topic": m.Resource(name="orders")}
    entry = m.AckMessageEntry(message_id=message_id, receipt_handle=handle)
    return m.AckMessageRequest(**{**said, "entries": [entry], **other})


def check_alike(found: OrdinaryAck, data: bytes) -> None:
    asked = m.AckMessageRequest.FromString(data)
    [entry] = asked.entries
    assert found[:4] == (asked.topic.name, asked.group.name, entry.message_id, entry.receipt_handle)
    assert found.handle == DoorHandle.parse(entry.receipt_handle)
    whole = all_done([(entry.message_id, entry.receipt_handle)])
    assert found.done.SerializeToString() == whole.SerializeToString()


@given(requests())
@example(usual())
def test_what_is_read_is_what_python_reads(request: m.AckMessageRequest) -> None:
    data = request.SerializeToString()
    found = READER.FromString(data)
    if isinstance(found, OrdinaryAck):
        check_alike(found, data)
    else:
        assert found == request


@given(requests(), st.data())
def test_bytes_that_are_bent(request: m.AckMessageRequest, data: st.DataObject) -> None:
    raw = bytearray(request.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    if AckReader(b"").read(bytes(raw)) is not None:
        found = READER.FromString(bytes(raw))
        assert isinstance(found, OrdinaryAck)
        check_alike(found, bytes(raw))


@pytest.mark.parametrize(
    "request_",
    [
        usual(),
        usual(HANDLE.rpartition(" ")[0]),
        usual("0 0 0 0 1 b 0 0", "é" * 100),
        usual(f"{'9' * 18} 1 1 {'9' * 9} 2 {'b' * 300} {'9' * 9} {'9' * 18} {'9' * 18}", "i" * 20_000),
        usual(group=m.Resource(name="billing", resource_namespace="ns")),
    ],
)
def test_ordinary_requests_are_read(request_: m.AckMessageRequest) -> None:
    data = request_.SerializeToString()
    found = READER.FromString(data)
    assert isinstance(found, OrdinaryAck)
    check_alike(found, data)


ODD = [
    b"",
    b"\xff",
    usual(entries=[]).SerializeToString(),
    usual().SerializeToString() * 2,
    usual().SerializeToString() + b"\x20\x01",
    usual().SerializeToString()[:-1],
    usual(message_id="").SerializeToString(),
    usual(handle="").SerializeToString(),
    usual(f"{HANDLE} more").SerializeToString(),
    usual(HANDLE.replace("1234567", "-1")).SerializeToString(),
    usual(group=m.Resource()).SerializeToString(),
    usual(topic=None).SerializeToString(),
]


@pytest.mark.parametrize("data", ODD, ids=range(len(ODD)))
def test_what_is_odd_is_left(data: bytes) -> None:
    assert AckReader(b"").read(data) is None
