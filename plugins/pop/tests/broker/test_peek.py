"""Peeks and notifications: what a pop would return, without popping it."""

import asyncio

from mqframe_pop.requests import Notification, PeekMessage
from mqframe_testing.cluster_scene import ClusterScene
from msgspec.structs import replace
from popping import pop, send

from mqframe.core.storage.record import decode_records


async def test_a_peek_takes_nothing():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2")
        peek = PeekMessage(topic="t", queue_id=-1, max_msg_nums=1, consumer_group="g")
        for _ in range(2):
            answer = await world.client.ok(peek)
            assert [m.body for m in decode_records(answer.body)] == [b"1"]
            assert answer.ext["restNum"] == "2"
        await pop(world)
        assert (await world.client.invoke(peek)).code == 19
        assert (await world.client.invoke(replace(peek, max_msg_nums=0))).code == 29
        assert (await world.client.invoke(replace(peek, topic="absent"))).code == 17


async def test_a_notification_comes_when_there_is_something_to_pop():
    async with ClusterScene(topics={"t": 2}) as world:
        now = world.clock.now_ms()
        ask = Notification(consumer_group="g", topic="t", queue_id=-1, poll_time=10_000, born_time=now)
        waiting = asyncio.ensure_future(world.client.ok(ask))
        await world.settle()
        assert not waiting.done()
        await send(world, b"1")
        await world.settle()
        assert (await waiting).ext == {"hasMsg": "true", "pollingFull": "false"}
        assert (await world.client.ok(ask)).ext["hasMsg"] == "true"
        await pop(world)
        waiting = asyncio.ensure_future(world.client.ok(ask))
        await world.clock.aadvance(10.1)
        assert (await waiting).ext == {"hasMsg": "false", "pollingFull": "false"}
        assert (await world.client.invoke(replace(ask, topic="absent"))).code == 17
        assert (await world.client.invoke(replace(ask, queue_id=9))).code == 29
