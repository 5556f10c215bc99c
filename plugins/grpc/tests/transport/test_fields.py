from __future__ import annotations

import pytest
from hpack import Decoder
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.transport.fields import NO_TABLE, block_of, status_block

NAMES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=300)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=2000)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5))
def test_fields_are_read_as_they_were_written(fields: list[tuple[str, str]]) -> None:
    decoder = Decoder(max_header_list_size=1 << 20)
    expected = [(name.encode(), value.encode()) for name, value in fields]
    assert list(decoder.decode(NO_TABLE + block_of(fields), raw=True)) == expected
    assert list(decoder.decode(block_of(fields), raw=True)) == expected
    assert decoder.header_table_size == 0


@pytest.mark.parametrize("size", [126, 127, 128, 254, 255, 256, 16_511, 16_512, 70_000])
def test_long_values_have_long_lengths(size: int) -> None:
    decoder = Decoder(max_header_list_size=1 << 20)
    assert list(decoder.decode(block_of([("n", "v" * size)]), raw=True)) == [(b"n", b"v" * size)]


@pytest.mark.parametrize("status", [200, 204, 400, 404, 405, 415, 500, 503])
def test_a_status_is_one_field(status: int) -> None:
    assert list(Decoder().decode(status_block(status), raw=True)) == [(b":status", b"%d" % status)]


@pytest.mark.parametrize("size", [0, 100, 4096, 1 << 20])
def test_no_table_suits_all_that_the_other_side_has_room_for(size: int) -> None:
    decoder = Decoder()
    decoder.max_allowed_table_size = size
    for number in range(3):
        block = (b"" if number else NO_TABLE) + block_of([("a", "b")])
        assert list(decoder.decode(block, raw=True)) == [(b"a", b"b")]
        decoder.max_allowed_table_size = size // 2
