"""Pulls read by their pattern: as Python reads them."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_speedups._native import PullReader
from twins import pull

from mqframe.core.wire.frame import Frame, FrameDecoder, HeaderForm, encode_frame

BINARY = HeaderForm.ROCKETMQ


def binary(number: int = 1, **fields: object) -> bytes:
    """A pull of offset 2 with a header in binary."""
    return pull(number, 2, form=BINARY, **fields)


def twice(name: str, value: str) -> bytes:
    """The same with one field more, which it has already."""
    raw, more = (
        binary(),
        b"".join((len(name).to_bytes(2, "big"), name.encode(), b"\0\0\0\x01", value.encode())),
    )
    size, header, fields = *struct.unpack(">II", raw[:8]), struct.unpack(">I", raw[25:29])[0]
    words = struct.pack(">II", size + len(more), header + len(more))
    return words + raw[8:25] + struct.pack(">I", fields + len(more)) + raw[29:] + more


@pytest.mark.parametrize("form", list(HeaderForm))
def test_a_pull_is_known_by_its_pattern(form: HeaderForm) -> None:
    reader, kind = PullReader(), object()
    first = pull(70_000, 123_456_789_012, 3, commitOffset=99, form=form)
    assert reader.read(first, 0) == (len(first), None, 3, 123_456_789_012, 99, 70_000)
    reader.know(first, 0, kind)
    assert len(reader) == 1
    other = pull(0, 0, 0, form=form)
    assert reader.read(first + other, len(first)) == (len(first + other), kind, 0, 0, 0, 0)
    different: list[dict[str, Any]] = [
        {"maxMsgNums": 31}, {"topic": "u"}, {"code": 361}, {"flag": 2}, {"sysFlag": "3"},
        {"form": HeaderForm(1 - form)},
    ]  # fmt: skip
    for fields in different:
        found = reader.read(pull(1, 2, 3, **{"form": form} | fields), 0)
        assert found is not None
        assert found[1:] == (None, 3, 2, 0, 1)


numbers = st.integers(0, 10**18 - 1) | st.integers(0, 9)
fields = st.dictionaries(
    st.sampled_from(["topic", "a", "ab", "opaque", "queueId2"]), st.text("ab1é\0", max_size=3), max_size=4
)
pulls = st.tuples(fields, numbers, numbers, numbers, st.integers(0, 2**31 - 1), st.booleans())


@given(first=pulls, second=pulls)
def test_patterns_are_alike_where_all_but_the_numbers_is(first: Any, second: Any) -> None:
    """Whatever lies where in a header in binary, and however long its values are."""
    reader, frames = PullReader(), []
    for more, queue_id, offset, commit, opaque, last in (first, second):
        named = {"queueOffset": str(offset), "queueId": str(queue_id), "commitOffset": str(commit)}
        ext = {**more, **named} if last else {**named, **more}
        frames.append(encode_frame(Frame(11, opaque, ext=ext, form=BINARY)))
        assert reader.read(frames[-1], 0) == (len(frames[-1]), None, queue_id, offset, commit, opaque)
    reader.know(frames[0], 0, "kind")
    found = reader.read(frames[1], 0)
    assert found is not None
    same = list(first[0].items()) == list(second[0].items()) and (not first[0] or first[5] == second[5])
    assert found[1] == ("kind" if same else None)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        pull(1, 2)[:7],
        pull(1, 2)[:-1],
        pull(1, 2, body=b"x"),
        pull(1, 2, queueOffset="-1"),
        pull(1, 2, queueOffset="+1"),
        pull(1, 2, queueOffset="01"),
        pull(1, 2, queueOffset=""),
        pull(1, 2, queueOffset="1 "),
        pull(1, 2, queueOffset="9" * 19),
        pull(1, 2, queueOffset="١"),  # a digit of another script
        pull(1, 2, queueId=None),
        pull(1, 2, unknown="x" * 4096),
        pull(2**31, 2),
        pull(1, 2).replace(b'"opaque":1,', b'"opaque":x,'),
        pull(1, 2)[:4] + b"\x01" + pull(1, 2)[5:],
        binary()[:4] + b"\0" + binary()[5:],
        binary()[:4] + b"\x02" + binary()[5:],
        binary()[:-1],
        binary(body=b"x"),
        binary(-1),
        binary(queueOffset="-1"),
        binary(queueOffset="+1"),
        binary(commitOffset="01"),
        binary(commitOffset=""),
        binary(queueOffset="9" * 19),
        binary(queueId="١"),
        binary(queueId=None),
        binary(unknown="x" * 4096),
        twice("queueId", "0"),
        twice("queueOffset", "3"),
        twice("commitOffset", "0"),
    ],
)
def test_what_is_no_plain_pull(frame: bytes) -> None:
    reader = PullReader()
    assert reader.read(frame, 0) is None
    reader.know(frame, 0, 1)
    assert len(reader) == 0
    assert reader.read(frame, len(frame) + 9) is None


def test_a_field_that_stands_there_twice_is_read_where_it_is_no_number() -> None:
    raw = twice("topic", "u")
    decoder = FrameDecoder()
    decoder.receive(raw)
    frame = decoder.next_frame()
    assert frame is not None
    assert (frame.ext or {})["topic"] == "u", "the last of them counts"
    found = PullReader().read(raw, 0)
    assert found == (len(raw), None, 0, 2, 0, 1)


@pytest.mark.parametrize("form", list(HeaderForm))
def test_the_largest_numbers(form: HeaderForm) -> None:
    frame = pull(2**31 - 1, 10**18 - 1, 10**18 - 1, commitOffset=10**18 - 1, form=form)
    found = PullReader().read(frame, 0)
    assert found == (len(frame), None, 10**18 - 1, 10**18 - 1, 10**18 - 1, 2**31 - 1)


@pytest.mark.parametrize(("letters", "count"), [(1, 16_384), (3500, 2200)])
def test_so_many_patterns_are_known(letters: int, count: int) -> None:
    reader, text, known = PullReader(), "x" * letters, 0
    while len(reader) == known:
        reader.know(pull(1, 2, maxMsgNums=known, unknown=text), 0, known)
        known += 1
    assert known - 1 == pytest.approx(count, rel=0.05)
    found = [reader.read(pull(3, 4, maxMsgNums=n, unknown=text), 0) for n in (0, known - 1)]
    assert [None if each is None else each[1] for each in found] == [None, known - 1]
