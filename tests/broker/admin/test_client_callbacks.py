"""Questions that members answer: 223, 307, 309."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData
from mqframe.core.consuming.bodies import OffsetTableBody
from mqframe.core.consuming.running_info import ConsumerStatus
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests import insight
from mqframe.core.requests.insight import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    InvokeBrokerToGetConsumerStatus,
)
from mqframe.core.requests.serving import Reply, serves
from mqframe.core.storage.record import decode_record
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.core.wire.loose_json import decode, dumps

KEY = "UNIQ_KEY\x01FD00AA\x02"
QUEUE = MessageQueue("t", "broker-a", 0)


async def member(world, client_id="c1", **answers):
    """A member that gives `answers` by request, and the calls that it got."""
    talker, calls = world.connect(), []

    def serve(kind, answer):
        @serves(kind)
        def handle(fields, call):
            calls.append(call)
            return answer(call) if callable(answer) else answer

        talker.client.serve(handle)

    for name, answer in answers.items():
        serve(getattr(insight, name), answer)
    await talker.heartbeat("g", SubscriptionData(topic="t"), client_id=client_id)
    return calls


def status(offset):
    return Reply(body=dumps(ConsumerStatus(message_queue_table={QUEUE: offset})))


async def test_the_offsets_of_all_members_or_of_one():
    async with ClusterScene(topics={"t": 2}) as world:
        await member(world, "c1", GetConsumerStatusFromClient=status(3))
        await member(world, "c2", GetConsumerStatusFromClient=status(8))
        await member(world, "mute", GetConsumerStatusFromClient=Reply(1, remark="cannot say"))
        answer = await world.client.ok(InvokeBrokerToGetConsumerStatus("t", "g"))
        found = decode(answer.body, ConsumerStatus)
        assert found.consumer_table == {"c1": {QUEUE: 3}, "c2": {QUEUE: 8}}
        answer = await world.client.ok(InvokeBrokerToGetConsumerStatus("t", "g", "c2"))
        assert decode(answer.body, ConsumerStatus).consumer_table == {"c2": {QUEUE: 8}}
        answer = await world.client.ok(InvokeBrokerToGetConsumerStatus("t", "g", "nobody"))
        assert decode(answer.body, ConsumerStatus).consumer_table == {}
        assert (await world.client.invoke(InvokeBrokerToGetConsumerStatus("t", "absent"))).code == 1


async def test_a_member_that_does_not_answer_does_not_hide_the_others():
    async with ClusterScene(topics={"t": 2}) as world:
        await member(world, "c1", GetConsumerStatusFromClient=status(3))
        await member(world, "stuck", GetConsumerStatusFromClient=lambda call: None)
        asked = world.client.invoke(InvokeBrokerToGetConsumerStatus("t", "g"))
        await world.clock.aadvance(6)
        answer = await asked
        assert decode(answer.body, ConsumerStatus).consumer_table == {"c1": {QUEUE: 3}}


async def test_running_info_is_handed_on_with_its_answer():
    async with ClusterScene(topics={"t": 2}) as world:
        calls = await member(
            world, GetConsumerRunningInfo=Reply(0, ext={"x": "1"}, remark="fine", body=b'{"mqTable":{}}')
        )
        answer = await world.client.invoke(GetConsumerRunningInfo("g", "c1", True))
        assert (answer.code, answer.remark, bytes(answer.body)) == (0, "fine", b'{"mqTable":{}}')
        assert answer.ext == {"x": "1"}
        assert calls[0].frame.ext == {"consumerGroup": "g", "clientId": "c1", "jstackEnable": "true"}


@pytest.mark.parametrize(
    "request_", [GetConsumerRunningInfo("g", "nobody"), GetConsumerRunningInfo("absent", "c1")]
)
async def test_a_member_that_is_not_online_is_named(request_):
    async with ClusterScene(topics={"t": 2}) as world:
        await member(world)
        answer = await world.client.invoke(request_)
        assert (answer.code, "not online" in answer.remark) == (1, True)
        assert request_.client_id in answer.remark


async def test_a_member_that_takes_too_long():
    async with ClusterScene(topics={"t": 2}) as world:
        await member(world, GetConsumerRunningInfo=lambda call: None)
        asked = world.client.invoke(GetConsumerRunningInfo("g", "c1"))
        await world.clock.aadvance(9)
        assert not asked.done()
        await world.clock.aadvance(2)
        answer = await asked
        assert (answer.code, "10 s" in answer.remark) == (207, True)


async def test_a_message_reaches_its_listener_with_flags_and_body():
    async with ClusterScene(topics={"t": 2}) as world:
        sent = await world.client.ok_send("t", KEY)
        calls = await member(world, ConsumeMessageDirectly=Reply(body=b"{}"))
        request = ConsumeMessageDirectly("g", "c1", sent.ext["msgId"], topic="t")
        assert bytes((await world.client.ok(request)).body) == b"{}"
        (call,) = calls
        assert call.frame.ext["brokerName"] == "broker-a"
        assert (call.frame.ext["topicSysFlag"], call.frame.ext["groupSysFlag"]) == ("0", "0")
        record = decode_record(bytes(call.frame.body))
        assert (record.topic, record.body, record.queue_offset) == ("t", b"body", 0)


@pytest.mark.parametrize("message_id", [None, "", "abc", "7F00000100002A9F00000000000F0000", "Z" * 32])
async def test_a_message_that_there_is_not(message_id):
    async with ClusterScene(topics={"t": 2}) as world:
        calls = await member(world, ConsumeMessageDirectly=Reply())
        answer = await world.client.invoke(ConsumeMessageDirectly("g", "c1", message_id))
        assert (answer.code, bool(answer.remark), calls) == (1, True, [])


@pytest.mark.parametrize(
    ("version", "request_"),
    [
        (61, GetConsumerRunningInfo("g", "old")),
        (61, ConsumeMessageDirectly("g", "old", "")),
        (27, InvokeBrokerToGetConsumerStatus("t", "g")),
    ],
)
async def test_members_that_are_too_old_are_not_asked(version, request_):
    async with ClusterScene(topics={"t": 2}) as world:
        if isinstance(request_, ConsumeMessageDirectly):
            request_.msg_id = (await world.client.ok_send("t", KEY)).ext["msgId"]
        beat = HeartbeatData(client_id="old", consumer_data_set=[ConsumerData("g")])
        host, _, port = world.client.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(encode_frame(Frame(34, 1, 0, None, {}, dumps(beat), version=version)))
        await reader.readexactly(4)
        answer = await world.client.invoke(request_)
        assert (answer.code, f"version {version}" in answer.remark) == (1, True)
        writer.close()
        await writer.wait_closed()


def test_bodies_of_resets_keep_their_form():
    assert dumps(OffsetTableBody({QUEUE: 1})) == (
        b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"t"}:1}}'
    )
