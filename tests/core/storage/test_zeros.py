from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.storage.zeros import PIECE_BYTES, data_end, is_empty

LONG = 3 * PIECE_BYTES + 7


class Noting(bytes):
    """Bytes that note of which size the parts were that somebody took."""

    def __init__(self, *_):
        self.taken = []

    def __getitem__(self, part):
        self.taken.append(part.stop - part.start)
        return bytes(self)[part]


@given(st.binary(max_size=40), st.integers(0, 40), st.integers(0, 50))
def test_they_say_what_plain_stripping_says(raw, at, end):
    part = raw[at:end]
    assert is_empty(raw, at, end) == (not part.strip(b"\0"))
    if at <= end <= len(raw):
        assert data_end(raw, at, end) == at + len(part.rstrip(b"\0"))


@pytest.mark.parametrize("place", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, LONG - 1])
def test_one_byte_is_found_wherever_it_is(place):
    raw = bytearray(LONG)
    assert is_empty(raw)
    assert data_end(raw, 0, LONG) == 0
    raw[place] = 1
    assert not is_empty(memoryview(raw))
    assert data_end(memoryview(raw), 0, LONG) == place + 1
    assert is_empty(raw, place + 1)
    assert data_end(raw, place + 1, LONG) == place + 1
    assert is_empty(raw, 0, place)


@pytest.mark.parametrize("look", [is_empty, lambda raw: data_end(raw, 0, LONG)])
def test_long_zeros_are_taken_in_pieces(look):
    raw = Noting(LONG)
    look(raw)
    assert sum(raw.taken) == LONG
    assert max(raw.taken) == PIECE_BYTES
