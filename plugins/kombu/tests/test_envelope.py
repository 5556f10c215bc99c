from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_kombu import envelope
from mqframe_kombu.envelope import expiration_of, headers_of, to_message, to_payload

from mqframe import Message
from mqframe.core.errors import FixError
from mqframe.core.messages.checks import check_message


class Stored:
    """What is looked at of a message that was received."""

    def __init__(self, message: Message, attempts: int = 0) -> None:
        self.body = message.body
        self.properties = dict(message.properties)
        self.reconsume_times = attempts


def payload(**changed: Any) -> dict[str, Any]:
    return {
        "body": b"[[1, 2], {}, {}]",
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": "app.add", "id": "1-2-3", "eta": None},
        "properties": {"correlation_id": "1-2-3", "delivery_info": {"exchange": "e", "routing_key": "k"}},
        **changed,
    }


def test_a_task_can_be_read_by_others_and_found() -> None:
    message = to_message("celery", payload())
    assert message.body == b"[[1, 2], {}, {}]"
    assert message.keys == ["1-2-3"]
    assert message.properties["task"] == "app.add"
    assert message.properties["content_type"] == "application/json"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.binary(max_size=100),
    st.dictionaries(st.text(max_size=10).filter(lambda text: not text.startswith("__")), json_values),
    st.integers(0, 60_000),
)
def test_what_goes_in_comes_out(body: bytes, headers: dict[str, Any], filling: int) -> None:
    headers = {**headers, "filling": "ü" * filling}
    given_ = payload(body=body, headers=headers)
    message = to_message("celery", given_)
    check_message(message, 4 << 20)
    back = to_payload(Stored(message, attempts=2), "celery", 7)  # type: ignore[arg-type]
    assert back["body"] == body
    assert back["headers"] == headers
    assert back["content-type"] == "application/json"
    assert back["content-encoding"] == "utf-8"
    properties = back["properties"]
    assert properties.pop("delivery_tag") == 7
    assert properties == {
        "correlation_id": "1-2-3",
        "delivery_info": {"exchange": "e", "routing_key": "k", "redelivered": True},
    }


def test_what_kombu_can_write_as_json_headers_may_hold() -> None:
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    message = to_message("celery", payload(headers={"when": when, "raw": b"\x00\xff"}))
    assert to_payload(Stored(message), "q", 1)["headers"] == {"when": when, "raw": b"\x00\xff"}  # type: ignore[arg-type]


def test_what_is_no_json_is_refused_with_its_topic() -> None:
    with pytest.raises(FixError, match="message for celery are no JSON"):
        to_message("celery", payload(headers={"what": object()}))


def test_messages_of_others_come_with_their_properties_as_headers() -> None:
    message = Stored(Message("orders", b"raw", properties={"shop": "7", "UNIQ_KEY": "x"}))
    back = to_payload(message, "orders", 1)  # type: ignore[arg-type]
    assert back["headers"] == {"shop": "7"}
    assert back["content-type"] == "application/data"
    assert back["properties"]["delivery_info"] == {
        "exchange": "", "routing_key": "orders", "redelivered": False,
    }  # fmt: skip


@pytest.mark.parametrize("key", ["two words", "", "x" * 300, 5, "a\x01b"])
def test_ids_that_are_no_keys_are_left_out(key: object) -> None:
    message = to_message("celery", payload(headers={"id": key}, properties={}))
    assert message.keys == []
    check_message(message, 4 << 20)


def test_lifetimes_are_found() -> None:
    with_one = to_message("q", payload(properties={"expiration": "2000"}))
    assert expiration_of(Stored(with_one)) == "2000"  # type: ignore[arg-type]
    assert expiration_of(Stored(to_message("q", payload()))) is None  # type: ignore[arg-type]
    assert set(with_one.properties) <= envelope.NAMES


def test_a_task_that_expires_is_left_to_its_worker() -> None:
    expires = {"task": "shop.add", "expires": "2030-01-01T00:00:00+00:00"}
    for headers, lifetime in (
        (expires, None),
        ({"task": "shop.add", "expires": None}, "5"),
        ({"expires": "2030-01-01T00:00:00+00:00"}, "5"),
    ):
        message = to_message("q", payload(headers=headers, properties={"expiration": "5"}))
        assert expiration_of(Stored(message)) == lifetime  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 30_000])
def test_headers_are_found_wherever_they_are(size: int) -> None:
    headers = {"eta": "2030-01-01T00:00:00+00:00", "x": "x" * size}
    message = to_message("q", payload(headers=headers))
    assert (envelope.FORM in message.properties) is bool(size)
    assert headers_of(Stored(message)) == headers  # type: ignore[arg-type]


@pytest.mark.parametrize("table", ["{", "[5]", '"text"', "[" * 100_000])
def test_headers_that_cannot_be_read_are_none(table: str) -> None:
    for properties, body in (
        ({envelope.HEADERS: table}, b""),
        ({envelope.FORM: "body"}, table.encode()),
        ({envelope.FORM: "body"}, json.dumps({envelope.HEADERS: table}).encode()),
        ({envelope.FORM: "body"}, b'{"kombu_headers": 5}'),
    ):
        assert headers_of(Stored(Message("q", body, properties=properties))) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize("table", ['{"expiration":', '["expiration"]', '{"expiration":' + "[" * 100_000])
def test_a_table_that_cannot_be_read_gives_no_lifetime(table: str) -> None:
    message = Message("q", b"", properties={envelope.PROPERTIES: table})
    assert expiration_of(Stored(message)) is None  # type: ignore[arg-type]
