"""The two ways in which a failed message leaves its consumer."""

import zlib
from contextlib import asynccontextmanager

import pytest
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.send_back import SendBack
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.codes import SysFlag
from mqframe.core.errors import AnswerError, CallTimeout, ConnectionLost, RouteError, answer_error
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import decode_properties, encode_properties
from mqframe.core.requests.messages import ConsumerSendMsgBack, SendMessageV2
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps

RETRY = "%RETRY%g"


def message(properties=None, *, body=b"body", sys_flag=0, reconsume_times=0, broker="broker-a"):
    text = encode_properties({"UNIQ_KEY": "K", **(properties or {})}).encode()
    host = bytes((10, 1, 1, 1, 0, 0, 0x2A, 0x9F))
    return ReceivedMessage(
        "orders", 0, 5, 0x77, 300, 1, 2, host, host, reconsume_times, sys_flag, 9, 0, 0, body, text, broker
    )


@asynccontextmanager
async def staged(*, limit=16, topics=None):
    clock = ManualClock()
    broker = ScriptedBroker(clock, {"orders": 1, RETRY: 1} if topics is None else topics)
    instance = ClientInstance(ClientSettings(nameserver=broker.nameserver), clock, broker)
    await instance.route("orders")
    try:
        yield (broker, SendBack("g", instance, clock, limit))
    finally:
        await instance.stop()


def refused(broker, code=1):
    return answer_error(code, "no", broker.address)


def sent(broker) -> list[SendMessageV2]:
    return broker.sent(SendMessageV2)


async def test_its_broker_takes_it_back():
    async with staged() as (broker, back):
        await back.send_back(message(), 7)
        (request,) = broker.sent(ConsumerSendMsgBack)
        assert (request.offset, request.group, request.delay_level) == (0x77, "g", 7)
        assert (request.origin_msg_id, request.origin_topic) == ("K", "orders")
        assert (request.max_reconsume_times, request.bname) == (16, "broker-a")
        assert sent(broker) == []


async def test_the_route_of_a_retry_topic_that_was_just_made_is_fetched():
    async with staged() as (broker, back):
        asked = len(broker.sent(GetRouteinfoByTopic))
        await back.send_back(message())
        await back.send_back(message())
        assert [each.topic for each in broker.sent(GetRouteinfoByTopic)[asked:]] == [RETRY]


async def test_a_retry_topic_without_route_does_no_harm():
    async with staged(topics={"orders": 1}) as (broker, back):
        await back.send_back(message())
        assert len(broker.sent(ConsumerSendMsgBack)) == 1


@pytest.mark.parametrize("problem", [CallTimeout("late"), ConnectionLost("gone"), 1, 14, 26])
async def test_a_copy_goes_to_the_retry_topic_when_its_broker_does_not_take_it(problem):
    async with staged() as (broker, back):
        broker.script(ConsumerSendMsgBack, refused(broker, problem) if isinstance(problem, int) else problem)
        failed = message({"KEYS": "k", "TRAN_MSG": "true"}, reconsume_times=2)
        await back.send_back(failed)
        (request,) = sent(broker)
        assert (request.topic, request.producer_group) == (RETRY, "CLIENT_INNER_PRODUCER")
        assert (request.reconsume_times, request.max_reconsume_times, request.flag) == (3, 16, 9)
        assert decode_properties(request.properties) == {
            "UNIQ_KEY": "K",
            "KEYS": "k",
            "RETRY_TOPIC": "orders",
            "ORIGIN_MESSAGE_ID": failed.offset_message_id,
            "WAIT": "false",
            "DELAY": "5",
            "RECONSUME_TIME": "3",
            "MAX_RECONSUME_TIMES": "16",
        }


async def test_without_a_maximum_nothing_names_one_and_the_group_decides():
    async with staged(limit=None) as (broker, back):
        broker.script(ConsumerSendMsgBack, refused(broker))
        # An earlier copy was sent by a consumer that named its own.
        failed = message({"RETRY_TOPIC": "orders", "MAX_RECONSUME_TIMES": "3"}, reconsume_times=2)
        await back.send_back(failed)
        assert [each.max_reconsume_times for each in broker.sent(ConsumerSendMsgBack)] == [None]
        (request,) = sent(broker)
        assert (request.reconsume_times, request.max_reconsume_times) == (3, None)
        assert "MAX_RECONSUME_TIMES" not in decode_properties(request.properties)


@pytest.mark.parametrize(("came_back", "times"), [(0, 17), (40, 41)])
async def test_what_is_to_be_dead_at_once_exceeds_a_maximum_that_is_named_for_that(came_back, times):
    async with staged(limit=None) as (broker, back):
        await back.give_up(message(reconsume_times=came_back), "why")
        (request,) = sent(broker)
        assert (request.reconsume_times, request.max_reconsume_times) == (times, 16)


async def test_a_broker_that_left_the_routes_is_not_called():
    async with staged() as (broker, back):
        await back.send_back(message(broker="gone"))
        assert broker.sent(ConsumerSendMsgBack) == []
        assert len(sent(broker)) == 1


@pytest.mark.parametrize(("level", "delay", "times"), [(0, "3", 1), (9, "9", 1), (-1, "3", 17)])
async def test_the_copy_keeps_what_the_listener_asked_for(level, delay, times):
    async with staged() as (broker, back):
        broker.script(ConsumerSendMsgBack, refused(broker))
        await back.send_back(message(), level)
        (request,) = sent(broker)
        # More returns than the maximum make it a dead letter.
        assert request.reconsume_times == times
        assert decode_properties(request.properties)["DELAY"] == delay


