"""Whether an Avro schema resolves what another one lets be written: by tables, and held against fastavro."""

from __future__ import annotations

import io
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st
from mqframe_schemas.rules.avro_schema import AvroComparison


def record(*fields: Any, name: str = "Order", **more: Any) -> dict[str, Any]:
    """A record of fields that are (name, type) or (name, type, default)."""
    made = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return {"type": "record", "name": name, "fields": made, **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "Colour", "symbols": list(symbols), **more}


def differences(writer: Any, reader: Any) -> list[str]:
    return [str(each) for each in AvroComparison(parse_schema(writer), parse_schema(reader)).differences()]


NODE = record(("value", "int"), ("next", ["null", "Order"]))
DAYS = {"type": "int", "logicalType": "date"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("int", "int"),
        ("int", "double"),
        ("long", "float"),
        ("string", "bytes"),
        ("string", ["null", "string"]),
        (["int", "null"], ["null", "long"]),
        (record(("a", "int")), record(("a", "long"))),
        (record(("a", "int")), record(("a", "int"), ("b", "string", ""))),
        (record(("a", "int"), ("b", "string")), record(("a", "int"))),
        (record(("a", "int"), ("b", "string")), record(("b", "string"), ("a", "int"))),
        (record(name="Old"), record(aliases=["Old"])),
        (record(name="shop.Order"), record(name="store.Order")),
        (record(("a", "int")), {**record(), "fields": [{"name": "b", "type": "int", "aliases": ["a"]}]}),
        (NODE, record(("value", "long"), ("next", ["null", "Order"]), ("note", "string", ""))),
        (enum("RED"), enum("GREEN", "RED")),
        (enum("RED", "BLUE"), enum("RED", default="RED")),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}),
        ({"type": "map", "values": "int"}, {"type": "map", "values": ["null", "int"]}),
        (DAYS, DAYS),
        (MONEY, MONEY),
        ({"type": "fixed", "name": "F", "size": 4}, {"type": "fixed", "name": "F", "size": 4}),
    ],
)
def test_what_is_read(writer: Any, reader: Any) -> None:
    assert differences(writer, reader) == []


@pytest.mark.parametrize(
    ("writer", "reader", "problem"),
    [
        ("long", "int", "a long is not read as an int"),
        ("bytes", "string", "a bytes is not read as a string"),
        (["null", "int"], "int", "a null is not read as an int"),
        ("string", ["null", "int"], "a string is none of what is read"),
        (
            record(("a", "int")),
            record(("a", "int"), ("b", "string")),
            "b: is not written by the other version, and has no default",
        ),
        (
            record(("a", record(("b", "long"), name="In"))),
            record(("a", record(("b", "int"), name="In"))),
            "a.b: a ",
        ),
        (record(name="Old"), record(), "record Old is called Order now; name the former among its aliases"),
        (enum("RED", "BLUE"), enum("RED"), "BLUE is no longer known, and there is no default symbol"),
        (record(("a", "int")), record(("a", enum("RED"))), "a: an int is not read as an enum"),
        (
            {"type": "fixed", "name": "F", "size": 4},
            {"type": "fixed", "name": "F", "size": 5},
            "size 4 became 5",
        ),
        (
            {"type": "array", "items": "long"},
            {"type": "array", "items": "int"},
            "[...]: a long is not read as",
        ),
        (
            {"type": "map", "values": "long"},
            {"type": "map", "values": "int"},
            ".*: a long is not read as an int",
        ),
        (DAYS, "int", "date is read as a plain value"),
        ("int", DAYS, "what has no logical type is read as date"),
        (MONEY, {**MONEY, "scale": 3}, "decimal is read as decimal"),
    ],
)
def test_what_is_not_read_is_told_with_its_place(writer: Any, reader: Any, problem: str) -> None:
    (found,) = differences(writer, reader)
    assert found.startswith(problem)


