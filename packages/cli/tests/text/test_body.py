"""Bodies as text or base64."""

from __future__ import annotations

from base64 import b64decode
from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_cli.text.body import body_columns, body_line

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
