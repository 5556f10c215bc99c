from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_grpc.transport.frames import FRAME_BYTES_MAX
from mqframe_grpc.transport.messages import IncomingMessages, WholeMessage, framed, together
from mqframe_grpc.transport.status import GrpcError, GrpcStatus

MAX = 1000


def packed(message: bytes) -> bytes:
    body = gzip.compress(message)
    return b"\1" + len(body).to_bytes(4, "big") + body


def all_of(incoming: IncomingMessages) -> list[WholeMessage]:
    found = []
    while (message := incoming.take()) is not None:
        found.append(message)
    return found


def refusal(incoming: IncomingMessages) -> GrpcError:
    with pytest.raises(GrpcError) as caught:
        incoming.take()
    return caught.value


@given(
    st.lists(
        st.binary(min_size=5, max_size=40).flatmap(lambda start: st.integers(0, 1000).map(start.__mul__))
    )
)
@example([])
@example([bytes(FRAME_BYTES_MAX), b"a"])
@example([bytes(FRAME_BYTES_MAX + 1), b"a", b"b"])
def test_answers_go_together_as_far_as_a_frame_takes_them(answers: list[bytes]) -> None:
    begun, pieces = 0, list(together(answers))
    for count, data in pieces:
        assert data == b"".join(answers[begun:count])
        assert len(data) <= FRAME_BYTES_MAX or count - begun == 1
        assert count == len(answers) or len(data) + len(answers[count]) > FRAME_BYTES_MAX
        begun = count
    assert begun == len(answers)


def test_an_answer_is_asked_for_when_those_before_have_left_no_earlier() -> None:
    asked = []

    def answers() -> Iterator[bytes]:
        for number in range(3):
            asked.append(number)
            yield bytes(FRAME_BYTES_MAX)

    left = together(answers())
    assert next(left)[0] == 1
    assert asked == [0, 1]


def test_a_message_comes_as_it_was_sent() -> None:
    incoming = IncomingMessages("identity", MAX)
    incoming.feed(framed(b"abc"))
    assert all_of(incoming) == [WholeMessage(b"abc", 8)]
    assert incoming.partial_bytes == 0


def test_an_empty_message_is_one() -> None:
    incoming = IncomingMessages("identity", MAX)
    incoming.feed(framed(b"") + framed(b""))
    assert all_of(incoming) == [WholeMessage(b"", 5), WholeMessage(b"", 5)]


def test_what_is_half_there_is_counted() -> None:
    incoming = IncomingMessages("identity", MAX)
    incoming.feed(framed(b"abc") + framed(b"defg")[:6])
    assert incoming.partial_bytes == 8 + 6
    assert all_of(incoming) == [WholeMessage(b"abc", 8)]
    assert incoming.partial_bytes == 6
    incoming.feed(b"efg")
    assert all_of(incoming) == [WholeMessage(b"defg", 9)]
    assert incoming.partial_bytes == 0


def test_what_nobody_wants_takes_nothing() -> None:
    incoming = IncomingMessages("identity", MAX)
    incoming.feed(framed(b"abc") + b"\0\0")
    assert incoming.take() is not None
    incoming.drop()
    assert incoming.partial_bytes == 0
    assert incoming.take() is None


def test_packed_messages_are_unpacked() -> None:
    incoming = IncomingMessages("gzip", MAX)
    incoming.feed(packed(b"a" * 900) + framed(b"plain"))
    first, second = all_of(incoming)
    assert first == (b"a" * 900, len(packed(b"a" * 900)))
    assert second == (b"plain", 10)


def test_the_longest_message_is_read_packed_or_not() -> None:
    for raw in (framed(b"z" * MAX), packed(b"z" * MAX)):
        incoming = IncomingMessages("gzip", MAX)
        incoming.feed(raw)
        assert [each.content for each in all_of(incoming)] == [b"z" * MAX]


