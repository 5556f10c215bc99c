"""Bodies decoded for people."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from message_types import files, message_class
from mqframe_schemas.admin import SchemasAdmin
from mqframe_schemas.shown import BodyTexts

from mqframe import Admin

Order = message_class(files({"id": (1, "int64")}))
Wider = message_class(files({"id": (1, "int64"), "note": (2, "string")}))


def received(topic: str, body: bytes, **properties: str) -> Any:
    place = {"broker_name": "a", "queue_id": 0, "queue_offset": 0}
    return SimpleNamespace(topic=topic, body=body, properties=properties, **place)


def test_bodies_are_decoded_and_new_versions_are_looked_for(admin: Admin) -> None:
    schemas, texts = SchemasAdmin(admin), BodyTexts(admin)
    schemas.set("decoded", Order)
    body = Order(id=7).SerializeToString()
    assert texts.value(received("decoded", body, schemaVersion="1")) == {"id": "7"}
    assert texts.value(received("decoded", body)) == {"id": "7"}
    schemas.set("decoded", Wider)
    wider = Wider(id=7, note="x").SerializeToString()
    assert texts.value(received("decoded", wider, schemaVersion="2")) == {"id": "7", "note": "x"}
    assert texts.value(received("decoded", wider, schemaVersion="9")) is None
    assert texts.value(received("decoded", b"\x08")) is None


def test_what_nobody_knows_and_what_is_text_are_left_as_they_are(admin: Admin) -> None:
    SchemasAdmin(admin).set("texts", {"type": "integer"})
    texts = BodyTexts(admin)
    assert texts.value(received("texts", b"7")) is None
    assert texts.value(received("nobody", b"7")) is None
    assert texts.value(received("nobody", b"7")) is None
