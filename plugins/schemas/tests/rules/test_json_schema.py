"""Whether a JSON schema reads what another one lets be written: by tables, and held against a validator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mqframe_schemas.rules.json_schema import JsonComparison
from mqframe_schemas.rules.json_shape import closed

INT, TEXT, NULL = {"type": "integer"}, {"type": "string"}, {"type": "null"}


def thing(required: str = "", **properties: Any) -> dict[str, Any]:
    """An object with these properties."""
    return {"type": "object", "properties": properties, "required": required.split()}


def differences(writer: Any, reader: Any) -> list[str]:
    root = Draft202012Validator(reader)

    def accepts(part: Any, value: Any) -> bool:
        return bool(root.evolve(schema=part).is_valid(value))

    return [str(each) for each in JsonComparison(writer, reader, accepts).differences()]


CAT = thing("kind", kind={"const": "cat"}, lives=INT)
DOG = thing("kind", kind={"const": "dog"}, tricks=INT)
NODE = {"$ref": "#/$defs/Node", "$defs": {"Node": thing("", value=INT, next={"$ref": "#/$defs/Node"})}}
LONG_NODE = {
    "$ref": "#/$defs/Long",
    "$defs": {"Long": thing("", value={"type": "number"}, next={"$ref": "#/$defs/Long"})},
}


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (INT, INT),
        (INT, {"type": "number"}),
        (INT, {"type": ["string", "integer"]}),
        (INT, {}),
        (INT, True),
        (False, INT),
        (INT, {"anyOf": [TEXT, INT]}),
        ({"type": ["string", "null"]}, {"anyOf": [NULL, TEXT]}),
        ({"anyOf": [TEXT, NULL]}, {"type": ["null", "string", "integer"]}),
        ({"enum": ["a", "b"]}, TEXT),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}),
        ({"const": 1.0}, {"enum": [1]}),
        (thing("a", a=INT), thing("a", a=INT, b=TEXT)),  # an optional property more: nobody has written it
        (thing("a", a=INT, b=TEXT), thing("a", a=INT)),  # one less: readers pass over it
        (thing("a b", a=INT, b=TEXT), thing("a", a=INT, b=TEXT)),
        (thing("", a=INT), {"type": "object", "additionalProperties": INT}),
        (thing("", a=thing("", b=INT)), thing("", a=thing("", b={"type": "number"}, c=INT))),
        ({"type": "array", "items": INT}, {"type": "array", "items": {"type": "number"}}),
        ({"prefixItems": [INT, TEXT], "items": False}, {"prefixItems": [INT]}),
        ({"oneOf": [CAT, DOG]}, {"oneOf": [DOG, CAT, thing("kind", kind={"const": "fish"})]}),
        ({"allOf": [INT]}, INT),
        ({"allOf": [INT, {"minimum": 3}]}, {"minimum": 2}),
        (INT, {"allOf": [INT, {}]}),
        ({"allOf": [INT, {"not": {"const": 3}}]}, {"allOf": [INT, {"not": {"const": 3}}], "title": "t"}),
        (NODE, LONG_NODE),
        ({"$ref": "#/$defs/A", "minimum": 3, "$defs": {"A": INT}}, {"minimum": 2}),
        (thing("", a=INT) | {"minProperties": 1}, {"minProperties": 1, "maxProperties": 1}),
        (thing("a b", a=INT, b=INT), {"dependentRequired": {"a": ["b"]}}),
        ({"patternProperties": {"^x": INT}, "title": "a"}, {"patternProperties": {"^x": INT}}),
        (thing("", a=INT), {"propertyNames": {"maxLength": 1}}),
        ({"contains": INT, "minContains": 2}, {"contains": INT, "minContains": 2}),
    ],
)
def test_what_is_read(writer: Any, reader: Any) -> None:
    assert differences(writer, reader) == []


@pytest.mark.parametrize(
    ("writer", "reader", "problem"),
    [
        (TEXT, INT, "$: it may be of type string, which is no longer read"),
        ({"type": "number"}, INT, "$: it may be of type number, which is no longer read"),
        (INT, False, "$: nothing may be there any more"),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, '$: "b" is no longer among what it may be'),
        (TEXT, {"enum": ["a"]}, "$: it may be some values only, and could be others before"),
        (thing("", a=INT), thing("a", a=INT), "$.a: it is required, and could be left out before"),
        (thing("", a=INT), thing("", a=TEXT), "$.a: it may be of type integer, which is no longer read"),
        (
            thing("", a=INT),
            thing("", b=INT) | {"additionalProperties": False},
            "$.a: nothing may be there any more",
        ),
        (
            {"type": "object", "additionalProperties": INT},
            thing("", a=TEXT),
            "$.a: it may be of type integer, which is no longer read",
        ),
        (
            thing("", a=INT) | {"additionalProperties": True},
            thing("", a=INT, b=INT),
            "$.b: it may be of type array, which is no longer read",
        ),
        (
            {"type": "array", "items": TEXT},
            {"items": INT},
            "$[...]: it may be of type string, which is no longer",
        ),
        ({"anyOf": [INT, NULL]}, INT, "$: it may be of type null, which is no longer read"),
        (INT, {"anyOf": [TEXT, NULL]}, "$: it may be of type integer, which is no longer read"),
        (
            INT,
            {"oneOf": [INT, {"minimum": 3}]},
            "$: whether it fits just one of the alternatives (oneOf) cannot",
        ),
        (INT, {"not": {"const": 3}}, "$: whether it fits 'not', which is new or changed, cannot be told"),
        ({}, {"patternProperties": {"^x": INT}}, "$: whether it fits 'patternProperties' cannot be told"),
        (thing("", a=INT), {"minProperties": 1}, "$: it could have fewer properties before"),
        (thing("", a=INT, b=INT), {"maxProperties": 1}, "$: it could have more properties before"),
        (thing("", ab=INT), {"propertyNames": {"maxLength": 1}}, "$ (names): it could have more characters"),
        (LONG_NODE, NODE, "$.value: it may be of type number, which is no longer read"),
    ],
)
def test_what_is_not_read_is_told_with_its_place(writer: Any, reader: Any, problem: str) -> None:
    assert any(each.startswith(problem) for each in differences(writer, reader)), differences(writer, reader)


def test_what_is_too_large_is_not_read() -> None:
    deep: Any = INT
    for _ in range(16):
        deep = {"anyOf": [{"items": deep}, {"prefixItems": [deep]}]}
    other = json.loads(json.dumps(deep).replace("integer", "number"))
    assert differences(other, deep) == ["the schemas are too large or too deep to be compared"]


NAMES = st.sampled_from("abc")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.just(1.5) | st.sampled_from(["", "a", "bb"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
LIMITS = st.integers(-1, 3)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, unique=True, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(1, 3),
            "propertyNames": st.just({"enum": ["a", "b"]}),
        },
    )


LEAVES = st.one_of(
    st.booleans(),
    st.just({}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number", "string", "null", ["integer", "null"]])},
        optional={"minimum": LIMITS, "exclusiveMaximum": LIMITS, "multipleOf": st.sampled_from([1, 2, 0.5])},
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"minLength": st.integers(0, 2), "maxLength": st.integers(0, 2)}
    ),
    st.fixed_dictionaries({"enum": st.lists(VALUES, min_size=1, max_size=3)}),
    st.sampled_from([{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        _objects(inner),
        st.fixed_dictionaries(
            {"type": st.just("array")},
            optional={
                "items": inner,
                "prefixItems": st.lists(inner, min_size=1, max_size=2),
                "minItems": st.integers(0, 2),
                "uniqueItems": st.booleans(),
                "contains": inner,
            },
        ),
        st.builds(
            lambda keyword, parts, rest: {keyword: parts, **rest},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
            st.just({}) | _objects(inner),
        ),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=5,
)


@st.composite
def roots(draw: st.DrawFn) -> dict[str, Any]:
    """A schema that may refer to two others, one of which contains itself."""
    inner = draw(SCHEMAS)
    looped = {"type": "object", "properties": {"a": draw(LEAVES), "b": {"$ref": "#/$defs/B"}}}
    simple = draw(st.sampled_from([INT, TEXT, thing("a", a=INT), thing("", a=INT, b=TEXT)]))
    schema = inner if isinstance(inner, dict) else {"allOf": [inner]}
    return {**schema, "$defs": {"A": simple, "B": looped}}


@st.composite
def changed(draw: st.DrawFn, schema: Any) -> Any:
    """`schema`, somewhere a little wider or narrower."""
    if not isinstance(schema, dict) or not schema:
        return draw(st.sampled_from([schema, True, INT]))
    made = dict(schema)
    key = draw(st.sampled_from(sorted(made)))
    value = made[key]
    if key in ("properties", "$defs"):
        made[key] = {name: draw(changed(each)) for name, each in value.items()}
        if draw(st.booleans()) and key == "properties":
            made[key][draw(NAMES)] = draw(LEAVES)
    elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        made[key] = [draw(changed(each)) for each in value]
    elif key in ("items", "not", "additionalProperties", "contains"):
        made[key] = draw(changed(value))
    elif draw(st.booleans()) and key != "type":
        del made[key]
    return made


def written(schema: Any, value: Any) -> bool:
    """Whether a producer may write `value`."""
    return Draft202012Validator(schema).is_valid(value) and Draft202012Validator(closed(schema)).is_valid(
        value
    )


@given(st.data())
def test_whoever_is_said_to_read_reads_all_that_is_written(data: st.DataObject) -> None:
    writer = data.draw(roots())
    reader = data.draw(roots() | changed(writer))
    if differences(writer, reader):
        return
    check = Draft202012Validator(reader)
    for value in data.draw(st.lists(VALUES, min_size=1, max_size=8)):
        try:
            fits = written(writer, value)
        except RecursionError:  # a schema that refers to itself and to nothing else
            return
        assert not fits or check.is_valid(value), value


@given(roots())
def test_a_schema_reads_what_it_lets_be_written(schema: Any) -> None:
    assert differences(schema, json.loads(json.dumps(schema))) == []