async def test_a_maximum_of_all_numbers_is_not_exceeded():
    async with staged(limit=2**31 - 1) as (broker, back):
        broker.script(ConsumerSendMsgBack, refused(broker))
        await back.send_back(message(), -1)
        assert sent(broker)[0].reconsume_times == 2**31 - 1


async def test_a_packed_body_travels_packed():
    async with staged() as (broker, back):
        bodies = []
        broker.invoke, plain = None, broker.invoke

        async def invoke(address, request, body=b"", *, timeout=3.0):
            bodies.append(bytes(body))
            return await plain(address, request, body, timeout=timeout)

        broker.invoke = invoke
        flags = SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZLIB | SysFlag.TRANSACTION_COMMIT
        packed = zlib.compress(b"body" * 99)
        untouched = message(body=packed, sys_flag=flags)
        await back.resend(untouched)
        assert sent(broker)[-1].sys_flag == SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZLIB
        assert bodies[-1] == packed
        looked_at = message(body=packed, sys_flag=flags)
        assert looked_at.body == b"body" * 99
        await back.resend(looked_at)
        assert sent(broker)[-1].sys_flag == 0
        assert bodies[-1] == b"body" * 99


async def test_a_copy_is_tried_three_times():
    async with staged() as (broker, back):
        broker.script(SendMessageV2, ConnectionLost("gone"), refused(broker, 2))
        await back.resend(message())
        assert len(sent(broker)) == 3
        broker.script(SendMessageV2, *[refused(broker, 2)] * 3)
        with pytest.raises(AnswerError, match="SYSTEM_BUSY"):
            await back.resend(message())
        assert len(sent(broker)) == 6


async def test_what_was_taken_back_with_a_late_flush_is_not_sent_again():
    async with staged() as (broker, back):
        broker.script(ConsumerSendMsgBack, refused(broker, 10))
        await back.send_back(message())
        assert sent(broker) == []


@pytest.mark.parametrize("code", [10, 11, 12])
async def test_a_copy_whose_flush_was_late_is_stored(code):
    async with staged() as (broker, back):
        broker.script(SendMessageV2, refused(broker, code))
        await back.resend(message())
        assert len(sent(broker)) == 1


async def test_a_copy_that_no_broker_would_take_is_not_tried_again():
    async with staged() as (broker, back):
        broker.script(SendMessageV2, refused(broker, 13))
        with pytest.raises(AnswerError, match="MESSAGE_ILLEGAL"):
            await back.resend(message())
        assert len(sent(broker)) == 1


async def test_without_a_retry_topic_both_ways_fail():
    async with staged(topics={"orders": 1}) as (broker, back):
        broker.script(ConsumerSendMsgBack, refused(broker))
        with pytest.raises(RouteError, match="%RETRY%g"):
            await back.send_back(message())


async def test_a_copy_of_a_request_gets_no_longer_time_than_its_sender_waits():
    async with staged() as (broker, back):
        asked = {"CLUSTER": "C", "REPLY_TO_CLIENT": "shop@1", "CORRELATION_ID": "r1", "TTL": "3000"}
        failed = message(asked)
        await back.resend(failed)
        (request,) = sent(broker)
        assert request.born_timestamp == failed.born_timestamp
        assert decode_properties(request.properties)["TTL"] == "3000"


async def test_a_retry_topic_that_cannot_be_written_is_an_error():
    async with staged() as (broker, back):

        async def nothing(request):
            return Frame(0, flag=1, body=dumps(TopicRouteData()))

        broker.script(GetRouteinfoByTopic, nothing)
        with pytest.raises(RouteError, match="no queue that can be written"):
            await back.resend(message())


async def test_a_dead_letter_with_its_reason_is_a_copy_that_came_back_too_often():
    async with staged() as (broker, back):
        failed = message({"KEYS": "k"}, reconsume_times=2)
        await back.give_up(failed, "json: bad\x01value\x02at\n$.x" + "y" * 600)
        (request,) = sent(broker)
        assert broker.sent(ConsumerSendMsgBack) == []
        assert (request.topic, request.reconsume_times, request.max_reconsume_times) == (RETRY, 17, 16)
        assert request.born_timestamp == failed.born_timestamp
        found = decode_properties(request.properties)
        assert (found["KEYS"], found["RETRY_TOPIC"]) == ("k", "orders")
        assert found["MQFRAME_REASON"].startswith("json: bad value at $.xyyy")
        assert len(found["MQFRAME_REASON"]) == 500


async def test_a_dead_letter_that_cannot_be_sent_goes_back_without_its_reason():
    async with staged() as (broker, back):
        broker.script(SendMessageV2, *[refused(broker, 2)] * 3)
        await back.give_up(message(), "why")
        (request,) = broker.sent(ConsumerSendMsgBack)
        assert (request.offset, request.delay_level) == (0x77, -1)
        broker.script(SendMessageV2, *[refused(broker, 2)] * 3)
        broker.script(ConsumerSendMsgBack, refused(broker, 2))
        with pytest.raises(AnswerError, match="SYSTEM_BUSY"):
            await back.give_up(message(), "why")


async def test_a_dead_letter_exceeds_a_maximum_of_all_numbers_too():
    async with staged(limit=2**31 - 1) as (broker, back):
        await back.give_up(message(), "why")
        (request,) = sent(broker)
        assert request.reconsume_times > request.max_reconsume_times
