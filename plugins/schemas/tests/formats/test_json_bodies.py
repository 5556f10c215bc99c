"""JSON schemas: which are taken, and what is wrong with bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_schemas.formats.bodies import BodySchema, UnfitBody
from mqframe_schemas.formats.json_bodies import JsonFormat
from mqframe_schemas.rules.history import SchemaVersion
from pydantic import BaseModel, Field

from mqframe.core.errors import FixError

SECRET = "a-secret-that-is-in-no-error"


class Article(BaseModel):
    name: str
    grams: int = Field(gt=0)


class Order(BaseModel):
    id: int
    articles: list[Article] = []
    note: str | None = None


def loaded(source: Any) -> BodySchema:
    parsed = JsonFormat().parse(source)
    return JsonFormat().load(SchemaVersion(1, "json", parsed.text, parsed.name))


def test_a_model_of_pydantic_has_a_schema_with_its_name() -> None:
    parsed = JsonFormat().parse(Order)
    assert parsed.name == "Order"
    assert json.loads(parsed.text)["properties"]["id"]["type"] == "integer"
    assert (
        JsonFormat().parse(parsed.text).text == parsed.text == JsonFormat().parse(parsed.text.encode()).text
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":7}',
        b'{"id":7,"articles":[{"name":"tea","grams":50}],"note":null}',
        Order(id=7, articles=[Article(name="tea", grams=50)], note="x").model_dump_json().encode(),
    ],
)
def test_what_fits_passes(body: bytes) -> None:
    schema = loaded(Order)
    schema.check(body)
    assert schema.decode(body)["id"] == 7


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        ({"id": SECRET}, "$.id", "must be of type integer"),
        ({"note": "x"}, "$", "lacks id"),
        ({"id": 1, "noet": SECRET}, "$", "has noet, which the schema does not name"),
        (
            {"id": 1, "articles": [{"name": "tea", "grams": -1}]},
            "$.articles[0].grams",
            "does not fit exclusiveMin",
        ),
        (
            {"id": 1, "articles": [{"name": "tea", "grams": 1, "x": 2}]},
            "$.articles[0]",
            "has x, which the schema",
        ),
        ({"id": 1, "note": 2}, "$.note", "does not fit anyOf"),
        ([SECRET], "$", "must be of type object"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place_and_without_its_value(
    value: Any, path: str, problem: str
) -> None:
    with pytest.raises(UnfitBody) as told:
        loaded(Order).check(json.dumps(value).encode())
    assert told.value.path == path
    assert told.value.problem.startswith(problem)
    assert SECRET not in str(told.value)


def test_more_faults_are_counted() -> None:
    with pytest.raises(UnfitBody, match=r"^must be of type array \(and 1 more\) at \$\.articles$"):
        loaded(Order).check(b'{"id":"x","articles":1}')


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"id":7} x', b"[" * 100_000])
def test_what_is_no_json_is_told(body: bytes) -> None:
    with pytest.raises(UnfitBody):
        loaded(Order).check(body)


def test_a_schema_that_speaks_of_other_properties_allows_them() -> None:
    loaded({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}).check(b'{"a":"x","b":1}')
    loaded({"type": "object"}).check(b'{"b":1}')
    loaded(True).check(b"1")


def test_alternatives_that_become_one_when_they_are_closed_are_still_two() -> None:
    schema = {"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
    with pytest.raises(UnfitBody, match="does not fit oneOf"):
        loaded(schema).check(b'{"a":1}')  # a reader cannot tell which of the two it is


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{", "the JSON schema is no JSON"),
        (7, "a JSON schema cannot be a int"),
        ({"type": "strong"}, r"the JSON schema is none at #/type: 'strong' is not valid"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            "only https://json-schema.org/draft/2020-12",
        ),
        (
            {"$ref": "https://example.org/order.json"},
            "refers to https://example.org/order.json, which is nothing",
        ),
        ({"$ref": "#/$defs/None"}, "refers to #/"),
        ({"$dynamicRef": "#a"}, "is not followed here"),
        ({"items": [{"type": "object"}]}, "the JSON schema is none at #/items"),
        ({"prefixItems": [{"pattern": "("}]}, r"the pattern '\(', which is none: missing"),
        ({"patternProperties": {"*": True}}, r"the pattern '\*', which is none: nothing to repeat"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_schema_is_told(source: Any, problem: str) -> None:
    with pytest.raises(FixError, match=problem):
        JsonFormat().parse(source)


def test_changes_are_compared_by_the_rules() -> None:
    kind = JsonFormat()
    before, after = kind.parse({"type": "integer"}), kind.parse({"enum": [1, 2]})
    assert [str(each) for each in kind.unread(before, after)] == [
        "$: it may be some values only, and could be others before"
    ]
    assert kind.unread(after, before) == []
    version = SchemaVersion(1, "json", before.text)
    assert kind.codec_options(version, [version]) == {}


@given(st.binary(max_size=40))
def test_anything_fits_or_is_told(body: bytes) -> None:
    try:
        loaded(Article).check(body)
    except UnfitBody:
        return
    Article.model_validate_json(body)
