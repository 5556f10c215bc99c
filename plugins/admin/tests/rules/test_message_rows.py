"""Messages as rows of files."""

from __future__ import annotations

from mqframe_admin.rules.message_rows import body_of, message_row

from mqframe.core.codes import SysFlag
from mqframe.core.messages.message import ReceivedMessage

HOST = b"\x7f\x00\x00\x01\x00\x00\x27\x77"


def message(body: bytes, sys_flag: int = 0) -> ReceivedMessage:
    properties = b"KEYS\x01a b\x02TAGS\x01paid\x02own\x01x"
    return ReceivedMessage(
        "orders", 3, 7, 900, 120, 1000, 2000, HOST, HOST, 2, 5, sys_flag, 0, 77, body, properties, "broker-a"
    )


def test_a_row_has_all_that_a_message_says() -> None:
    row = message_row(message("grün".encode()))
    assert (row["topic"], row["queue_id"], row["queue_offset"], row["tag"]) == ("orders", 3, 7, "paid")
    assert (row["body"], row["body_encoding"]) == ("grün", "text")
    assert list(row["keys"]) == ["a", "b"]
    assert row["properties"]["own"] == "x"


def test_bodies_say_whether_they_are_text() -> None:
    assert body_of(b"") == {"body": "", "body_encoding": "text"}
    assert body_of(b"\xff") == {"body": "/w==", "body_encoding": "base64"}


def test_a_body_that_cannot_be_unpacked_is_as_it_is_stored() -> None:
    assert message_row(message(b"no zlib", SysFlag.COMPRESSED))["body"] == "no zlib"
