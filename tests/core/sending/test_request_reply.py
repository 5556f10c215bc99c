"""Requests and the replies made of them."""

from __future__ import annotations

import pytest
from recorded import REQUESTS as RECORDED

from mqframe.core.errors import FixError, MessageError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import Message, ReceivedMessage
from mqframe.core.messages.properties import decode_properties, encode_properties
from mqframe.core.requests import decode_fields
from mqframe.core.requests.replies import SendReplyMessageV2
from mqframe.core.sending.encoding import element_size, encode_elements, message_properties
from mqframe.core.sending.request_reply import (
    ReplyMessage,
    is_expired,
    is_request,
    reply_to,
    request_properties,
)

HOST = encode_host("127.0.0.1:1")
ASKED = {"CLUSTER": "C", "REPLY_TO_CLIENT": "c1", "CORRELATION_ID": "r1", "TTL": "3000"}


def received(properties, body=b"question"):
    text = encode_properties(properties).encode()
    return ReceivedMessage("t", 0, 0, 0, 0, 1, 1, HOST, HOST, 0, 0, 0, 0, 0, body, text)


def test_a_request_names_who_waits_and_how_long():
    text = request_properties("r1", "c1", 1.5)
    assert decode_properties(text) == {"CORRELATION_ID": "r1", "REPLY_TO_CLIENT": "c1", "TTL": "1500"}


@pytest.mark.parametrize(("seconds", "ttl"), [(0.2, "0200"), (0.001, "0001"), (1.5, "1500"), (60, "60000")])
def test_a_short_wait_is_not_taken_for_the_seconds_of_clients_in_go(seconds, ttl):
    asked = decode_properties(request_properties("r1", "c1", seconds))
    assert asked["TTL"] == ttl
    message = received({**ASKED, "TTL": ttl})  # born at 1 ms
    end = 1 + int(seconds * 1000)
    assert [is_expired(message, now) for now in (end, end + 1)] == [False, True]


def test_a_reply_goes_to_the_cluster_of_its_request():
    reply = reply_to(received(ASKED), b"answer", tag="x", keys=["k"], properties={"a": "5"})
    assert isinstance(reply, ReplyMessage)
    assert (reply.topic, reply.body) == ("C_REPLY_TOPIC", b"answer")
    assert decode_properties(message_properties(reply, "FD00")) == {
        "UNIQ_KEY": "FD00", "WAIT": "true", "TAGS": "x", "KEYS": "k", "a": "5",
        "MSG_TYPE": "reply", "CORRELATION_ID": "r1", "REPLY_TO_CLIENT": "c1", "TTL": "3000",
    }  # fmt: skip


def test_a_request_without_an_end_has_a_reply_without_one():
    without = {name: value for name, value in ASKED.items() if name != "TTL"}
    assert "TTL" not in decode_properties(message_properties(reply_to(received(without), b"a"), "FD00"))


@pytest.mark.parametrize("name", ["CLUSTER", "REPLY_TO_CLIENT", "CORRELATION_ID"])
def test_what_is_no_request_cannot_be_answered(name):
    message = received({key: value for key, value in ASKED.items() if key != name})
    with pytest.raises(FixError, match=f"is no request: it lacks {name}"):
        reply_to(message, b"answer")


@pytest.mark.parametrize("name", ["CLUSTER", "REPLY_TO_CLIENT", "CORRELATION_ID"])
def test_a_request_names_all_that_its_reply_needs(name):
    assert is_request(received(ASKED))
    assert not is_request(received({key: value for key, value in ASKED.items() if key != name}))


def test_a_request_is_over_when_its_sender_waits_no_more():
    message = received(ASKED)  # born at 1 ms, for 3 s
    assert [is_expired(message, now) for now in (0, 3001, 3002)] == [False, False, True]


@pytest.mark.parametrize(
    ("ttl", "waits_ms"),
    [("1", 1000), ("60", 60_000), ("999", 999_000), ("0200", 200), ("1000", 1000), ("60000", 60_000)],
)
def test_clients_in_go_say_seconds(ttl, waits_ms):
    message = received({**ASKED, "TTL": ttl})  # born at 1 ms
    assert [is_expired(message, now) for now in (waits_ms + 1, waits_ms + 2)] == [False, True]


@pytest.mark.parametrize("ttl", ["", "0", "-1", "1.5", "soon", "٣", "9" * 5000])
def test_a_request_that_does_not_say_how_long_it_waits_is_never_over(ttl):
    assert not is_expired(received({**ASKED, "TTL": ttl}), 2**62)


def test_what_is_no_request_is_never_over():
    assert not is_expired(received({"TTL": "3000", "note": "REPLY_TO_CLIENT"}), 2**62)


def test_replies_travel_alone():
    reply = reply_to(received(ASKED), b"answer")
    with pytest.raises(MessageError, match="cannot be packed"):
        element_size(reply)
    with pytest.raises(MessageError, match="cannot be packed"):
        encode_elements([reply], ["FD00"])


def test_a_plain_message_says_nothing_of_replies():
    assert "CORRELATION_ID" not in message_properties(Message("t", b"x"), "FD00")


def recorded_requests(code):
    return [each for each in RECORDED if each.facts["code"] == code]


@pytest.mark.parametrize("recorded", recorded_requests(325), ids=str)
def test_recorded_replies_on_their_way(recorded):
    fields = decode_fields(recorded.facts["extFields"], SendReplyMessageV2)
    assert fields.topic == "DefaultCluster_REPLY_TOPIC"
    pairs = decode_properties(fields.properties)
    asked = {name: pairs[name] for name in ("CORRELATION_ID", "REPLY_TO_CLIENT", "TTL")}
    ours = reply_to(received(asked | {"CLUSTER": "DefaultCluster"}), b"reply")
    made = decode_properties(message_properties(ours, pairs["UNIQ_KEY"]))
    assert {name: made[name] for name in pairs} == pairs
