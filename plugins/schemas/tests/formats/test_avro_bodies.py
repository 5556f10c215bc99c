"""Avro schemas: which are taken, and what is wrong with bodies."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer
from fastavro.schema import fingerprint, to_parsing_canonical_form
from hypothesis import given
from hypothesis import strategies as st
from mqframe_schemas.formats.avro_bodies import MARK, AvroFormat
from mqframe_schemas.formats.bodies import BodySchema, UnfitBody
from mqframe_schemas.rules.history import SchemaVersion

from mqframe.core.errors import FixError

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string"}],
}
WIDER = {**ORDER, "fields": [*ORDER["fields"], {"name": "grams", "type": "int", "default": 0}]}


class Known:
    __avro_schema__ = ORDER


class Asked:
    @classmethod
    def avro_schema(cls) -> str:
        return json.dumps(ORDER)


def datum(value: Any, schema: Any = ORDER, *, header: bool = True) -> bytes:
    out = io.BytesIO()
    if header:
        out.write(MARK + bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")))
    schemaless_writer(out, parse_schema(schema), value)
    return out.getvalue()


def loaded(source: Any, number: int = 1) -> BodySchema:
    parsed = AvroFormat().parse(source)
    return AvroFormat().load(SchemaVersion(number, "avro", parsed.text, parsed.name))


@pytest.mark.parametrize("source", [ORDER, json.dumps(ORDER), json.dumps(ORDER).encode(), Known, Asked])
def test_a_schema_is_known_by_its_full_name(source: Any) -> None:
    parsed = AvroFormat().parse(source)
    assert parsed.name == "shop.Order"
    assert json.loads(parsed.text) == ORDER


@pytest.mark.parametrize("header", [True, False])
def test_what_fits_passes_with_and_without_the_fingerprint(header: bool) -> None:
    schema = loaded(ORDER)
    body = datum({"id": 7, "note": "x"}, header=header)
    schema.check(body)
    assert schema.decode(body) == {"id": 7, "note": "x"}
    assert (schema.marked(body), schema.wrote(body)) == (header, header)


def test_a_body_of_another_schema_is_told_by_its_fingerprint() -> None:
    body = datum({"id": 7, "note": "x", "grams": 3}, WIDER)
    with pytest.raises(
        UnfitBody, match=f"written by a schema of fingerprint {body[2:10].hex()}, which is another"
    ):
        loaded(ORDER).check(body)
    assert loaded(ORDER).marked(body)
    assert not loaded(ORDER).wrote(body)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (datum({"id": 7, "note": "x"}, header=False) + b"zz", "2 bytes follow the datum"),
        (datum({"id": 7, "note": "secret"})[:-3], "it is no datum of the schema"),
        (b"", "it is no datum of the schema"),
    ],
)
def test_what_does_not_fit_is_told_without_its_value(body: bytes, problem: str) -> None:
    with pytest.raises(UnfitBody, match=problem) as told:
        loaded(ORDER).check(body)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{", "the Avro schema is no JSON"),
        (7, "an Avro schema cannot be a int"),
        ({"type": "record"}, "the Avro schema is none"),
        ('"none"', "the Avro schema is none: UnknownType"),
        ({"type": "record", "name": "A", "fields": [{"name": "b", "type": "B"}]}, "the Avro schema is none"),
    ],
)
def test_what_is_no_schema_is_told(source: Any, problem: str) -> None:
    with pytest.raises(FixError, match=problem):
        AvroFormat().parse(source)


def test_changes_are_compared_by_the_rules() -> None:
    kind = AvroFormat()
    before, after = kind.parse(ORDER), kind.parse(WIDER)
    assert kind.unread(before, after) == []
    assert kind.unread(after, before) == []
    assert [str(each) for each in kind.unread(kind.parse('"long"'), kind.parse('"int"'))] == [
        "a long is not read as an int"
    ]


def test_readers_get_all_versions_that_bodies_may_be_of() -> None:
    kind = AvroFormat()
    versions = [
        SchemaVersion(number, "avro", kind.parse(source).text) for number, source in ((1, ORDER), (2, WIDER))
    ]
    assert kind.codec_options(versions[1], versions) == {"schema": WIDER, "writers": [ORDER]}


@given(st.binary(max_size=30))
def test_anything_is_a_datum_or_told(body: bytes) -> None:
    try:
        loaded(ORDER).check(body)
    except UnfitBody:
        return
    assert set(loaded(ORDER).decode(body)) == {"id", "note"}
