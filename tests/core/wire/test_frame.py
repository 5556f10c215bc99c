from __future__ import annotations

import contextlib
import hashlib
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import FRAMES, Recorded
from strategies import frames

from mqframe.core.codes import LANGUAGE_NUMBERS
from mqframe.core.errors import FrameError
from mqframe.core.wire.frame import (
    Frame,
    FrameDecoder,
    HeaderForm,
    decode_header,
    encode_answer,
    encode_frame,
    encode_head,
)


def decode_all(data: bytes, piece: int | None = None) -> tuple[list[Frame], int]:
    """The frames in `data`, fed in pieces, and how many bytes are left over."""
    decoder = FrameDecoder()
    found = []
    step = piece or max(1, len(data))
    for at in range(0, len(data), step):
        decoder.receive(data[at : at + step])
        while (frame := decoder.next_frame()) is not None:
            frame.body = bytes(frame.body)
            found.append(frame)
    return found, decoder.unread_bytes


def test_there_are_recorded_frames() -> None:
    assert len(FRAMES) > 500


@pytest.mark.parametrize("recorded", FRAMES, ids=str)
def test_recorded_frames_have_the_facts_that_were_recorded(recorded: Recorded) -> None:
    [frame], rest = decode_all(recorded.raw)
    facts = recorded.facts
    assert rest == 0
    assert frame.code == facts["code"]
    assert frame.opaque == facts["opaque"]
    assert frame.flag == facts["flag"]
    assert frame.remark == facts["remark"]
    assert frame.version == facts["version"]
    assert facts["language"] in (frame.language, LANGUAGE_NUMBERS[frame.language])
    assert frame.form.name == facts["serializeType"]
    assert (frame.ext or None) == (facts["extFields"] or None)
    assert len(frame.body) == facts["body"]["length"]
    if frame.body:
        assert hashlib.sha256(frame.body).hexdigest() == facts["body"]["sha256"]


@pytest.mark.parametrize("recorded", FRAMES, ids=str)
def test_recorded_frames_encode_to_the_same_bytes(recorded: Recorded) -> None:
    [frame], _ = decode_all(recorded.raw)
    assert encode_frame(frame) == recorded.raw


@pytest.mark.parametrize("recorded", FRAMES[::7], ids=str)
def test_recorded_frames_decode_byte_by_byte_and_with_trailing_data(recorded: Recorded) -> None:
    whole, _ = decode_all(recorded.raw)
    assert decode_all(recorded.raw, 1) == (whole, 0)
    assert decode_all(recorded.raw + recorded.raw[:9]) == (whole, 9)


@given(frames())
def test_frames_survive(frame: Frame) -> None:
    assert decode_all(encode_frame(frame)) == ([frame], 0)


@given(st.lists(frames(), max_size=4), st.integers(1, 50), st.binary(max_size=3))
def test_frames_survive_in_any_pieces_with_trailing_data(
    sent: list[Frame], piece: int, trailing: bytes
) -> None:
    data = b"".join(map(encode_frame, sent)) + trailing
    assert decode_all(data, piece) == (sent, len(trailing))


@given(frames(HeaderForm.JSON))
def test_answers_are_frames(frame: Frame) -> None:
    head = encode_answer(frame.opaque, frame.code, frame.ext, frame.remark, len(frame.body))
    [answer], _ = decode_all(head + frame.body)
    assert answer == Frame(frame.code, frame.opaque, 1, frame.remark, frame.ext, frame.body)


def test_head_counts_a_body_that_follows() -> None:
    head = encode_head(Frame(310), 5)
    [frame], rest = decode_all(head + b"hello")
    assert (frame.body, rest) == (b"hello", 0)


@given(st.binary(max_size=200))
def test_any_bytes_give_frames_or_a_frame_error(data: bytes) -> None:
    with contextlib.suppress(FrameError):
        decode_all(data)


