"""Pops that a real client made of a real broker, made of this one at the same times: the same answers."""

from __future__ import annotations

import asyncio
from typing import Any

from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from recorded import FRAMES, Recorded

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.properties import encode_properties
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame, FrameDecoder
from mqframe.core.wire.loose_json import dumps, loads
from mqframe.net.client import Client

POP_CODES = (200050, 200051, 200053, 400, 401)
RECORDED = [frame for frame in FRAMES if frame.request_code in POP_CODES]


def parsed(raw: bytes) -> Frame:
    decoder = FrameDecoder()
    decoder.receive(raw)
    frame = decoder.next_frame()
    assert frame is not None
    return frame


def exchanges() -> list[tuple[Recorded, Frame, Frame]]:
    """(request, itself, the answer of the real broker), in their order."""
    answers = {frame.name: frame for frame in RECORDED if frame.side == "response"}
    return [
        (frame, parsed(frame.raw), parsed(answers[frame.name].raw))
        for frame in RECORDED
        if frame.side == "request"
    ]


async def replay() -> list[tuple[Recorded, Frame, Frame]]:
    """(request, the real broker's answer, ours)."""
    played = exchanges()
    _, first, answer = played[0]
    assert first.ext is not None
    assert answer.ext is not None
    topic, group = first.ext["topic"], first.ext["consumerGroup"]
    clock = ManualClock(int(answer.ext["popTime"]))
    async with AsyncCluster(clock=clock, broker={"name": "broker-v"}) as cluster:
        await cluster.create_topic(topic, 1)
        client = Client(clock)
        address = cluster.broker.address

        async def ok(request: Any, body: bytes) -> None:
            assert (await client.invoke(address, request, body)).code == 0

        await ok(UpdateAndCreateSubscriptionGroup(), dumps({"groupName": group}))
        for message in decode_records(answer.body):
            await ok(
                SendMessageV2(
                    "p", topic, "TBW102", 4, 0, message.sys_flag, message.born_timestamp, message.flag,
                    encode_properties(message.properties),
                ),
                message.stored_body,
            )  # fmt: skip
        got = []
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for request, asked, expected in played:
            if request.request_code == 400:
                member = loads(asked.body)["clientId"]
                subscription = SubscriptionData(topic=topic)
                data = [ConsumerData(group_name=group, subscription_data_set=[subscription])]
                beat = HeartbeatData(client_id=member, consumer_data_set=data)
                await ok(HeartBeat(), dumps(beat))
            pop_time = int((expected.ext or {}).get("popTime", clock.now_ms()))
            await clock.aadvance((pop_time - clock.now_ms()) / 1000)
            writer.write(request.raw)
            decoder = FrameDecoder()
            while (frame := decoder.next_frame()) is None:
                decoder.receive(await reader.read(1 << 20))
            got.append((request, expected, frame))
        writer.close()
        await writer.wait_closed()
        await client.close()
        return got


async def test_the_same_answers() -> None:
    played = await replay()
    assert [request.request_code for request, _, _ in played] == [200050, 200051, 200053, 200050, 401, 400]
    for request, expected, got in played:
        assert (got.code, got.remark) == (expected.code, expected.remark), request.name
        assert got.ext == expected.ext, request.name
        if request.request_code == 200050:
            ours, theirs = list(decode_records(got.body)), list(decode_records(expected.body))
            assert [(m.topic, m.queue_id, m.queue_offset, m.stored_body, m.message_id) for m in ours] == [
                (m.topic, m.queue_id, m.queue_offset, m.stored_body, m.message_id) for m in theirs
            ]
            assert [m.properties.keys() for m in ours] == [m.properties.keys() for m in theirs]
        elif len(expected.body):
            assert loads(got.body) == loads(expected.body), request.name
        else:
            assert not len(got.body), request.name
