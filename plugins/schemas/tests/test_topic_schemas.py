"""Which version of its topic's schema a body is of, and what is in it."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer
from fastavro.schema import fingerprint, to_parsing_canonical_form
from mqframe_schemas.formats.bodies import UnfitBody
from mqframe_schemas.rules.history import SchemaHead, SchemaHistory, SchemaVersion
from mqframe_schemas.topic_schemas import TopicSchemas

from mqframe.core.errors import FixError

OLD = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
NEW = {**OLD, "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": "string", "default": ""}]}


def versions(kind: str, *texts: Any) -> tuple[SchemaVersion, ...]:
    return tuple(SchemaVersion(at, kind, json.dumps(text)) for at, text in enumerate(texts, 1))


def avro_body(schema: Any, value: Any, *, header: bool = True) -> bytes:
    out = io.BytesIO()
    if header:
        out.write(b"\xc3\x01" + bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")))
    schemaless_writer(out, parse_schema(schema), value)
    return out.getvalue()


AVRO = TopicSchemas(SchemaHistory("orders", SchemaHead(2), versions("avro", OLD, NEW)))
JSON = TopicSchemas(
    SchemaHistory("orders", SchemaHead(2), versions("json", {"type": "integer"}, {"type": "string"}))
)


@pytest.mark.parametrize(
    ("body", "properties", "number"),
    [
        (avro_body(OLD, {"id": 7}), {}, 1),
        (avro_body(NEW, {"id": 7, "note": "x"}), {}, 2),
        (avro_body(NEW, {"id": 7, "note": "x"}, header=False), {}, 2),
        (avro_body(OLD, {"id": 7}, header=False), {"schemaVersion": "1"}, 1),
    ],
)
def test_avro_bodies_say_themselves_by_what_they_were_written(
    body: bytes, properties: dict[str, str], number: int
) -> None:
    assert AVRO.check(body, properties).number == number


def test_a_body_is_of_the_latest_version_unless_its_property_says_another() -> None:
    assert JSON.check(b'"seven"', {}).number == 2
    assert JSON.check(b"7", {"schemaVersion": "1"}).number == 1
    with pytest.raises(UnfitBody, match=r"must be of type string at \$"):
        JSON.check(b"7", {})


@pytest.mark.parametrize("said", ["3", "0", "-1", "one", "²", "9" * 5000])
def test_a_version_that_there_is_not_is_told(said: str) -> None:
    with pytest.raises(UnfitBody, match=r"its property schemaVersion is '.{1,20}'; versions are 1, 2"):
        JSON.check(b"7", {"schemaVersion": said})


def test_bodies_are_decoded_by_the_version_that_wrote_them() -> None:
    def received(body: bytes, **properties: str) -> Any:
        place = {"topic": "orders", "broker_name": "a", "queue_id": 2, "queue_offset": 42}
        return SimpleNamespace(body=body, properties=properties, **place)

    assert AVRO.decode(received(avro_body(OLD, {"id": 7}))) == {"id": 7}
    assert AVRO.decode(received(avro_body(OLD, {"id": 7}, header=False), schemaVersion="1")) == {"id": 7}
    assert JSON.decode(received(b"7")) == 7
    with pytest.raises(UnfitBody) as told:
        JSON.decode(received(b"{"))
    assert str(told.value) == (
        "body of the message in orders of broker a, queue 2, offset 42: schemas: it is no JSON in UTF-8"
    )


def test_the_codec_reads_all_versions_of_its_kind() -> None:
    assert AVRO.codec == ("avro", {"schema": NEW, "writers": [OLD]})
    assert JSON.codec == ("json", {})


def test_the_versions_of_a_schema_that_was_deleted_are_those_for_reading() -> None:
    made = versions("json", {"type": "integer"}, {"type": "string"})
    assert TopicSchemas(SchemaHistory("orders", SchemaHead(0), made)).latest.number == 2
    with pytest.raises(FixError, match="topic orders has no schema"):
        TopicSchemas(SchemaHistory("orders", SchemaHead(0)))
    with pytest.raises(FixError, match="have lost version 3"):
        TopicSchemas(SchemaHistory("orders", SchemaHead(3), made))