@given(frames(), st.data())
def test_a_damaged_header_gives_a_frame_or_a_frame_error(frame: Frame, data: st.DataObject) -> None:
    raw = bytearray(encode_frame(frame))
    at = data.draw(st.integers(8, max(8, len(raw) - len(frame.body) - 1)))
    raw[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FrameError):
        decode_all(bytes(raw))


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (struct.pack(">iI", 3, 0), "frame length 3 "),
        (struct.pack(">iI", -1, 0), "frame length -1 "),
        (struct.pack(">i", 2**31 - 1), "frame length 2147483647 "),
        (struct.pack(">iI", 16 * 1024 * 1024, 0), "frame length 16777216 "),
        (struct.pack(">iI", 10, 20) + b"x" * 20, "header of 20 bytes"),
        (struct.pack(">iI", 6, 2 | 7 << 24) + b"{}", "unknown header form 7"),
        (struct.pack(">iI", 6, 2) + b"{}", "JSON header cannot be read"),
        (struct.pack(">iI", 7, 3) + b"\xff\xfe{", "JSON header cannot be read"),
        (struct.pack(">iI", 7, 3 | 1 << 24) + b"abc", "binary header cannot be read"),
        (
            struct.pack(">iI", 25 + 4, 25 | 1 << 24)
            + struct.pack(">hBhiiii", 1, 0, 1, 1, 0, 0, 99)
            + b"\0" * 4,
            "header fields end at byte",
        ),
        (
            struct.pack(">iI", 21 + 4, 21 | 1 << 24) + struct.pack(">hBhiiii", 1, 0, 1, 1, 0, 77, 0),
            "text of 77 bytes",
        ),
    ],
)
def test_what_cannot_be_a_frame_is_refused_with_its_reason(raw: bytes, problem: str) -> None:
    with pytest.raises(FrameError, match=problem):
        decode_all(raw)


def test_good_frames_before_a_bad_one_are_given_out() -> None:
    decoder = FrameDecoder()
    decoder.receive(encode_frame(Frame(1)) + b"\xff\xff\xff\xff\0\0\0\0")
    assert decoder.next_frame() == Frame(1)
    with pytest.raises(FrameError):
        decoder.next_frame()


def test_the_limit_counts_the_whole_frame() -> None:
    raw = encode_frame(Frame(1, body=b"x" * 500))
    fits = FrameDecoder(len(raw))
    fits.receive(raw)
    assert fits.next_frame() is not None
    tight = FrameDecoder(len(raw) - 1)
    tight.receive(raw[:4])
    with pytest.raises(FrameError):
        tight.next_frame()


def test_bare_numbers_and_booleans_of_foreign_clients_are_taken_as_text() -> None:
    header = b'{"code":11,"extFields":{"a":1,"b":true,"c":null,"d":1.5},"unknown":[1],"language":null}'
    [frame], _ = decode_all(struct.pack(">iI", 4 + len(header), len(header)) + header)
    assert frame == Frame(11, ext={"a": "1", "b": "true", "d": "1.5"}, language="OTHER", version=0)


def test_an_unknown_language_number_is_other() -> None:
    header = struct.pack(">hBhiiii", 5, 200, 1, 1, 0, 0, 0)
    [frame], _ = decode_all(struct.pack(">iI", 4 + len(header), len(header) | 1 << 24) + header)
    assert frame.language == "OTHER"


def test_a_code_above_two_bytes_has_no_binary_form() -> None:
    with pytest.raises(FrameError, match="200050"):
        encode_frame(Frame(200050, form=HeaderForm.ROCKETMQ))


def test_many_small_pieces_of_a_large_frame_are_joined_now_and_then() -> None:
    frame = encode_frame(Frame(1, 5, body=bytes(range(256)) * 200))
    decoder = FrameDecoder()
    for at in range(len(frame)):
        assert decoder.next_frame() is None
        decoder.receive(frame[at : at + 1])
        assert decoder.unread_bytes == at + 1
    found = decoder.next_frame()
    assert found is not None
    assert bytes(found.body) == bytes(range(256)) * 200
    assert decoder.next_frame() is None
    assert decoder.unread_bytes == 0


