from __future__ import annotations

import pytest
from hpack import Decoder, Encoder, HPACKDecodingError, NeverIndexedHeaderTuple, OversizedHeaderListError
from hpack.exceptions import InvalidTableSizeError
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.transport.fields import NO_TABLE, FieldReader, block_of, status_block

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


# Reading.

SOME = st.one_of(
    st.sampled_from([(b":method", b"POST"), (b":path", b"/"), (b":status", b"200"), (b"te", b"trailers")]),
    st.tuples(st.sampled_from([b"a", b"grpc-timeout", b"x-mq-client-id"]), st.binary(max_size=40)),
    st.tuples(st.binary(min_size=1, max_size=10), st.sampled_from([b"", b"1", b"v" * 3000, b"w" * 200])),
)
BLOCKS = st.lists(st.tuples(st.lists(SOME, max_size=8), st.booleans()), max_size=6)


def read_by(decoder: Decoder, block: bytes) -> object:
    """The fields, or that there are none."""
    try:
        return [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]
    except HPACKDecodingError as problem:
        return type(problem) if isinstance(problem, OversizedHeaderListError) else "broken"


@given(BLOCKS, st.sampled_from([0, 100, 4096]))
def test_fields_are_read_as_hpack_reads_them(
    blocks: list[tuple[list[tuple[bytes, bytes]], bool]], size: int
) -> None:
    encoder, ours, theirs = Encoder(), FieldReader(), Decoder()
    for number, (fields, huffman) in enumerate(blocks):
        if number == 2:
            encoder.header_table_size = size
        written = [NeverIndexedHeaderTuple(*each) if len(each[1]) == 40 else each for each in fields]
        block = encoder.encode(written, huffman=huffman)
        assert read_by(ours, block) == fields == read_by(theirs, block)
        assert ours.header_table.dynamic_entries == theirs.header_table.dynamic_entries
        assert ours.header_table_size == theirs.header_table_size


@given(BLOCKS, st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_wrong_bytes_are_read_as_hpack_reads_them(
    blocks: list[tuple[list[tuple[bytes, bytes]], bool]], changes: list[tuple[int, int]]
) -> None:
    encoder, ours, theirs = Encoder(), FieldReader(), Decoder()
    for fields, huffman in blocks:
        block = bytearray(encoder.encode(fields, huffman=huffman))
        for place, byte in changes:
            if block:
                block[place % len(block)] = byte
        both = read_by(ours, bytes(block)), read_by(theirs, bytes(block))
        assert both[0] == both[1]
        if not isinstance(both[0], list):
            return
        assert ours.header_table.dynamic_entries == theirs.header_table.dynamic_entries


@given(st.binary(max_size=30))
def test_any_bytes_are_read_as_hpack_reads_them(block: bytes) -> None:
    assert read_by(FieldReader(), block) == read_by(Decoder(), block)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (b"\x80", "no field 0"),
        (b"\xbe", "no field 62"),
        (b"\xff", "cut off"),
        (b"\xff\xff\xff\xff\xff\xff\x01", "number without end"),
        (b"\x00\x05ab", "cut off"),
        (b"\x00\x01a\x05b", "cut off"),
        (b"\x00\x01a", "cut off"),
        (b"\x82\x20", "within header fields"),
        (b"\x3f\xe2\x1f", "a table of 4097 bytes; at most 4096"),
    ],
)
def test_what_cannot_be_read_is_told(block: bytes, text: str) -> None:
    with pytest.raises(HPACKDecodingError, match=text):
        FieldReader().decode(block)


def test_a_table_that_is_to_be_smaller_becomes_so() -> None:
    reader = FieldReader()
    reader.max_allowed_table_size = 100
    with pytest.raises(InvalidTableSizeError):
        reader.decode(b"\x82")
    assert reader.decode(b"\x3f\x45\x82") == [(b":method", b"GET")]


def test_more_than_may_be_is_refused() -> None:
    reader = FieldReader(max_header_list_size=200)
    assert len(reader.decode(block_of([("a", "b" * 167)]))) == 1
    for block in (block_of([("a", "b" * 168)]), b"\x82" * 100):
        with pytest.raises(OversizedHeaderListError, match="over 200 bytes"):
            reader.decode(block)
