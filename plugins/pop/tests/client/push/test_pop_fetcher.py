"""Pops of a push consumer: when they are made, how they end, and what comes too late."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from mqframe_pop.client.pop_calls import PopCalls
from pop_push_scenes import OK, PopPushScene, numbered

from mqframe.core.errors import RetryError
from mqframe.core.messages.message import MessageQueue


async def test_what_comes_for_a_member_that_has_stopped_goes_to_others_at_once() -> None:
    async with PopPushScene() as scene:
        one = await scene.join_mortal()  # whose connections outlive its stop
        await scene.pass_time(3.0)
        await scene.close(one.consumer)
        await scene.put(b"m")
        await scene.pass_time(0.5)
        two = await scene.join()
        await scene.until(lambda: two.got, 2.0)
        await scene.until(lambda: scene.lag() == 0)
        assert two.got == [(b"m", 1)]
        assert one.got == []


async def test_a_new_filter_counts_for_what_waits_at_the_broker_already() -> None:
    async with PopPushScene() as scene:
        member = await scene.join("red")
        await scene.pass_time(3.0)
        member.consumer.subscribe("orders", "blue", member.handle)
        await scene.pass_time(1.0)
        for tag in ("red", "blue"):
            await scene.send("orders", tag.encode(), tag=tag)
        await scene.until(lambda: member.got, 30.0)
        await scene.pass_time(100.0)
        assert member.bodies == [b"blue"]


async def test_a_broker_that_is_away_is_popped_again_once_it_is_back() -> None:
    async with PopPushScene(brokers=2) as scene:
        member = await scene.join()
        await scene.finish(scene.cluster.kill_broker(1))
        await scene.put(*numbered(b"m", 8), queue=MessageQueue("orders", "broker-a", 0))
        await scene.until(lambda: len(member.got) == 8)
        await scene.finish(scene.cluster.start_broker(1))
        await scene.until(lambda: scene.lag(broker=1) == 0)
        for _ in range(3):
            try:
                await scene.put(b"there", queue=MessageQueue("orders", "broker-b", 0))
                break
            except RetryError:
                await scene.pass_time(5.0)
        await scene.until(lambda: b"there" in member.bodies)
        assert Counter(member.bodies) == Counter([*numbered(b"m", 8), b"there"])


async def test_a_slow_member_leaves_messages_to_others() -> None:
    async with PopPushScene() as scene:
        slow = await scene.join(settings={"consume_tasks": 2})
        ended = asyncio.Event()

        async def wait(message, context):
            await ended.wait()
            return OK

        async def go_on(message, context):
            return OK

        scene.handles = wait
        await scene.put(*numbered(b"m", 50))
        await scene.pass_time(5.0)
        assert len(slow.got) == 2
        scene.handles = go_on
        quick = await scene.join()
        await scene.until(lambda: len(quick.got) == 48, 5.0)
        ended.set()
        await scene.until(lambda: scene.lag() == 0)
        assert Counter(scene.got) == Counter((body, 0) for body in numbered(b"m", 50))


async def test_a_pop_that_ends_by_an_odd_error_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with PopPushScene() as scene:
        real, odd = PopCalls.pop, [True]

        async def pop(self, *given, **more):
            if odd:
                odd.clear()
                raise RuntimeError("odd")
            return await real(self, *given, **more)

        monkeypatch.setattr(PopCalls, "pop", pop)
        member = await scene.join()
        await scene.put(b"m")
        await scene.until(lambda: member.got == [(b"m", 0)], 30.0)