def test_a_large_frame_is_let_go_once_it_was_taken() -> None:
    data = encode_frame(Frame(1, 5, body=b"x" * 100_000))
    decoder = FrameDecoder()
    assert decoder.untouched
    decoder.receive(data)
    before = sys.getrefcount(data)
    frame = decoder.next_frame()
    assert frame is not None
    assert decoder.next_frame() is None
    frame.body = b""
    assert sys.getrefcount(data) == before - 1
    assert not decoder.untouched


def test_half_a_frame_is_let_go_when_nothing_more_comes() -> None:
    data = encode_frame(Frame(1, 5, body=b"x" * 100_000))
    first, second = data[:50_000], data[50_000:99_999]
    before = sys.getrefcount(first), sys.getrefcount(second)
    decoder = FrameDecoder()
    for piece in (first, second):
        decoder.receive(piece)
        assert decoder.next_frame() is None
    decoder.drop()
    del piece
    assert (sys.getrefcount(first), sys.getrefcount(second)) == before
    assert decoder.unread_bytes == 0
    assert decoder.next_frame() is None


def test_headers_have_a_limit() -> None:
    data = encode_frame(Frame(1, 5, ext={"a": "x" * 1000}))
    size = int.from_bytes(data[5:8], "big")
    allowed, refused = FrameDecoder(header_bytes_max=size), FrameDecoder(header_bytes_max=size - 1)
    allowed.receive(data)
    refused.receive(data)
    assert allowed.next_frame() is not None
    with pytest.raises(
        FrameError, match=rf"header of {size} bytes; at most {size - 1} .*net.header_bytes_max"
    ):
        refused.next_frame()


@pytest.mark.parametrize(
    "header",
    [
        b'{"code":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"code":1,"extFields":{"a":' + b"[" * 100_000,
        b'{"code":' + b"1" * 5000 + b"}",
        b'{"code":1,"extFields":{"a":' + b"1" * 5000 + b"}}",
        b'{"code":1,"remark":"\\ud800"}',
        b'{"code":1,"remark":"\xff"}',
        b'{"code":null}',
        b"[]",
        b"",
    ],
)
def test_a_header_that_nobody_can_read_is_a_frame_error(header: bytes) -> None:
    with pytest.raises(FrameError, match="JSON header cannot be read"):
        decode_header(memoryview(header), 0)


def test_what_is_unread_can_be_served_elsewhere() -> None:
    decoder, frames = FrameDecoder(), [encode_frame(Frame(1, number, body=b"x")) for number in range(4)]
    decoder.receive(b"".join(frames)[:-1])
    assert decoder.next_frame() == Frame(1, 0, body=b"x")
    assert decoder.unread == (b"".join(frames)[:-1], len(frames[0]))
    decoder.skip(len(frames[1]))
    assert decoder.next_frame() == Frame(1, 2, body=b"x")
    assert decoder.unread == (b"".join(frames)[:-1], 3 * len(frames[0]))
    assert decoder.next_frame() is None
    decoder.receive(frames[3][-1:])
    assert decoder.next_frame() == Frame(1, 3, body=b"x")
    assert decoder.unread == (frames[3], len(frames[3]))


@pytest.mark.parametrize(("cut", "known"), [(1, 4), (5, 8), (9, None), (20, None)])
def test_a_frame_under_way_can_be_taken_back_once_it_may_end(cut: int, known: int | None) -> None:
    first, second = encode_frame(Frame(1, 1)), encode_frame(Frame(2, 2, ext={"a": "b"}, body=b"body"))
    decoder = FrameDecoder()
    decoder.receive(first + second[:cut])
    assert decoder.next_frame() == Frame(1, 1)
    assert decoder.next_frame() is None
    missing = (known or len(second)) - cut
    assert decoder.take_back(missing - 1) == b""
    assert decoder.unread_bytes == cut
    assert decoder.take_back(missing) == second[:cut]
    assert decoder.unread_bytes == 0
    decoder.receive(second)
    found = decoder.next_frame()
    assert found is not None
    assert (found.code, bytes(found.body)) == (2, b"body")
