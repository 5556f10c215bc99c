"""Replies handed on to the clients that wait for them."""

from __future__ import annotations

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.admin import UpdateBrokerConfig
from mqframe.core.requests.consumers import UnregisterClient
from mqframe.core.requests.replies import PushReplyMessageToClient, SendReplyMessage, SendReplyMessageV2
from mqframe.core.requests.serving import Reply, serves
from mqframe.core.storage.record import decode_records

TOPIC = "DefaultCluster_REPLY_TOPIC"
ASKED = "MSG_TYPE\x01reply\x02CORRELATION_ID\x01r1\x02TTL\x015000\x02UNIQ_KEY\x01FD00AA\x02"
TO_C1 = f"{ASKED}REPLY_TO_CLIENT\x01c1\x02"


def reply(kind=SendReplyMessageV2, properties=TO_C1, **fields):
    values = {
        "producer_group": "p", "topic": TOPIC, "default_topic": "TBW102", "default_topic_queue_nums": 4,
        "queue_id": 0, "sys_flag": 0, "born_timestamp": 17, "flag": 3, "properties": properties,
    }  # fmt: skip
    return kind(**(values | fields))


async def requester(world, answer=None, client_id="c1"):
    """A producer that takes replies; gives it and the list of what it got."""
    talker, got = world.connect(), []

    @serves(PushReplyMessageToClient)
    def take(fields, call):
        got.append((call.frame.ext, bytes(call.frame.body)))
        return answer or Reply()

    talker.client.serve(take)
    await talker.heartbeat("", producers=["p"], client_id=client_id)
    return talker, got


@pytest.mark.parametrize("kind", [SendReplyMessage, SendReplyMessageV2])
async def test_a_reply_goes_to_the_client_that_it_names(kind):
    async with ClusterScene(topics={"t": 2}) as world:
        _, got = await requester(world)
        _, others = await requester(world, client_id="c2")
        answer = await world.client.invoke(reply(kind, reconsume_times=0, unit_mode=False), b"answer")
        assert (answer.code, answer.remark) == (0, None)
        [(ext, body)] = got
        assert (body, others) == (b"answer", [])
        pairs = decode_properties(ext.pop("properties"))
        born_host, now_ms = ext.pop("bornHost"), str(world.clock.now_ms())
        assert born_host.startswith("127.0.0.1:")
        assert ext == {
            "producerGroup": "p", "topic": TOPIC, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
            "queueId": "0", "sysFlag": "0", "bornTimestamp": "17", "flag": "3", "reconsumeTimes": "0",
            "unitMode": "false", "storeHost": world.client.address, "storeTimestamp": now_ms,
        }  # fmt: skip
        assert pairs == decode_properties(TO_C1) | {
            "PUSH_REPLY_TIME": now_ms, "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
        }  # fmt: skip


async def test_replies_are_kept_in_their_topic():
    async with ClusterScene(topics={"t": 2}) as world:
        await requester(world)
        answer = await world.client.invoke(reply(), b"answer")
        assert answer.ext["queueOffset"] == "0"
        assert len(answer.ext["msgId"]) == 32
        kept = await world.client.pull(TOPIC)
        [message] = decode_records(kept.body)
        assert (message.body, message.flag, message.properties["CORRELATION_ID"]) == (b"answer", 3, "r1")
        assert answer.ext["msgId"] == message.offset_message_id


async def test_replies_need_not_be_kept():
    async with ClusterScene(topics={"t": 2}) as world:
        await requester(world)
        await world.client.ok(UpdateBrokerConfig(), b"storeReplyMessageEnable=false")
        answer = await world.client.invoke(reply(), b"answer")
        assert (answer.code, answer.ext["msgId"], answer.ext["queueOffset"]) == (0, "0", "0")
        assert (await world.client.pull(TOPIC)).code == 19


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (ASKED, "lacks the property REPLY_TO_CLIENT"),
        (TO_C1.replace("c1", "gone"), "no producer gone is connected"),
    ],
)
async def test_who_cannot_be_reached(properties, words):
    async with ClusterScene(topics={"t": 2}) as world:
        await requester(world)
        answer = await world.client.invoke(reply(properties=properties), b"answer")
        assert answer.code == 1
        assert words in answer.remark
        # Stored all the same, as Apache RocketMQ does.
        assert (await world.client.pull(TOPIC)).code == 0


@pytest.mark.parametrize("leave", ["unregister", "close"])
async def test_a_client_that_left(leave):
    async with ClusterScene(topics={"t": 2}) as world:
        talker, got = await requester(world)
        assert (await world.client.invoke(reply(), b"answer")).code == 0
        if leave == "unregister":
            await talker.ok(UnregisterClient("c1", "p", None))
        else:
            await talker.client.close()
            await world.settle()
        answer = await world.client.invoke(reply(), b"answer")
        assert (answer.code, "no producer c1" in answer.remark, len(got)) == (1, True, 1)


async def test_a_client_in_two_groups_is_reached_as_long_as_it_is_in_one():
    async with ClusterScene(topics={"t": 2}) as world:
        talker, got = await requester(world)
        await talker.heartbeat("", producers=["p", "q"], client_id="c1")
        await talker.ok(UnregisterClient("c1", "p", None))
        assert (await world.client.invoke(reply(), b"answer")).code == 0
        await talker.ok(UnregisterClient("c1", "q", None))
        assert (await world.client.invoke(reply(), b"answer")).code == 1
        assert len(got) == 1


async def test_a_client_that_refuses_its_reply():
    async with ClusterScene(topics={"t": 2}) as world:
        await requester(world, Reply(1, remark="no"))
        answer = await world.client.invoke(reply(), b"answer")
        assert (answer.code, "client c1 refused the reply: 1 no" in answer.remark) == (1, True)


async def test_a_client_that_does_not_answer():
    async with ClusterScene(topics={"t": 2}) as world:
        talker, _ = await requester(world)
        talker.client.serve(serves(PushReplyMessageToClient)(lambda fields, call: None))
        waiting = world.client.invoke(reply(), b"answer")
        await world.settle()
        assert not waiting.done()
        await world.clock.aadvance(10)
        answer = await waiting
        assert (answer.code, "was not delivered" in answer.remark) == (1, True)


@pytest.mark.parametrize(
    ("fields", "body", "code"),
    [
        ({"topic": "bad topic"}, b"answer", 29),
        ({"topic": "SCHEDULE_TOPIC_XXXX"}, b"answer", 16),
        ({"queue_id": 9}, b"answer", 29),
        ({}, b"", 13),
    ],
)
async def test_replies_that_are_none(fields, body, code):
    async with ClusterScene(topics={"t": 2}) as world:
        _, got = await requester(world)
        answer = await world.client.invoke(reply(**fields), body)
        assert (answer.code, got) == (code, [])


async def test_the_broker_chooses_the_queue_where_none_is_named():
    async with ClusterScene(topics={"t": 2}) as world:
        _, got = await requester(world)
        answer = await world.client.invoke(reply(queue_id=-1), b"answer")
        assert (answer.code, answer.ext["queueId"], got[0][0]["queueId"]) == (0, "0", "-1")
