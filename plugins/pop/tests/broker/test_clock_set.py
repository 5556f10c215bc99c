"""Popped messages in a broker whose wall clock is set: their time passes by the monotonic clock."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.cluster_scene import ClusterScene
from popping import pop_request, popped

JUMPS = [36_000, -36_000]


async def pop(world, **fields):
    fields.setdefault("born_time", world.clock.now_ms())
    return popped(await world.client.invoke(pop_request(**fields)))


async def pass_time(world, seconds):
    for _ in range(seconds):
        await world.clock.aadvance(1)
        await world.settle()


async def restart(world):
    await world.cluster.restart_broker()
    await world.disconnect(world.client)


@pytest.mark.parametrize("seconds_before", [1, 15])  # in memory; in the revive log
@pytest.mark.parametrize("jump", JUMPS)
async def test_a_message_stays_hidden_for_its_time_and_can_be_acknowledged(jump, seconds_before):
    async with ClusterScene(topics={"t": 2}) as world:
        for body in (b"done", b"left"):
            await world.client.ok_send("t", body=body)
        done, left = await pop(world, invisible_time=30_000)
        await pass_time(world, seconds_before)
        world.clock.jump(jump)
        await pass_time(world, 28 - seconds_before)
        assert await pop(world) == []
        await world.client.ok(done.ack())
        await pass_time(world, 4)
        (again,) = await pop(world)
        assert (again.body, left.body) == (b"left", b"left")
        await world.client.ok(again.ack())


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_changed_time_passes_by_the_monotonic_clock(jump):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", body=b"one")
        (message,) = await pop(world, invisible_time=10_000)
        world.clock.jump(jump)
        await world.client.ok(message.hide(20_000))
        await pass_time(world, 18)
        assert await pop(world) == []
        await pass_time(world, 4)
        assert [m.body for m in await pop(world)] == [b"one"]


@pytest.mark.parametrize("jump", JUMPS)
async def test_after_a_restart_nothing_is_hidden_for_longer_than_its_time(jump):
    async with ClusterScene(topics={"t": 2}) as world:
        world.clock.jump(jump)
        await world.client.ok_send("t", body=b"one")
        assert len(await pop(world, invisible_time=20_000)) == 1
        await pass_time(world, 2)
        world.clock.jump(-jump)
        await restart(world)
        await pass_time(world, 22)
        assert [m.body for m in await pop(world)] == [b"one"]


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_queue_popped_in_order_stays_blocked_for_its_time(jump):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", body=b"one")
        await world.client.ok_send("t", body=b"two")
        ordered = {"order": True, "queue_id": 0, "max_msg_nums": 1, "invisible_time": 20_000}
        (first,) = await pop(world, **ordered)
        world.clock.jump(jump)
        await pass_time(world, 18)
        assert await pop(world, **ordered) == []
        await world.client.ok(first.hide(10_000))
        await pass_time(world, 8)
        assert await pop(world, **ordered) == []
        await pass_time(world, 3)
        assert [m.body for m in await pop(world, **ordered)] == [b"one"]
        world.clock.jump(-jump)
        await restart(world)
        await pass_time(world, 21)
        assert [m.body for m in await pop(world, **ordered)] == [b"one"]


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_pop_waits_however_different_the_clock_of_its_sender_is(jump):
    async with ClusterScene(topics={"t": 2}) as world:
        born = world.clock.now_ms() + jump * 1000
        request = pop_request(poll_time=5000, born_time=born)
        waiting = asyncio.ensure_future(world.client.invoke(request))
        await world.clock.aadvance(4)
        assert not waiting.done()
        await world.client.ok_send("t", body=b"one")
        assert [m.body for m in popped(await waiting)] == [b"one"]
