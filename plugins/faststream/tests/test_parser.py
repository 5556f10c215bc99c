"""From received messages to those of handlers, and back."""

from __future__ import annotations

import asyncio
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_faststream.message import Delivery
from mqframe_faststream.parser import EMPTY_BODY, MqframeParser

from mqframe import ReceivedMessage
from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyUnreadable
from mqframe.core.messages.properties import RESERVED, encode_properties

HOST = b"\x7f\x00\x00\x01\x00\x00\x00\x01"


def received(body=b"x", flag=0, **properties):
    raw = encode_properties({"UNIQ_KEY": "U1", "WAIT": "true", **properties}).encode()
    crc = zlib.crc32(body)
    return ReceivedMessage("t", 0, 0, 0, 0, 1, 2, HOST, HOST, 0, flag, 0, crc, 0, body, raw, "b")


def parsed(raw, **options):
    return asyncio.run(MqframeParser(**options).parse_message(raw))


def test_headers_are_what_applications_set() -> None:
    made = parsed(received(TAGS="paid", KEYS="a b", colour="red", **{"content-type": "text/plain"}))
    assert made.headers == {"colour": "red", "content-type": "text/plain"}
    assert (made.tag, made.keys, made.message_id, made.content_type) == (
        "paid",
        ["a", "b"],
        "U1",
        "text/plain",
    )


@given(st.dictionaries(st.text("abcxyz-", min_size=1), st.text(min_size=1).filter(lambda t: t.isprintable())))
def test_headers_come_as_they_were_sent(headers) -> None:
    assert parsed(received(**headers)).headers == headers


def test_no_name_of_the_system_is_a_header() -> None:
    made = parsed(received(**{name: "1" for name in RESERVED if name not in ("UNIQ_KEY", "WAIT")}))
    assert made.headers == {}


async def test_parts_of_the_topic_s_name_are_the_path() -> None:
    def path(topic):
        return {"part": topic.upper()}

    parser = MqframeParser(path=path)
    assert (await parser.parse_message(received())).path == {"part": "T"}
    assert (await parser.parse_batch((received(), received()))).path == {"part": "T"}
    assert (await MqframeParser().parse_message(received())).path == {}


def test_the_correlation_id_is_the_sender_s_else_the_message_s() -> None:
    assert parsed(received(correlation_id="c-1")).correlation_id == "c-1"
    assert parsed(received()).correlation_id == "U1"


def test_one_byte_stands_for_an_empty_body_only_when_it_says_so() -> None:
    made = parsed(received(EMPTY_BODY, **{"content-length": "0"}))
    assert (made.body, made.headers) == (b"", {})
    assert parsed(received(EMPTY_BODY)).body == EMPTY_BODY


def test_who_waits_for_a_reply_is_known() -> None:
    request = received(CLUSTER="c", REPLY_TO_CLIENT="client-1", CORRELATION_ID="r")
    assert parsed(request).reply_to == "client-1"
    assert parsed(received(reply_to="answers")).reply_to == "answers"
    assert parsed(received()).reply_to == ""


async def test_a_batch_has_bodies_and_headers_of_each() -> None:
    raws = (
        received(b"1", n="a"),
        received(b"text", n="b", **{"content-type": "text/plain"}),
        received(b'"q"'),
    )
    parser = MqframeParser()

    made = await parser.parse_batch(raws)
    made, decoded = (made, await parser.decode_batch(made))
    assert decoded == [1, "text", "q"]
    assert [headers.get("n") for headers in made.batch_headers] == ["a", "b", None]
    assert made.messages == raws


def test_messages_know_where_they_are_settled() -> None:
    raw, delivery = received(), Delivery()
    assert parsed(raw, deliveries={id(raw): delivery}).settlement is delivery
    assert parsed(received()).settlement is None


def test_who_listens_hears_of_a_body_that_cannot_be_unpacked() -> None:
    raw, delivery = received(b"not zlib", flag=SysFlag.COMPRESSED), Delivery()
    with pytest.raises(BodyUnreadable):
        parsed(raw, deliveries={id(raw): delivery})
    assert isinstance(delivery.problem, BodyUnreadable)
