"""Replies that brokers hand over, and what they say of a failure."""

from __future__ import annotations

import pytest
from mqframe_request_reply.requests import PushReplyMessageToClient
from mqframe_request_reply.rules.replies import check_reply, pushed_reply
from recorded import REQUESTS as RECORDED

from mqframe.core.errors import HeaderError, RequestFailed
from mqframe.core.messages.properties import encode_properties
from mqframe.core.requests import decode_fields


def recorded_requests(code):
    return [each for each in RECORDED if each.facts["code"] == code]


@pytest.mark.parametrize("recorded", recorded_requests(326), ids=str)
def test_recorded_replies_are_read(recorded):
    fields = decode_fields(recorded.facts["extFields"], PushReplyMessageToClient)
    message = pushed_reply(fields, b"reply", 17)
    assert message.properties["ARRIVE_TIME"] == "17"
    assert message.properties["MSG_TYPE"] == "reply"
    assert len(message.properties["CORRELATION_ID"]) == 36
    assert (message.body, message.born_host) == (b"reply", recorded.facts["extFields"]["bornHost"])
    assert message.message_id == message.properties["UNIQ_KEY"]


def test_a_reply_from_nowhere_is_refused():
    recorded = recorded_requests(326)[0]
    fields = decode_fields(recorded.facts["extFields"] | {"bornHost": "here"}, PushReplyMessageToClient)
    with pytest.raises(HeaderError, match="PushReplyMessageToClient"):
        pushed_reply(fields, b"reply", 17)


def test_a_reply_says_that_its_request_failed():
    fields = decode_fields(recorded_requests(326)[0].facts["extFields"], PushReplyMessageToClient)
    assert check_reply(good := pushed_reply(fields, b"reply", 17)) is good
    fields.properties = encode_properties({"CORRELATION_ID": "r1", "MQFRAME_REQUEST_FAILED": "KeyError: 'x'"})
    with pytest.raises(RequestFailed, match=r"request r1 failed at its receiver .*: KeyError: 'x'"):
        check_reply(pushed_reply(fields, b"reply", 17))
