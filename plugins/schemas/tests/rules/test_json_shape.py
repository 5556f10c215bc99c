"""What JSON schemas are made of, and their closed form for writers."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_schemas.rules.json_shape import canonical, closed, closes, pointed, references, wrapped

INT = {"type": "integer"}


def test_equal_values_have_equal_texts() -> None:
    assert canonical({"b": 1.0, "a": [2]}) == canonical({"a": [2.0], "b": 1})
    assert canonical(True) != canonical(1)
    assert canonical("1") != canonical(1)


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"$ref": "#/$defs/A"}, "$ref"),
        ({"$ref": "#/$defs/A", "title": "a"}, "$ref"),
        ({"allOf": [INT], "default": 1}, "allOf"),
        ({"allOf": [INT, INT]}, ""),
        ({"anyOf": [INT, INT]}, "anyOf"),
        ({"anyOf": [INT, INT], "minimum": 3}, ""),
        (INT, ""),
        ({}, ""),
    ],
)
def test_what_hands_everything_on(schema: dict[str, Any], keyword: str) -> None:
    assert wrapped(schema) == keyword


@pytest.mark.parametrize(
    ("schema", "yes"),
    [
        ({"properties": {"a": INT}}, True),
        ({"properties": {"a": INT}, "additionalProperties": INT}, False),
        ({"properties": {"a": INT}, "unevaluatedProperties": False}, False),
        ({"properties": {"a": INT}, "allOf": [INT]}, False),
        ({"type": "object"}, False),
    ],
)
def test_which_objects_writers_may_not_add_to(schema: dict[str, Any], yes: bool) -> None:
    assert closes(schema) is yes


def test_the_closed_form_names_all_properties_wherever_they_are() -> None:
    inner = {"properties": {"b": INT}}
    schema = {
        "properties": {"a": inner, "list": {"items": inner}, "ref": {"$ref": "#/$defs/C"}},
        "$defs": {"C": {"anyOf": [inner, {"type": "null"}]}},
    }
    shut = {"properties": {"b": INT}, "additionalProperties": False}
    made = closed(schema)
    assert made["additionalProperties"] is False
    assert made["properties"]["a"] == shut
    assert made["properties"]["list"]["items"] == shut
    assert made["properties"]["ref"] == {"$ref": "#/$defs/C"}
    assert made["$defs"]["C"] == {"anyOf": [shut, {"type": "null"}]}
    assert closed(True) is True


def test_what_cannot_be_closed_stays_open_with_all_it_refers_to() -> None:
    both = {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": INT}}]}
    made = closed({"properties": {"x": both}, "$defs": {"A": {"properties": {"a": INT}}}})
    assert made["properties"]["x"]["allOf"][0] == {"$ref": "#/$open/$defs/A"}
    assert pointed(made, "#/$open/$defs/A") == {"properties": {"a": INT}}
    assert made["$defs"]["A"] == {"properties": {"a": INT}, "additionalProperties": False}


def test_references_are_found_and_followed() -> None:
    schema = {"$defs": {"a/b": [INT, {"$ref": "#"}]}, "items": {"$ref": "#/$defs/a~1b/0"}}
    assert sorted(references(schema)) == ["#", "#/$defs/a~1b/0"]
    assert pointed(schema, "#") is schema
    assert pointed(schema, "#/$defs/a~1b/0") == INT
    with pytest.raises(LookupError):
        pointed(schema, "#/$defs/none")
