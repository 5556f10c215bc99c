"""Bodies as text where they are text, and as base64 where they are not."""

from __future__ import annotations

from base64 import b64decode
from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_dashboard.bodies import ShownBody, shown_body

from mqframe.core.errors import BodyUnreadable


def stored(body: bytes) -> Any:
    return SimpleNamespace(body=body, stored_body=body)


class Unreadable:
    stored_body = b"\x01packed"

    @property
    def body(self) -> bytes:
        raise BodyUnreadable("damaged")


def test_text_stays_text():
    assert shown_body(stored("<b>grün</b>\n".encode())) == ShownBody("text", "<b>grün</b>\n", 13, False)
    assert shown_body(stored(b"")) == ShownBody("text", "", 0, False)


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a\x00b", b"\x1b[31m"])
def test_what_is_no_text_is_base64(body):
    shown = shown_body(stored(body))
    assert shown.encoding == "base64"
    assert b64decode(shown.text) == body


def test_long_bodies_are_cut_between_characters():
    assert shown_body(stored("aüb".encode()), 2) == ShownBody("text", "a", 4, True)
    assert shown_body(stored("a😀".encode()), 4) == ShownBody("text", "a", 5, True)
    assert shown_body(stored(b"a\xffbc"), 3).encoding == "base64"


def test_what_cannot_be_unpacked_is_shown_as_it_is_stored():
    shown = shown_body(Unreadable())  # type: ignore[arg-type]
    assert (shown.encoding, b64decode(shown.text)) == ("unreadable", b"\x01packed")
