"""Replies that brokers hand over, and who waits for them, on a manual clock."""

from __future__ import annotations

from typing import cast

import pytest
from mqframe_request_reply.client.replies import Replies
from mqframe_request_reply.requests import PushReplyMessageToClient
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.core.errors import ClosedError, RequestTimeout
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame


def staged():
    clock = ManualClock()
    broker = ScriptedBroker(clock, {})
    replies = Replies(clock)
    broker.serve(replies)
    return replies, broker, clock


def hand_over(broker, correlation_id, body):
    """As a broker does with the reply to a request."""
    properties = f"CORRELATION_ID\x01{correlation_id}\x02"
    host = "10.1.1.1:5000"
    fields = PushReplyMessageToClient("g", "replies", "", 4, 2, 0, 7, 0, host, host, 8, properties)
    frame = Frame(PushReplyMessageToClient.CODE, ext=encode_fields(fields), body=body)
    return broker.handlers[frame.code](Call(frame, cast("Peer", None), 0.0))


async def test_each_reply_goes_to_the_request_of_its_id():
    replies, broker, clock = staged()
    first, one = replies.expect(5.0)
    second, two = replies.expect(5.0)
    assert first != second
    assert isinstance(hand_over(broker, second, b"two"), Reply)
    hand_over(broker, first, b"one")
    assert ((await one).body, (await two).body) == (b"one", b"two")
    got = await one
    assert (got.topic, got.queue_id, got.born_timestamp, got.store_timestamp) == ("replies", 2, 7, 8)
    assert got.properties["ARRIVE_TIME"] == str(clock.now_ms())
    assert len(replies) == 0


async def test_a_late_a_second_and_a_foreign_reply_are_dropped():
    replies, broker, _clock = staged()
    name, waiter = replies.expect(5.0)
    hand_over(broker, "another", b"x")
    assert not waiter.done()
    hand_over(broker, name, b"first")
    hand_over(broker, name, b"second")
    assert (await waiter).body == b"first"
    gone, forgotten = replies.expect(5.0)
    replies.forget(gone)
    hand_over(broker, gone, b"y")
    assert (forgotten.done(), len(replies)) == (False, 0)


async def test_each_request_waits_until_its_own_deadline_and_says_whether_it_was_sent():
    replies, _broker, clock = staged()
    _, late = replies.expect(9.0)
    name, early = replies.expect(4.0)
    replies.sent(name)
    await clock.aadvance(3.9)
    assert not early.done()
    await clock.aadvance(0.2)
    with pytest.raises(RequestTimeout, match=rf"request {name} was sent, and no reply came"):
        await early
    assert not late.done()
    await clock.aadvance(5.0)
    with pytest.raises(RequestTimeout, match="was perhaps not sent"):
        await late
    assert (len(replies), clock.timers) == (0, 0)


async def test_the_end_is_told_to_all_who_wait_and_to_all_who_come():
    replies, _broker, clock = staged()
    waiters = [replies.expect(5.0)[1] for _ in range(2)]
    replies.close()
    for waiter in waiters:
        with pytest.raises(ClosedError, match="stopped before the reply came"):
            await waiter
    with pytest.raises(ClosedError, match="was stopped"):
        replies.expect(5.0)
    assert clock.timers == 0
