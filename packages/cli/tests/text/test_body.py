"""Bodies as text or base64."""

from __future__ import annotations

from base64 import b64decode
from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_cli.text import body as body_module
from mqframe_cli.text.body import body_columns, body_decoders, body_line, decoded, decoded_line

from mqframe.core.errors import BodyUnreadable


class Torn:
    """A message whose body cannot be unpacked."""

    stored_body = b"x\x9c\x00"

    @property
    def body(self) -> bytes:
        raise BodyUnreadable("damaged")


def message(body: bytes) -> Any:
    return SimpleNamespace(body=body)


@pytest.mark.parametrize(
    ("body", "options", "columns"),
    [
        ("päid".encode(), {}, {"body_encoding": "text", "body": "päid"}),
        (b"AAH/", {}, {"body_encoding": "text", "body": "AAH/"}),
        (b"\x00\x01\xff", {}, {"body_encoding": "base64", "body": "AAH/"}),
        (b"paid", {"base64": True}, {"body_encoding": "base64", "body": "cGFpZA=="}),
    ],
)
def test_a_reader_can_tell_text_from_base64(body: bytes, options: Any, columns: Any) -> None:
    assert body_columns(message(body), **options) == columns


def test_a_body_that_cannot_be_unpacked_is_shown_as_it_is_stored() -> None:
    torn: Any = Torn()
    columns = body_columns(torn)
    assert columns["body_encoding"] == "unreadable"
    assert b64decode(columns["body"]) == torn.stored_body
    assert body_line(torn) == columns["body"]


def test_a_line_shows_bytes_that_are_no_text_as_escapes() -> None:
    assert body_line(message(b"a\xffb")) == "a\\xffb"
    assert body_line(message(b"a\xffb"), base64=True) == "Yf9i"


class Numbers:
    """Knows bodies of one byte, by what its operator told it."""

    def __init__(self, admin: Any) -> None:
        self.base = admin.base

    def value(self, message: Any) -> Any:
        return {"number": self.base + message.body[0]} if len(message.body) == 1 else None


def test_distributions_decode_what_they_know(monkeypatch: pytest.MonkeyPatch) -> None:
    offers = [SimpleNamespace(name="numbers", load=lambda: Numbers)]
    monkeypatch.setattr(
        body_module, "entry_points", lambda group: offers if group == "mqframe.bodies" else []
    )
    decoders = body_decoders(SimpleNamespace(base=10))  # type: ignore[arg-type]
    assert decoded(message(b"\x07"), decoders) == {"number": 17}
    assert decoded(message(b"paid"), decoders) is None
    assert decoded(message(b"\x07"), []) is None
    assert decoded_line({"number": 17, "raw": b"\x00"}) == '{"number":17,"raw":"AA=="}'
