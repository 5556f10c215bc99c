from __future__ import annotations

from typing import Any

import pytest
from mqframe_testing.consuming import received

from mqframe.core.errors import DecodeError, EncodeError, RetryError
from mqframe.core.messages.codec import Codec
from mqframe.core.messages.message import Message
from mqframe.core.messages.typed import CONTENT_TYPE, SCHEMA, content_type


class Scripted(Codec):
    name = "scripted"
    content_type = "text/x-scripted"

    def __init__(self, does: Any = b"body", schema: str = "") -> None:
        self.does = does
        self._schema = schema

    def encode(self, value: Any) -> Any:
        return self.does

    def decode(self, body: bytes, type: Any) -> Any:
        if isinstance(self.does, BaseException):
            raise self.does
        return body, type

    def schema(self, value: Any) -> str:
        return self._schema


def test_a_message_says_its_content_type_and_its_schema() -> None:
    made = Message.of(
        "orders", 7, codec=Scripted(schema="shop.Order"), tag="t", keys=["k"], properties={"a": "b"}
    )
    assert made == Message(
        "orders", b"body", "t", ["k"], {CONTENT_TYPE: "text/x-scripted", SCHEMA: "shop.Order", "a": "b"}
    )


def test_what_the_application_says_stays() -> None:
    made = Message.of("orders", [1], properties={CONTENT_TYPE: "application/vnd.shop+json"})
    assert made.properties == {CONTENT_TYPE: "application/vnd.shop+json"}


@pytest.mark.parametrize("body", [b"", "text", None])
def test_what_is_no_body_is_refused(body) -> None:
    with pytest.raises(EncodeError, match=r"codec scripted made .* of a int"):
        Message.of("orders", 7, codec=Scripted(body))


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        ({}, ""),
        ({"contentType": "Application/JSON; charset=utf-8"}, "application/json"),
        ({"content-type": "avro/binary"}, "avro/binary"),
        ({"CE_contenttype": "application/xml"}, "application/xml"),
        ({"contentType": "a/b", "content-type": "c/d"}, "a/b"),
    ],
)
def test_content_types_of_all_senders_are_read(properties, found) -> None:
    assert content_type(properties) == found


def test_the_codec_gets_body_and_type() -> None:
    made = received(17)
    assert made.decode(int, Scripted()) == (made.body, int)


def test_errors_say_where_the_message_lies() -> None:
    made = received(17, contentType="text/plain")
    with pytest.raises(DecodeError) as caught:
        made.decode(int, Scripted(DecodeError("bad", "$.x")))
    found = caught.value
    assert (found.topic, found.queue_id, found.queue_offset) == (made.topic, made.queue_id, 17)
    assert str(found) == (
        f"body of the message in {made.topic} of broker broker-a, queue {made.queue_id}, offset 17:"
        " scripted: bad (the sender calls it 'text/plain') at $.x"
    )


def test_a_codec_that_fails_is_told_without_its_words() -> None:
    with pytest.raises(DecodeError) as caught:
        received(17).decode(int, Scripted(KeyError("4711-secret")))
    assert caught.value.reason == "scripted: decoding failed with KeyError"
    assert caught.value.__context__ is None


def test_what_may_pass_is_no_fault_of_the_body() -> None:
    with pytest.raises(RetryError):
        received(17).decode(int, Scripted(RetryError("the registry does not answer")))
