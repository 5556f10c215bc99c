"""Pulls read by their pattern, and entries chosen for them: as Python reads and chooses."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_speedups._native import PullReader
from mqframe_speedups._native import choose as native_choose
from twins import pull

from mqframe.core.storage.found import GetStatus
from mqframe.store.queues.choosing import Chosen, choose
from mqframe.store.queues.consume_queue import FILLER, FILLER_SIZE

FILE_BYTES = 1000


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


entry = st.tuples(
    st.sampled_from([0, 0, 0, 0, 7, 300]),  # a gap before it
    st.integers(100, 300),
    st.sampled_from([1, 1, 2, -(2**63)]),
)
odd = st.sampled_from([FILLER, bytes(20), struct.pack(">qiq", 5000, 100, 1), struct.pack(">qiq", 8, -1, 1)])


def packed(entries: list[Any], log_start: int) -> bytes:
    """Entries whose records lie one behind the other but for gaps, and odd ones."""
    at, found = log_start, []
    for each in entries:
        if isinstance(each, bytes):
            found.append(each)
            continue
        gap, size, code = each
        at += gap
        found.append(struct.pack(">qiq", at, size, code))
        at += size
    return b"".join(found)


@given(
    st.lists(entry, max_size=40) | st.lists(entry | odd, max_size=40),
    st.integers(1, 20),
    st.sampled_from([None, [], [1], [1, 2], [-(2**63)]]),
    st.sampled_from([99, 250, 900, 1 << 20]),
    st.sampled_from([0, 1000, 3000]),
)
@example([(0, 100, 1)] * 30, 32, None, 1 << 20, 0)
def test_entries_are_chosen_as_in_python(
    entries: list[Any], most: int, codes: list[int] | None, bytes_max: int, log_start: int
) -> None:
    raw, log_end = packed(entries, log_start), 4000
    expected = choose(raw, 0, most, codes, bytes_max, log_start, FILE_BYTES)
    found = native_choose(raw, most, codes, bytes_max, (log_start, log_end), FILE_BYTES)
    if found is None:
        assert is_unusual(raw, expected, bytes_max, log_start, log_end)
    else:
        done, stretches, lasts, count, size = found
        assert Chosen(GetStatus.FOUND, done, stretches, count, size, lasts) == expected
    # A last part that is no whole entry is no entry.
    assert native_choose(raw + bytes(19), most, codes, bytes_max, (log_start, log_end), FILE_BYTES) == found


def is_unusual(raw: bytes, expected: Chosen, bytes_max: int, log_start: int, log_end: int) -> bool:
    """Whether Python has to look: nothing is found, or one of the entries is not of a plain record."""
    looked = list(struct.iter_unpack(">qiq", raw))[: expected.following + 1]
    return (
        not expected.found
        or expected.size_bytes > bytes_max
        or any(
            at < log_start or size <= 0 or size == FILLER_SIZE or at + size > log_end
            for at, size, _ in looked
        )
    )
