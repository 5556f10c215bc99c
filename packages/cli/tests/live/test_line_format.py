"""Lines as a user wants them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_cli.live.line_format import FIELDS, LineFormat

from mqframe.core.errors import BodyUnreadable, SettingError


def message(**more: Any) -> Any:
    said = {
        "topic": "orders", "broker_name": "broker-a", "queue_id": 3, "queue_offset": 17, "message_id": "AC01",
        "tag": "paid", "keys": ("k-1", "k-2"), "properties": {"KEYS": "k-1 k-2", "region": "north"},
        "store_timestamp": 1_700_000_000_123, "body": b"two",
    }  # fmt: skip
    return SimpleNamespace(**(said | more))


def line(text: str, *, for_people: bool = False, body: bytes = b"two", **more: Any) -> bytes:
    return LineFormat(text).line(message(**more), body, for_people=for_people)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("%t %b %p@%o", b"orders broker-a 3@17"),
        ("%i;%g;%k;%s;%S", b"AC01;paid;k-1 k-2;two;3"),
        ("%h", b"KEYS=k-1 k-2,region=north"),
        ("%h{region}|%h{none}|", b"north||"),
        ("%T %d", b"1700000000123 2023-11-14T22:13:20.123+00:00"),
        (r"%%\n\t\r\\\x00\xfF", b"%\n\t\r\\\x00\xff"),
        ("größer", "größer".encode()),
        ("", b""),
    ],
)
def test_letters_stand_for_fields(text: str, shown: bytes) -> None:
    assert line(text) == shown


def test_a_body_is_written_as_it_is_in_a_pipe_and_harmless_for_people() -> None:
    hostile = b"\x1b[2J\xff\n"
    assert line(r"%s\n", body=hostile) == hostile + b"\n"
    assert line(r"%s %g\n", body=hostile, tag="\x07", for_people=True) == rb"\x1b[2J\xff\n \x07" + b"\n"


def test_what_a_message_lacks_is_empty() -> None:
    assert line("%g|%k|%h", tag=None, keys=(), properties={}) == b"||"


def test_of_a_body_that_cannot_be_unpacked_the_stored_bytes_count() -> None:
    class Torn:
        stored_body = b"12345"

        @property
        def body(self) -> bytes:
            raise BodyUnreadable("torn")

    assert FIELDS["S"].text(Torn()) == "5"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%q", "%q is no field; known are %t topic, "),
        ("%", "% is no field"),
        ("%h{", ""),
        (r"\q", r"\\q is no escape; known are \\n"),
        (r"\xZZ", r"\\x is no escape"),
        ("\\", r"\\ is no escape"),
    ],
)
def test_what_is_no_field_or_escape_is_refused_with_those_that_are(text: str, said: str) -> None:
    if not said:
        assert line(text) == b"KEYS=k-1 k-2,region=north{"
        return
    with pytest.raises(SettingError, match=said):
        LineFormat(text)


@given(st.text())
def test_any_text_is_a_format_or_refused(text: str) -> None:
    try:
        written = line(text, for_people=True)
    except SettingError:
        return
    if not set(text) & set("%\\"):
        assert written == text.encode()
