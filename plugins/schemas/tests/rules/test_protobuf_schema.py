"""Whether a message type finds what another one lets be written: by tables, and held against protobuf."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_schemas.rules.protobuf_schema import FieldShape, ProtobufComparison, ProtobufShape


def shape(*fields: FieldShape, enum: tuple[int, ...] = (0, 1), inner: str = "int64") -> ProtobufShape:
    return ProtobufShape(
        "shop.Order",
        {"shop.Order": fields, "shop.Inner": (FieldShape(1, "id", inner),)},
        {"shop.Colour": frozenset(enum)},
    )


def field(number: int, kind: str, **more: Any) -> FieldShape:
    of = {"message": "shop.Inner", "enum": "shop.Colour"}.get(kind, "")
    return FieldShape(number, f"f{number}", kind, **{"of": of, **more})


def differences(writer: ProtobufShape, reader: ProtobufShape) -> list[str]:
    return [str(each) for each in ProtobufComparison(writer, reader).differences()]


LOOP = field(2, "message", of="shop.Order")


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (shape(field(1, "int32")), shape(field(1, "int32"))),
        (shape(field(1, "int32")), shape(field(1, "int64"))),
        (shape(field(1, "uint32")), shape(field(1, "int64"))),
        (shape(field(1, "bool")), shape(field(1, "uint64"))),
        (shape(field(1, "enum")), shape(field(1, "int32"))),
        (shape(field(1, "string")), shape(field(1, "bytes"))),
        (shape(field(1, "int32")), shape(field(1, "int32"), field(2, "string"))),
        (shape(field(1, "int32"), field(2, "string")), shape(field(1, "int32"))),
        (shape(field(1, "int32", required=True)), shape(field(1, "int32"))),
        (shape(FieldShape(1, "old", "int32")), shape(FieldShape(1, "new", "int32"))),
        (shape(field(1, "enum")), shape(field(1, "enum"), enum=(0, 1, 2))),
        (shape(field(1, "message")), shape(field(1, "message"))),
        (shape(field(1, "int32"), LOOP), shape(field(1, "int64"), LOOP)),
        (shape(field(1, "int32", choice="c"), field(2, "string", choice="c")), shape(field(1, "int32"))),
        (
            shape(field(1, "int32", choice="a"), field(2, "string", choice="a")),
            shape(
                field(1, "int32", choice="b"), field(2, "string", choice="b"), field(3, "bool", choice="b")
            ),
        ),
    ],
)
def test_what_is_read(writer: ProtobufShape, reader: ProtobufShape) -> None:
    assert differences(writer, reader) == []


@pytest.mark.parametrize(
    ("writer", "reader", "problem"),
    [
        (shape(field(1, "int64")), shape(field(1, "int32")), "f1: number 1 is int64, and read as int32"),
        (shape(field(1, "int32")), shape(field(1, "sint32")), "f1: number 1 is int32, and read as sint32"),
        (shape(field(1, "bytes")), shape(field(1, "string")), "f1: number 1 is bytes, and read as string"),
        (
            shape(field(1, "string")),
            shape(field(1, "message")),
            "f1: number 1 is string, and read as message",
        ),
        (
            shape(field(1, "int32", repeated=True)),
            shape(field(1, "int32")),
            "f1: may be there many times, and is read otherwise",
        ),
        (shape(field(1, "int32")), shape(field(1, "int32", repeated=True)), "f1: is there once, and is read"),
        (shape(), shape(field(1, "int32", required=True)), "f1: is required, and not always written"),
        (
            shape(field(1, "enum"), enum=(0, 1, 2)),
            shape(field(1, "enum")),
            "f1: 2 is no longer known in shop.Colour",
        ),
        (
            shape(field(1, "message")),
            shape(field(1, "message"), inner="int32"),
            "f1.id: number 1 is int64, and read as int32",
        ),
        (
            shape(field(1, "int32"), field(2, "string")),
            shape(field(1, "int32", choice="c"), field(2, "string", choice="c")),
            "f1, f2 may be there together, and oneof c takes one of them",
        ),
    ],
)
def test_what_is_not_read_is_told_with_its_place(
    writer: ProtobufShape, reader: ProtobufShape, problem: str
) -> None:
    (found,) = differences(writer, reader)
    assert found.startswith(problem)


FIELDS = st.builds(
    field,
    st.integers(1, 4),
    st.sampled_from(["int32", "int64", "uint32", "sint32", "bool", "string", "bytes", "message", "enum"]),
    repeated=st.booleans(),
    required=st.booleans(),
)
SHAPES = st.builds(
    lambda fields: shape(*{each.number: each for each in fields}.values()), st.lists(FIELDS, max_size=4)
)


@given(SHAPES)
def test_a_type_reads_what_it_lets_be_written(some: ProtobufShape) -> None:
    assert differences(some, some) == []


@given(SHAPES, SHAPES, SHAPES)
def test_whoever_reads_a_reader_s_values_reads_the_writer_s(
    first: ProtobufShape, second: ProtobufShape, third: ProtobufShape
) -> None:
    """Of fields that all three have: a value that went through two readers is the same one."""
    shared = {each.number for each in first.messages["shop.Order"]}
    shared &= {each.number for each in second.messages["shop.Order"]}
    seconds = {each.number: each for each in second.messages["shop.Order"]}
    thirds = [
        each for each in third.messages["shop.Order"] if each.number in shared and each.number in seconds
    ]
    third = shape(*thirds)
    if not differences(first, second) and not differences(second, third):
        assert differences(first, third) == []
