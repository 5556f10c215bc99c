"""The hello and the welcome: whole, in pieces, with what follows them, and what is none."""

from __future__ import annotations

import json
import re
import struct
from contextlib import suppress
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.rules.hello import (
    HELLO,
    MESSAGE_BYTES_MAX,
    EpochStart,
    Hello,
    HelloReader,
    Welcome,
    WelcomeReader,
    encode_hello,
    encode_welcome,
    is_hello,
    signable,
    signed_frame,
)
from mqframe_replication.rules.stream import encode_report

from mqframe.core.errors import FrameError

I32, I64 = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
HISTORY = st.lists(st.builds(EpochStart, I32, I64), max_size=5).map(tuple)
HELLOS = st.builds(
    Hello,
    cluster=st.text(),
    broker=st.text(),
    id=I32,
    file_bytes=I64,
    end=I64,
    boot=st.text(),
    epoch=I32,
    history=HISTORY,
    access=st.dictionaries(st.text(), st.text(), max_size=3),
    fetches=st.booleans(),
    protocol=I32,
)
WELCOMES = st.builds(
    Welcome,
    refusal=st.text(),
    challenge=st.text(),
    id=I32,
    epoch=I32,
    history=HISTORY,
    start=I64,
    end=I64,
    confirmed=I64,
    protocol=I32,
)
CUTS = st.lists(st.integers(0, 2000))
HELLO_HERE = Hello("C", "broker-a", 1, 1 << 30, 4711, "b00t")


def parts_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


@given(HELLOS, CUTS, st.binary(max_size=20))
def test_a_hello_is_the_same_however_it_is_split_and_the_tail_is_left(
    hello: Hello, cuts: list[int], tail: bytes
) -> None:
    reader, raw = HelloReader(), encode_hello(hello)
    for part in parts_of(raw[:-1], cuts):
        assert reader.read(part) is None
        assert reader.rest == b""
    assert reader.read(raw[-1:] + tail) == hello
    assert reader.rest == tail


@given(WELCOMES, CUTS, st.binary(max_size=20))
def test_a_welcome_is_the_same_however_it_is_split_and_the_tail_is_left(
    welcome: Welcome, cuts: list[int], tail: bytes
) -> None:
    reader, raw = WelcomeReader(), encode_welcome(welcome)
    for part in parts_of(raw[:-1], cuts):
        assert reader.read(part) is None
    assert reader.read(raw[-1:] + tail) == welcome
    assert reader.rest == tail


def test_messages_are_read_byte_by_byte() -> None:
    reader = HelloReader()
    found = [reader.read(bytes([each])) for each in encode_hello(HELLO_HERE)]
    assert found == [None] * (len(found) - 1) + [HELLO_HERE]


def test_what_comes_later_is_left_as_well() -> None:
    reader = HelloReader()
    reader.read(encode_hello(HELLO_HERE) + b"ab")
    assert reader.read(b"cd") == HELLO_HERE
    assert reader.rest == b"abcd"


def test_a_hello_stands_where_a_report_would_with_a_number_that_is_none() -> None:
    raw = encode_hello(HELLO_HERE)
    text = raw[12:]
    assert HELLO < -1
    assert raw[:12] == struct.pack(">qi", HELLO, len(text))
    assert json.loads(text) == {
        "cluster": "C",
        "broker": "broker-a",
        "is_clean": True,
        "id": 1,
        "file_bytes": 1 << 30,
        "end": 4711,
        "boot": "b00t",
        "epoch": 0,
        "history": [],
        "access": {},
        "fetches": False,
        "protocol": 1,
    }


def test_what_a_later_protocol_adds_is_passed_over() -> None:
    text = json.dumps({**json.loads(encode_hello(HELLO_HERE)[12:]), "colour": "red", "protocol": 2}).encode()
    read = HelloReader().read(struct.pack(">qi", HELLO, len(text)) + text)
    assert read == msgspec.structs.replace(HELLO_HERE, protocol=2)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_report_is_told_from_a_hello(offset: int) -> None:
    assert is_hello(encode_report(offset)) is (offset == HELLO)


