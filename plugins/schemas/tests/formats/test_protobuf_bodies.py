"""Message types of Protocol Buffers: which are taken, and what is wrong with bodies."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st
from message_types import files, message_class
from mqframe_schemas.formats.bodies import BodySchema, UnfitBody
from mqframe_schemas.formats.protobuf_bodies import EMPTY, ProtobufFormat, described, shape_of
from mqframe_schemas.rules.history import SchemaVersion

from mqframe.core.errors import FixError

FIELDS = {
    "id": (1, "required int64"),
    "note": (2, "string"),
    "inner": (3, "Inner"),
    "more": (4, "repeated Inner"),
    "colour": (5, "Colour"),
}
FILES = files(FIELDS)
Order = message_class(FILES)
Wider = message_class(files({**FIELDS, "grams": (6, "int32")}))


def loaded(source: Any, message: str = "shop.Order") -> BodySchema:
    parsed = ProtobufFormat().parse(source, message)
    return ProtobufFormat().load(SchemaVersion(1, "protobuf", parsed.text, parsed.name))


def test_a_class_and_its_descriptor_set_are_the_same_schema() -> None:
    of_class = ProtobufFormat().parse(Order)
    named = files(FIELDS)  # as protoc names fields for JSON
    for field in named.file[0].message_type[1].field:
        field.json_name = field.name
    of_files = ProtobufFormat().parse(named.SerializeToString(), "shop.Order")
    assert of_class.name == of_files.name == "shop.Order"
    assert of_class.text == of_files.text
    assert described(of_class.text)[0]["package"] == "shop"


def test_what_a_type_is_made_of() -> None:
    shape = shape_of(ProtobufFormat().parse(Order).text, "shop.Order")
    kinds = [
        (each.name, each.kind, each.repeated, each.required, each.of) for each in shape.messages["shop.Order"]
    ]
    assert kinds == [
        ("id", "int64", False, True, ""),
        ("note", "string", False, False, ""),
        ("inner", "message", False, False, "shop.Inner"),
        ("more", "message", True, False, "shop.Inner"),
        ("colour", "enum", False, False, "shop.Colour"),
    ]
    assert shape.enums == {"shop.Colour": frozenset({0, 1})}
    chosen = files({"a": (1, "int32"), "b": (2, "int32"), "c": (3, "int32")}, choice="a b")
    made = shape_of(ProtobufFormat().parse(chosen.SerializeToString(), "shop.Order").text, "shop.Order")
    assert [each.choice for each in made.messages["shop.Order"]] == ["choice", "choice", ""]


def test_what_fits_passes() -> None:
    body = Order(id=7, note="x", more=[{"id": 1}, {"id": 2}], colour=1).SerializeToString()
    schema = loaded(Order)
    schema.check(body)
    assert schema.decode(body) == {
        "id": "7",
        "note": "x",
        "more": [{"id": "1"}, {"id": "2"}],
        "colour": "GREEN",
    }


def test_well_known_types_come_along() -> None:
    parsed = ProtobufFormat().parse(timestamp_pb2.Timestamp)
    schema = ProtobufFormat().load(SchemaVersion(1, "protobuf", parsed.text, parsed.name))
    schema.check(EMPTY)
    assert schema.decode(timestamp_pb2.Timestamp(seconds=7).SerializeToString()) == "1970-01-01T00:00:07Z"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"\x08", "it is no shop.Order, or cut off"),
        (Order(note="secret").SerializePartialToString(), "it is a shop.Order without id"),
        (Wider(id=7, grams=3).SerializeToString(), "has field 6, which the schema does not have"),
        (
            Order(id=7).SerializeToString() + b"\x22\x02\x10\x05",
            r"has field 2, which the schema does not have at more\[0\]",
        ),
    ],
)
def test_what_does_not_fit_is_told_without_its_value(body: bytes, problem: str) -> None:
    with pytest.raises(UnfitBody, match=problem) as told:
        loaded(Order).check(body)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("source", "message", "problem"),
    [
        ("text", "", "a descriptor set is bytes, this is a str; make one with: protoc"),
        (b"\xff\xff", "", "these 2 bytes are no descriptor set"),
        (b"", "", "these 0 bytes are no descriptor set"),
        (FILES.SerializeToString(), "", "shop.proto has the message types shop.Inner, shop.Order; say which"),
        (FILES.SerializeToString(), "shop.None", "message type shop.None cannot be made of its descriptors"),
    ],
)
def test_what_is_no_schema_is_told(source: Any, message: str, problem: str) -> None:
    with pytest.raises(FixError, match=problem):
        ProtobufFormat().parse(source, message)


def test_changes_are_compared_by_the_rules() -> None:
    kind = ProtobufFormat()
    before, after = kind.parse(Order), kind.parse(Wider)
    assert kind.unread(before, after) == kind.unread(after, before) == []
    other = kind.parse(files({**FIELDS, "note": (2, "int32")}).SerializeToString(), "shop.Order")
    assert [str(each) for each in kind.unread(before, other)] == [
        "note: number 2 is string, and read as int32"
    ]


@given(st.binary(max_size=30))
def test_anything_is_a_message_or_told(body: bytes) -> None:
    try:
        loaded(Order).check(body)
    except UnfitBody:
        return
    assert "id" in loaded(Order).decode(body)


KINDS = st.sampled_from(
    ["int32", "int64", "uint32", "sint32", "sint64", "bool", "string", "bytes", "Colour", "Inner"]
)
TYPES = st.builds(lambda label, kind: f"{label}{kind}", st.sampled_from(["", "repeated "]), KINDS)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "sint32": st.integers(-(2**31), 2**31 - 1),
    "sint64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": st.text(max_size=3),
    "bytes": st.binary(max_size=3),
    "Colour": st.sampled_from([0, 1]),
    "Inner": st.builds(lambda number: {"id": number}, st.integers(-5, 5)),
}


def plain(value: Any) -> Any:
    """Values as they are compared: bytes and text of the same letters are the same."""
    if hasattr(value, "DESCRIPTOR"):
        return {field.number: plain(each) for field, each in value.ListFields()}
    if isinstance(value, str | bytes | bool | int):
        return value.encode() if isinstance(value, str) else value
    return [plain(each) for each in value]


@given(st.data())
def test_whoever_is_said_to_read_reads_all_that_is_written(data: st.DataObject) -> None:
    fields = data.draw(st.dictionaries(st.integers(1, 3), TYPES, min_size=1, max_size=3))
    others = data.draw(
        st.fixed_dictionaries({number: TYPES | st.just(kind) for number, kind in fields.items()})
    )
    writer, reader = (
        files({f"f{number}": (number, kind) for number, kind in some.items()}) for some in (fields, others)
    )
    kind = ProtobufFormat()
    parsed = [kind.parse(each.SerializeToString(), "shop.Order") for each in (writer, reader)]
    if kind.unread(*parsed):
        return
    values = {}
    for number, words in fields.items():
        one = VALUES[words.rpartition(" ")[2]]
        values[f"f{number}"] = data.draw(st.lists(one, max_size=3) if "repeated" in words else one)
    wrote = message_class(writer)(**values)
    assert plain(message_class(reader).FromString(wrote.SerializeToString())) == plain(wrote)
