"""What all kinds of schemas have in common."""

from __future__ import annotations

from typing import Any

from mqframe_schemas.formats.bodies import BodySchema, UnfitBody

from mqframe.core.errors import DecodeError


class Anything(BodySchema):
    def check(self, body: bytes) -> None:
        return

    def decode(self, body: bytes) -> Any:
        return body


def test_an_unfit_body_says_where_and_what() -> None:
    assert str(UnfitBody("must be a number", "$.id")) == "must be a number at $.id"
    assert str(UnfitBody("it is no JSON")) == "it is no JSON"
    assert UnfitBody("x", "$.id").path == "$.id"
    assert issubclass(UnfitBody, DecodeError)  # so that a handler which lets it out makes a dead letter


def test_bodies_say_nothing_of_their_schema_unless_their_kind_does() -> None:
    schema = Anything()
    assert (schema.marked(b"\xc3\x01" + bytes(9)), schema.wrote(b"x")) == (False, False)
