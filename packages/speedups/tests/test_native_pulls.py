"""Pulls read by their pattern: as Python reads them."""

from __future__ import annotations

import pytest
from mqframe_speedups._native import PullReader
from twins import pull


def test_a_pull_is_known_by_its_pattern() -> None:
    reader, kind = PullReader(), object()
    first = pull(70_000, 123_456_789_012, 3, commitOffset=99)
    assert reader.read(first, 0) == (len(first), None, 3, 123_456_789_012, 99, 70_000)
    reader.know(first, 0, kind)
    assert len(reader) == 1
    other = pull(0, 0, 0)
    assert reader.read(first + other, len(first)) == (len(first + other), kind, 0, 0, 0, 0)
    for different in ({"maxMsgNums": 31}, {"topic": "u"}, {"code": 361}, {"flag": 2}, {"sysFlag": "3"}):
        found = reader.read(pull(1, 2, 3, **different), 0)  # type: ignore[arg-type]
        assert found is not None
        assert found[1:] == (None, 3, 2, 0, 1)


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
    ],
)
def test_what_is_no_plain_pull(frame: bytes) -> None:
    reader = PullReader()
    assert reader.read(frame, 0) is None
    reader.know(frame, 0, 1)
    assert len(reader) == 0
    assert reader.read(frame, len(frame) + 9) is None


def test_the_largest_numbers() -> None:
    frame = pull(2**31 - 1, 10**18 - 1, 10**18 - 1, commitOffset=10**18 - 1)
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
