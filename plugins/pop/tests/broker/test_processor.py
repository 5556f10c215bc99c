"""Pops, acknowledgements and messages that come again, by raw requests."""

import socket
import struct

from mqframe_testing.cluster_scene import ClusterScene
from popping import committed, pop, pop_request, send

from mqframe.core.consuming.bodies import ConsumeStats
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.admin import (
    GetConsumeStats,
)
from mqframe.core.requests.fields import encode_fields
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.core.wire.loose_json import decode


async def test_popped_messages_are_hidden_until_they_are_acknowledged():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        first = await pop(world, max_msg_nums=2)
        assert [m.body for m in first] == [b"1", b"2"]
        assert [m.body for m in await pop(world)] == [b"3"]
        assert await pop(world) == []
        assert await committed(world) == 0
        for message in first:
            assert (await world.client.ok(message.ack())).ext is None
        assert await committed(world) == 2


async def test_what_is_out_shows_in_the_group_s_statistics():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        first = await pop(world, max_msg_nums=2)
        await world.client.ok(first[0].ack())
        answer = await world.client.ok(GetConsumeStats(consumer_group="g", topic="t"))
        table = decode(answer.body, ConsumeStats).offset_table
        wrapper = table[MessageQueue("t", "broker-a", 0)]
        assert (wrapper.broker_offset, wrapper.consumer_offset, wrapper.pull_offset) == (3, 0, 2)
        await world.client.ok(first[1].ack())
        answer = await world.client.ok(GetConsumeStats(consumer_group="g", topic="t"))
        wrapper = decode(answer.body, ConsumeStats).offset_table[MessageQueue("t", "broker-a", 0)]
        assert (wrapper.consumer_offset, wrapper.pull_offset) == (2, 2)


async def test_nothing_is_popped_for_who_has_left():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, bytes(200_000), b"small")
        one = pop_request(max_msg_nums=1)
        host, _, port = world.cluster.broker.address.rpartition(":")
        leaving = socket.create_connection((host, int(port)))
        # After so long an answer others come first, here the end of the connection.
        frames = [Frame(one.CODE, number, ext=encode_fields(one)) for number in (1, 2)]
        leaving.sendall(b"".join(map(encode_frame, frames)))
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        leaving.close()
        await world.settle()
        assert [m.body for m in await pop(world)] == [b"small"]
