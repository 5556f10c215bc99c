from __future__ import annotations

from collections.abc import Iterable

import pytest
from hpack import Decoder, Encoder, HPACKDecodingError, NeverIndexedHeaderTuple, OversizedHeaderListError
from hpack.table import HeaderTable, table_entry_size
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.transport.fields import NO_TABLE, FieldReader, block_of, status_block
from mqframe_grpc.transport.frames import ErrorCode, HttpBroken

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


def test_the_fields_that_both_sides_know_are_those_of_hpack() -> None:
    known = [*HeaderTable.STATIC_TABLE]
    for index, field in enumerate(known, 1):
        assert FieldReader(1000).read(bytes((0x80 | index,))) == text_of([field])
    with pytest.raises(HttpBroken, match="not in the table"):
        FieldReader(1000).read(bytes((0x80 | len(known) + 1,)))


SOME = st.one_of(
    st.sampled_from([(b":method", b"POST"), (b":path", b"/"), (b":status", b"200"), (b"te", b"trailers")]),
    st.tuples(st.sampled_from([b"a", b"grpc-timeout", b"x-mq-client-id"]), st.binary(max_size=40)),
    st.tuples(st.binary(min_size=1, max_size=10), st.sampled_from([b"", b"1", b"v" * 3000, b"w" * 200])),
)
BLOCKS = st.lists(st.tuples(st.lists(SOME, max_size=8), st.booleans()), max_size=6)
TABLES = st.sampled_from([0, 100, 4096])


def text_of(fields: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [
        (bytes(name).decode("latin-1"), bytes(value).decode("utf-8", "replace")) for name, value in fields
    ]


def read_by(reader: FieldReader | Decoder, block: bytes) -> object:
    """The fields, or what is wrong with them."""
    try:
        if isinstance(reader, FieldReader):
            return reader.read(block)
        return text_of(reader.decode(block, raw=True))
    except HttpBroken as problem:
        return problem.code
    except OversizedHeaderListError:
        return ErrorCode.ENHANCE_YOUR_CALM
    except HPACKDecodingError:
        return ErrorCode.COMPRESSION_ERROR


def same_tables(ours: FieldReader, theirs: Decoder) -> bool:
    assert [field for field, _ in ours.table] == text_of(theirs.header_table.dynamic_entries)
    sizes = [table_entry_size(*each) for each in theirs.header_table.dynamic_entries]
    assert [size for _, size in ours.table] == sizes
    return ours.table_bytes == sum(sizes)


@given(BLOCKS, TABLES)
def test_fields_are_read_as_hpack_reads_them(
    blocks: list[tuple[list[tuple[bytes, bytes]], bool]], size: int
) -> None:
    encoder, ours, theirs = Encoder(), FieldReader(1 << 16), Decoder()
    for number, (fields, huffman) in enumerate(blocks):
        if number == 2:
            encoder.header_table_size = size
        written = [NeverIndexedHeaderTuple(*each) if len(each[1]) == 40 else each for each in fields]
        block = encoder.encode(written, huffman=huffman)
        assert read_by(ours, block) == text_of(fields) == read_by(theirs, block)
        assert same_tables(ours, theirs)


@given(BLOCKS, st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_wrong_bytes_are_read_as_hpack_reads_them(
    blocks: list[tuple[list[tuple[bytes, bytes]], bool]], changes: list[tuple[int, int]]
) -> None:
    encoder, ours, theirs = Encoder(), FieldReader(1 << 16), Decoder()
    for fields, huffman in blocks:
        block = bytearray(encoder.encode(fields, huffman=huffman))
        for place, byte in changes:
            if block:
                block[place % len(block)] = byte
        both = read_by(ours, bytes(block)), read_by(theirs, bytes(block))
        assert both[0] == both[1]
        if not isinstance(both[0], list):
            return
        assert same_tables(ours, theirs)


@given(st.binary(max_size=30))
def test_any_bytes_are_read_as_hpack_reads_them(block: bytes) -> None:
    assert read_by(FieldReader(1 << 16), block) == read_by(Decoder(), block)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (b"\x80", "no field 0"),
        (b"\xbe", "not in the table"),
        (b"\xff", "cut off"),
        (b"\xff\xff\xff\xff\xff\xff\x01", "number without end"),
        (b"\x00\x05ab", "cut off"),
        (b"\x00\x01a\x05b", "cut off"),
        (b"\x00\x01a", "cut off"),
        (b"\x00\x01a\x81\x00", "packed text"),
        (b"\x82\x20", "within header fields"),
        (b"\x3f\xe2\x1f", "a table of 4097 bytes; at most 4096"),
    ],
)
def test_what_cannot_be_read_is_told(block: bytes, text: str) -> None:
    with pytest.raises(HttpBroken, match=text) as caught:
        FieldReader(1000).read(block)
    assert caught.value.code is ErrorCode.COMPRESSION_ERROR


def test_a_table_that_becomes_smaller_forgets_the_oldest() -> None:
    reader = FieldReader(1000)
    reader.read(b"\x40\x01a\x01b" + b"\x40\x01c\x01d")
    assert ([field for field, _ in reader.table], reader.table_bytes) == ([("c", "d"), ("a", "b")], 68)
    assert reader.read(b"\x3f\x09\xbe") == [("c", "d")]  # 40 bytes from now on
    assert ([field for field, _ in reader.table], reader.table_bytes) == ([("c", "d")], 34)
    assert reader.read(b"\x20") == []
    assert (len(reader.table), reader.table_bytes) == (0, 0)


def test_more_than_may_be_is_refused() -> None:
    reader = FieldReader(200)
    assert len(reader.read(block_of([("a", "b" * 167)]))) == 1
    for block in (block_of([("a", "b" * 168)]), b"\x82" * 100):
        with pytest.raises(HttpBroken, match="over 200 bytes") as caught:
            reader.read(block)
        assert caught.value.code is ErrorCode.ENHANCE_YOUR_CALM
