"""Header fields of HTTP/2, read by compiled code and by Python: the same fields, tables, complaints."""

from __future__ import annotations

from typing import Any

import pytest
from hpack import Encoder
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.transport.fields import FieldReader, made_by
from mqframe_grpc.transport.frames import HttpBroken
from mqframe_speedups._native import FieldReader as CompiledReader

MAKE = made_by(CompiledReader)
TEXT = st.binary(max_size=60) | st.sampled_from([b"", b"x" * 126, b"y" * 127, b"z" * 400, "ä鍵".encode()])
NAMES = st.sampled_from([b":path", b"te", b"x-mq-client-id", b"grpc-timeout", b"n" * 200]) | st.binary(
    min_size=1, max_size=9
)


def said(reader: Any, block: bytes) -> tuple[Any, ...]:
    """What a reader makes of a block, and what it keeps."""
    try:
        found: Any = reader.read(block)
    except HttpBroken as problem:
        found = problem.code, str(problem)
    return found, reader.read_bytes, list(reader.table), reader.table_bytes


def both_say(blocks: list[bytes], bytes_max: int = 4000) -> list[tuple[Any, ...]]:
    """What both make of the blocks of one client, up to the first that is wrong: that ends its connection."""
    plain, compiled = FieldReader(bytes_max), MAKE(bytes_max)
    told = []
    for block in blocks:
        told.append(said(plain, block))
        if not isinstance(told[-1][0], list):
            assert said(compiled, block)[0] == told[-1][0]
            break
        assert said(compiled, block) == told[-1]
    return told


@given(
    st.lists(st.lists(st.tuples(NAMES, TEXT), max_size=8), max_size=6),
    st.booleans(),
    st.sampled_from([0, 40, 300, 4096]),
)
def test_blocks_of_an_encoder(lists: list[list[tuple[bytes, bytes]]], packed: bool, room: int) -> None:
    encoder = Encoder()
    encoder.header_table_size = room
    told = both_say([encoder.encode(fields, huffman=packed) for fields in lists], 1 << 16)
    assert len(told) == len(lists)
    for fields, (found, *_) in zip(lists, told, strict=True):
        assert found == [(name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in fields]


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_bytes_of_any_kind(blocks: list[bytes]) -> None:
    both_say(blocks)


@given(st.data())
def test_damaged_blocks(data: st.DataObject) -> None:
    encoder = Encoder()
    fields = [
        ("te", "trailers"),
        ("x-mq-client-id", "host@1"),
        ("x-mq-request-id", "é" * 50),
        (":path", "/a/b"),
    ]
    blocks = [encoder.encode(fields, huffman=number % 2 == 1) for number in range(4)]
    number = data.draw(st.integers(0, 3))
    raw = bytearray(blocks[number])
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    blocks[number] = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    both_say(blocks, data.draw(st.sampled_from([100, 250, 4000])))


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (b"\x80", "there is no field 0"),
        (b"\xff\xff\xff\xff\xff\xff\x01", "a number without end in header fields"),
        (b"\xbe", "header fields are cut off, or name one that is not in the table"),
        (b"\x82\x20", "the table changes its size within header fields"),
        (b"\x3f\xe2\x1f", "a table of 4097 bytes; at most 4096 are kept"),
        (b"\x00\x05abc", "header fields are cut off"),
        (b"\x00\x83\xff\xff\xff\x00", "packed text in header fields cannot be read"),
        (b"\x00\x01a\x7f\xff\x7f" + b"x" * 16_510, "header fields of over 4000 bytes"),
    ],
)
def test_what_is_wrong_is_said_alike(block: bytes, text: str) -> None:
    [(found, *_)] = both_say([block])
    assert text in found[1]
