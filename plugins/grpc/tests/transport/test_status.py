from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.transport.status import GrpcError, GrpcStatus, message_field, timeout_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("3S", 3.0),
        ("2M", 120.0),
        ("1H", 3600.0),
        ("500m", 0.5),
        ("250000u", 0.25),
        ("99999999n", 0.099999999),
        ("0S", 0.0),
        ("99999999H", 99999999 * 3600.0),
    ],
)
def test_times_are_read_in_their_units(text: str | None, seconds: float | None) -> None:
    assert timeout_seconds(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "text", ["", "S", "3", "3s", "-3S", "+3S", " 3S", "3.5S", "123456789S", "٣S", "3SS", "S3"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(GrpcError, match="is no time") as caught:
        timeout_seconds(text)
    assert caught.value.status is GrpcStatus.INTERNAL


def test_a_long_time_is_not_repeated_as_a_whole() -> None:
    with pytest.raises(GrpcError) as caught:
        timeout_seconds("9" * 10_000)
    assert len(caught.value.text) < 200


@pytest.mark.parametrize(
    ("text", "field"),
    [("fine", "fine"), ("50 %", "50 %25"), ("ü", "%C3%BC"), ("a\nb", "a%0Ab"), ("\ud800", "?"), ("", "")],
)
def test_texts_are_ascii_on_their_way(text: str, field: str) -> None:
    assert message_field(text) == field


@given(st.text(max_size=3000))
def test_a_text_arrives_or_its_beginning(text: str) -> None:
    field = message_field(text)
    assert field.isascii()
    assert field.isprintable()
    assert len(field) <= 3 * 1024
    clean = text.encode("utf-8", "replace").decode()
    assert clean.startswith(unquote(field))
    if len(clean.encode()) <= 1024:
        assert unquote(field) == clean