@given(HELLOS)
def test_a_hello_is_known_once_its_number_is_there(hello: Hello) -> None:
    raw = encode_hello(hello)
    assert [is_hello(raw[:size]) for size in range(7)] == [None] * 7
    assert is_hello(raw[:8]) is is_hello(raw) is True


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (encode_report(4711), "begins no Hello: a slave that sends none"),
        (b"\xffmqG", "begins no Hello"),
        (b"GET / HTTP/1.1", "begins no Hello"),
        (struct.pack(">qi", HELLO, MESSAGE_BYTES_MAX + 1), f"Hello of {MESSAGE_BYTES_MAX + 1} bytes"),
        (struct.pack(">qi", HELLO, 0), "Hello of 0 bytes"),
        (struct.pack(">qi", HELLO, -1), "Hello of -1 bytes"),
        (struct.pack(">qi", HELLO, 2) + b"{}", "missing required field `cluster`"),
        (struct.pack(">qi", HELLO, 2) + b"{x", "JSON is malformed"),
        (struct.pack(">qi", HELLO, 5) + b'"\xff\xff\xff"', "cannot be read"),
    ],
)
def test_what_is_no_hello_is_refused_by_a_sentence(sent: bytes, said: str) -> None:
    with pytest.raises(FrameError, match=said):
        HelloReader().read(sent)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("id", -1, r">= 0 - at `\$.id"),
        ("id", 2**31, r"<= 2147483647 - at `\$.id"),
        ("end", 2**63, r"\$.end"),
        ("file_bytes", "1", r"\$.file_bytes"),
        ("broker", None, r"\$.broker"),
        ("history", [[1, 2, 3]], r"\$.history\[0\]"),
        ("history", [[1, -2]], r"\$.history\[0\]\[1\]"),
        ("access", {"key": 1}, r"\$.access"),
    ],
)
def test_a_field_that_cannot_be_is_named(field: str, value: object, said: str) -> None:
    text = json.dumps({**json.loads(encode_hello(HELLO_HERE)[12:]), field: value}).encode()
    with pytest.raises(FrameError, match=said):
        HelloReader().read(struct.pack(">qi", HELLO, len(text)) + text)


@given(st.binary(min_size=1, max_size=60), CUTS)
def test_any_bytes_give_a_message_or_a_frame_error(data: bytes, cuts: list[int]) -> None:
    for reader, raw in (
        (HelloReader(), data),
        (HelloReader(), struct.pack(">qi", HELLO, len(data)) + data),
        (WelcomeReader(), data),
        (WelcomeReader(), struct.pack(">i", len(data)) + data),
    ):
        found = None
        with suppress(FrameError):
            for part in parts_of(raw, cuts):
                found = reader.read(part)
        assert found is None or raw.endswith(reader.rest)


def test_a_welcome_of_something_else_is_refused_at_its_length() -> None:
    with pytest.raises(FrameError, match="no replication port of mqframe"):
        WelcomeReader().read(b"HTTP/1.1 400")


def test_a_history_that_is_too_long_is_not_sent() -> None:
    history = (EpochStart(2**31 - 1, 2**63 - 1),) * 40_000
    with pytest.raises(FrameError, match="history has 40000 epochs"):
        encode_hello(msgspec.structs.replace(HELLO_HERE, history=history))
    with pytest.raises(FrameError, match="at most 1048576 may be sent"):
        encode_welcome(Welcome(history=history))


@given(HELLOS, st.text())
def test_a_signature_is_of_all_but_itself(hello: Hello, challenge: str) -> None:
    unsigned = msgspec.structs.replace(hello, access={})
    assert signable(hello, challenge) == signable(unsigned, challenge)
    assert signable(hello, challenge) != signable(hello, challenge + "x")
    other = msgspec.structs.replace(hello, end=(hello.end + 1) % 2**63)
    assert signable(hello, challenge) != signable(other, challenge)


@given(HELLOS, st.text())
def test_what_is_signed_is_no_request_and_chosen_by_nobody_alone(hello: Hello, challenge: str) -> None:
    frame = signed_frame(hello, challenge)
    assert (frame.code, frame.ext) == (0, hello.access)
    assert re.fullmatch(rb"replication hello [0-9a-f]{64}", frame.body)
    assert frame.ext is not hello.access
