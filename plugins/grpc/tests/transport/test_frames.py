from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.transport.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    FRAME_BYTES_MAX,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    ErrorCode,
    FrameCutter,
    HttpBroken,
    HttpFrame,
    frame_head,
)


def frame(kind: int, body: bytes = b"", flags: int = 0, number: int = 0) -> bytes:
    return frame_head(len(body), kind, flags, number) + body


BEGIN = PREFACE + frame(SETTINGS)


def begun(headers_bytes_max: int = 1000) -> FrameCutter:
    cutter = FrameCutter(headers_bytes_max)
    cutter.add(BEGIN)
    assert cutter.take() == (SETTINGS, 0, 0, b"")
    return cutter


def all_of(cutter: FrameCutter) -> list[HttpFrame]:
    found = []
    while (taken := cutter.take()) is not None:
        found.append(taken)
    return found


def broken(cutter: FrameCutter, *raw: bytes) -> HttpBroken:
    cutter.add(b"".join(raw))
    with pytest.raises(HttpBroken) as caught:
        all_of(cutter)
    return caught.value


def test_frames_are_what_their_heads_say() -> None:
    cutter = begun()
    cutter.add(frame(DATA, b"abc", 1, 7) + frame(PING, b"12345678"))
    assert all_of(cutter) == [
        HttpFrame(DATA, 1, 7, b"abc"),
        HttpFrame(PING, 0, 0, b"12345678"),
    ]
    assert cutter.held == 0


def test_the_reserved_bit_says_nothing() -> None:
    cutter = begun()
    cutter.add(frame_head(0, DATA, 0, 0x80000005))
    assert [each.number for each in all_of(cutter)] == [5]


@pytest.mark.parametrize(
    "raw", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01", b"PRI * HTTP/2.1", b"PRI * HTTP/2.0\r\n\r\nXX", b"\0"]
)
def test_what_is_no_http2_is_refused_by_its_first_bytes(raw: bytes) -> None:
    assert broken(FrameCutter(1000), raw).code is ErrorCode.PROTOCOL_ERROR


def test_settings_come_first() -> None:
    for first in (frame(PING, b"12345678"), frame(SETTINGS, b"", ACK), frame(HEADERS, b"", 0, 1)):
        assert "not settings" in str(broken(FrameCutter(1000), PREFACE, first))


def test_a_frame_that_is_too_long_is_refused_by_its_head() -> None:
    cutter = begun()
    cutter.add(frame(DATA, b"x" * FRAME_BYTES_MAX, 0, 1))
    assert len(all_of(cutter)) == 1
    problem = broken(cutter, frame_head(FRAME_BYTES_MAX + 1, DATA, 0, 1))
    assert problem.code is ErrorCode.FRAME_SIZE_ERROR
    assert broken(begun(), b"\xff\xff\xff\0\0\0\0\0\1").code is ErrorCode.FRAME_SIZE_ERROR


def test_header_fields_may_come_in_several_frames() -> None:
    cutter = begun()
    cutter.add(frame(HEADERS, b"a" * 10, 0, 1))
    assert len(all_of(cutter)) == 1
    assert cutter.held == 19
    cutter.add(frame(CONTINUATION, b"b", 0, 1) + frame(CONTINUATION, b"c", END_HEADERS, 1))
    assert [each.kind for each in all_of(cutter)] == [CONTINUATION, CONTINUATION]
    assert cutter.held == 0


@pytest.mark.parametrize(
    "raw",
    [
        frame(HEADERS, b"a", 0, 1) + frame(PING, b"12345678"),
        frame(HEADERS, b"a", 0, 1) + frame(99),
        frame(HEADERS, b"a", 0, 1) + frame(HEADERS, b"b", END_HEADERS, 1),
        frame(HEADERS, b"a", 0, 1) + frame(CONTINUATION, b"b", END_HEADERS, 3),
        frame(CONTINUATION, b"b", END_HEADERS, 1),
        frame(HEADERS, b"a", END_HEADERS, 1) + frame(CONTINUATION, b"b", END_HEADERS, 1),
    ],
)
def test_nothing_comes_between_header_fields(raw: bytes) -> None:
    assert broken(begun(), raw).code is ErrorCode.PROTOCOL_ERROR


def test_header_fields_do_not_go_on_for_ever() -> None:
    cutter = begun(1000)
    cutter.add(frame(HEADERS, b"a" * 900, 0, 1))
    all_of(cutter)
    assert broken(cutter, frame(CONTINUATION, b"b" * 90, 0, 1)).code is ErrorCode.ENHANCE_YOUR_CALM
    empty = begun(1000)
    problem = broken(empty, frame(HEADERS, b"", 0, 1), frame(CONTINUATION, b"", 0, 1) * 200)
    assert problem.code is ErrorCode.ENHANCE_YOUR_CALM


def test_each_block_counts_for_itself() -> None:
    cutter = begun(1000)
    for number in range(1, 100, 2):
        cutter.add(frame(HEADERS, b"a" * 900, END_HEADERS, number))
        assert len(all_of(cutter)) == 1


def test_nothing_is_kept_of_what_was_taken() -> None:
    cutter = begun()
    cutter.add(frame(DATA, b"x" * 10_000, 0, 1) + b"\0\0")
    assert len(all_of(cutter)) == 1
    assert cutter.held == 2


@given(
    st.lists(
        st.tuples(st.sampled_from([DATA, PING, 99]), st.binary(max_size=40), st.integers(1, 9)), max_size=8
    ),
    st.lists(st.integers(0, 10_000), max_size=20),
)
def test_any_cutting_gives_the_same_frames(sent: list[tuple[int, bytes, int]], cuts: list[int]) -> None:
    raw = BEGIN + b"".join(frame(kind, body, 0, number) for kind, body, number in sent)

    def read(pieces: list[bytes]) -> list[HttpFrame]:
        cutter, found = FrameCutter(1000), []
        for piece in pieces:
            cutter.add(piece)
            while (taken := cutter.take()) is not None:
                found.append(taken)
        assert cutter.held == 0
        return found

    whole = read([raw])
    assert [(each.kind, each.content, each.number) for each in whole[1:]] == sent
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    assert read([raw[a:b] for a, b in pairwise(places)]) == whole
    assert read([raw[n : n + 1] for n in range(len(raw))]) == whole