def test_a_message_that_is_too_long_is_refused_by_its_first_bytes() -> None:
    incoming = IncomingMessages("identity", MAX)
    incoming.feed(framed(b"z" * (MAX + 1))[:5])
    problem = refusal(incoming)
    assert problem.status is GrpcStatus.RESOURCE_EXHAUSTED
    assert "of 1001 bytes; at most 1000" in problem.text


@pytest.mark.parametrize("size", [MAX + 1, 50_000_000])
def test_what_unpacks_to_too_much_is_refused(size: int) -> None:
    incoming = IncomingMessages("gzip", 100_000 if size > MAX + 1 else MAX)
    incoming.feed(packed(b"\0" * size))
    problem = refusal(incoming)
    assert problem.status is GrpcStatus.RESOURCE_EXHAUSTED
    assert "unpacks to more" in problem.text


@pytest.mark.parametrize(
    ("encoding", "raw", "status", "text"),
    [
        ("gzip", b"\2\0\0\0\1x", GrpcStatus.INTERNAL, "begins with 2"),
        ("identity", b"\1\0\0\0\1x", GrpcStatus.INTERNAL, "packs none"),
        ("snappy", b"\1\0\0\0\1x", GrpcStatus.UNIMPLEMENTED, "'snappy'"),
        ("gzip", b"\1\0\0\0\1x", GrpcStatus.INTERNAL, "cut off"),
        ("gzip", b"\1\0\0\0\0", GrpcStatus.INTERNAL, "cut off"),
        ("gzip", b"\1\0\0\0\4none", GrpcStatus.INTERNAL, "no gzip"),
        ("gzip", b"\1\0\0\0\x0b" + zlib.compress(b"xxxxxx"), GrpcStatus.INTERNAL, "no gzip"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(encoding: str, raw: bytes, status: GrpcStatus, text: str) -> None:
    incoming = IncomingMessages(encoding, MAX)
    incoming.feed(raw)
    problem = refusal(incoming)
    assert problem.status is status
    assert text in problem.text


@pytest.mark.parametrize(
    ("change", "text"), [(lambda b: b[:-3], "cut off"), (lambda b: b + b"more", "goes on")]
)
def test_a_gzip_is_whole_and_alone(change: object, text: str) -> None:
    body = change(gzip.compress(b"abc"))  # type: ignore[operator]
    incoming = IncomingMessages("gzip", MAX)
    incoming.feed(b"\1" + len(body).to_bytes(4, "big") + body)
    assert text in refusal(incoming).text


def test_messages_before_a_bad_one_come_first() -> None:
    incoming = IncomingMessages("identity", MAX)
    incoming.feed(framed(b"good") + b"\7\0\0\0\0")
    assert incoming.take() == (b"good", 9)
    assert "begins with 7" in refusal(incoming).text


def pieces_of(raw: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    return [raw[a:b] for a, b in pairwise(places)]


@given(
    st.lists(st.tuples(st.booleans(), st.binary(max_size=60))),
    st.binary(max_size=12),
    st.lists(st.integers(0, 10_000), max_size=30),
)
@example([(False, b"")], b"", [1, 2, 3, 4])
def test_any_cutting_gives_the_same_messages(
    sent: list[tuple[bool, bytes]], tail: bytes, cuts: list[int]
) -> None:
    raw = b"".join(packed(each) if is_packed else framed(each) for is_packed, each in sent) + tail

    def read(pieces: list[bytes]) -> tuple[list[WholeMessage], object]:
        incoming = IncomingMessages("gzip", MAX)
        found: list[WholeMessage] = []
        for piece in pieces:
            before = incoming.partial_bytes
            incoming.feed(piece)
            assert incoming.partial_bytes == before + len(piece)
            try:
                while (message := incoming.take()) is not None:
                    found.append(message)
            except GrpcError as problem:
                return found, (problem.status, problem.text)
        assert sum(each.wire_bytes for each in found) + incoming.partial_bytes == len(raw)
        return found, incoming.partial_bytes

    whole = read([raw])
    assert [each.content for each in whole[0]][: len(sent)] == [each for _, each in sent]
    assert read(pieces_of(raw, cuts)) == whole
    assert read([raw[n : n + 1] for n in range(len(raw))]) == whole