PLAIN = st.sampled_from(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
NAMES = st.sampled_from("abc")


@st.composite
def types(draw: st.DrawFn, names: list[str], depth: int = 2) -> Any:
    """A type; what it names gets one of `names`, each of which is used once."""
    kind = draw(st.sampled_from(["plain", "record", "enum", "array", "map", "union"] if depth else ["plain"]))
    if kind in ("record", "enum") and names:
        name = names.pop()
        if kind == "enum":
            symbols = draw(st.lists(st.sampled_from("RGB"), min_size=1, unique=True))
            default = {"default": symbols[0]} if draw(st.booleans()) else {}
            return {"type": "enum", "name": name, "symbols": symbols, **default}
        fields = draw(st.lists(NAMES, unique=True, max_size=3))
        return {
            "type": "record",
            "name": name,
            "fields": [{"name": each, "type": draw(types(names, depth - 1))} for each in fields],
        }
    if kind == "array":
        return {"type": "array", "items": draw(types(names, depth - 1))}
    if kind == "map":
        return {"type": "map", "values": draw(types(names, depth - 1))}
    if kind == "union":
        return draw(st.lists(PLAIN, min_size=1, max_size=3, unique=True))
    return draw(PLAIN)


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """Any type."""
    return draw(types(["Three", "Two", "One"]))


@st.composite
def changed(draw: st.DrawFn, schema: Any) -> Any:
    """`schema`, somewhere a little different."""
    if isinstance(schema, str):
        return draw(st.sampled_from([schema, schema, "long", "double", "string"]))
    if isinstance(schema, list):
        added = draw(PLAIN)
        return schema if added in schema else draw(st.permutations([*schema, added]))
    made = dict(schema)
    if made["type"] == "record":
        fields = [{**each, "type": draw(changed(each["type"]))} for each in made["fields"]]
        if fields and draw(st.booleans()):
            fields.pop()
        if draw(st.booleans()):
            default = {"default": 7} if draw(st.booleans()) else {}
            fields.append({"name": "new", "type": "int", **default})
        made["fields"] = fields
    elif made["type"] == "enum":
        made["symbols"] = draw(st.permutations([*made["symbols"], "X"]))[draw(st.integers(0, 1)) :]
        if made.get("default") not in made["symbols"]:
            made.pop("default", None)
    else:
        inner = "items" if made["type"] == "array" else "values"
        made[inner] = draw(changed(made[inner]))
    return made


def data_of(schema: Any) -> st.SearchStrategy[Any]:
    """Data that fit `schema`."""
    if isinstance(schema, list):
        return st.one_of(*map(data_of, schema))
    if isinstance(schema, str):
        return {
            "null": st.none(),
            "boolean": st.booleans(),
            "int": st.integers(-(2**31), 2**31 - 1),
            "long": st.integers(-(2**63), 2**63 - 1),
            "float": st.floats(width=32, allow_nan=False),
            "double": st.floats(allow_nan=False),
            "bytes": st.binary(max_size=4),
            "string": st.text(max_size=4),
        }[schema]
    if schema["type"] == "record":
        return st.fixed_dictionaries({each["name"]: data_of(each["type"]) for each in schema["fields"]})
    if schema["type"] == "enum":
        return st.sampled_from(schema["symbols"])
    if schema["type"] == "array":
        return st.lists(data_of(schema["items"]), max_size=3)
    return st.dictionaries(st.text(max_size=3), data_of(schema["values"]), max_size=3)


@given(st.data())
def test_whoever_is_said_to_read_reads_all_that_is_written(data: st.DataObject) -> None:
    writer = data.draw(schemas())
    reader = data.draw(changed(writer) | schemas())
    if differences(writer, reader):
        return
    for datum in data.draw(st.lists(data_of(writer), min_size=1, max_size=4)):
        out = io.BytesIO()
        schemaless_writer(out, parse_schema(writer), datum)
        out.seek(0)
        schemaless_reader(out, parse_schema(writer), parse_schema(reader))
        assert not out.read(), "something is left"


@given(schemas())
def test_a_schema_reads_what_it_lets_be_written(schema: Any) -> None:
    assert differences(schema, schema) == []
