"""In which order listeners get what was popped: what comes again alone, queues in their order."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter

import pytest
from mqframe_pop.client.push.pop_rows import ALONE_SECONDS
from pop_push_scenes import LATER, OK, PopMember, PopPushScene, numbered

from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.messages.message import MessageQueue

SUSPEND = ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT


async def test_what_kills_its_process_is_a_dead_letter_and_its_neighbours_are_handled_twice_at_most() -> None:
    async with PopPushScene() as scene:
        await scene.set_group(retries_max=4)
        killed: list[PopMember] = []
        forever = asyncio.Event()

        async def handle(message, context):
            if message.body == b"poison":
                member = next(each for each, body, _ in reversed(scene.handled) if body == b"poison")
                killed.append(member)
                await scene.kill(member)
                await forever.wait()
            await scene.clock.sleep(0.05)
            return OK

        scene.handles = handle
        for n in range(4):
            await scene.put(*numbered(b"%d-" % n, 60))
            if n == 1:
                await scene.put(b"poison")
        options = {"settings": {"consume_tasks": 12}, "mode_options": {"invisible_seconds": 10.0}}
        for _ in range(2):
            await scene.join_mortal(**options)
        for deaths in range(1, 6):
            await scene.until(lambda deaths=deaths: len(killed) == deaths, 100.0)
            await scene.join_mortal(**options)
        await scene.until(lambda: scene.dead, 100.0)
        await scene.until(lambda: scene.lag() == 0, 100.0)
        await scene.pass_time(100.0)
        counts = Counter(body for _, body, _ in scene.handled)
        assert counts.pop(b"poison") == 5
        assert len(counts) == 240
        assert max(counts.values()) <= 2
        assert max(times for _, body, times in scene.handled if body != b"poison") <= 3
        assert scene.dead == [b"poison"]
        forever.set()


async def test_what_comes_again_in_masses_is_handled_at_once_after_the_first_few() -> None:
    async with PopPushScene() as scene:
        under_way: list[int] = []
        now = 0

        async def handle(message, context):
            nonlocal now
            if not message.reconsume_times:
                return LATER
            now += 1
            under_way.append(now)
            await scene.clock.sleep(0.2)
            now -= 1
            return OK

        scene.handles = handle
        await scene.put(*numbered(b"m", 200))
        member = await scene.join(settings={"consume_tasks": 8})
        await scene.until(lambda: len(under_way) == 200, 120.0)
        assert under_way[:16] == [1] * 16, "one by one"
        assert max(under_way[-40:]) == 8
        await scene.until(lambda: scene.lag() == 0)
        await scene.pass_time(100.0)
        assert Counter(member.got) == Counter((body, n) for body in numbered(b"m", 200) for n in (0, 1))


async def test_what_comes_again_and_takes_long_holds_up_others_for_a_moment_only() -> None:
    async with PopPushScene() as scene:

        async def slow_again(message, context):
            if not message.reconsume_times:
                return LATER
            await scene.clock.sleep(300.0)
            return OK

        scene.handles = slow_again
        await scene.put(*numbered(b"m", 4))
        member = await scene.join()
        await scene.until(lambda: len(member.got) == 8, 30.0)
        again = member.times[4:]
        waits = [after - before for before, after in itertools.pairwise(again)]
        assert waits == pytest.approx([ALONE_SECONDS] * 3, abs=0.2)


async def test_an_ordered_consumer_gets_the_messages_of_a_queue_one_after_the_other() -> None:
    async with PopPushScene() as scene:
        wanted = {queue: numbered(b"%d-" % queue, 30) for queue in range(4)}
        got: dict[int, list[bytes]] = {queue: [] for queue in range(4)}
        at_work: set[int] = set()

        async def handle(message, context):
            assert message.queue_id not in at_work
            at_work.add(message.queue_id)
            await scene.clock.sleep(0.01)
            at_work.discard(message.queue_id)
            if message.body == b"2-7" and message.reconsume_times < 3:
                return LATER
            got[message.queue_id].append(message.body)
            return OK

        scene.handles = handle
        for queue, bodies in wanted.items():
            await scene.put(*bodies, queue=MessageQueue("orders", "broker-a", queue))
        for _ in range(2):
            await scene.join(ordered=True)
        await scene.until(lambda: sum(map(len, got.values())) == 120, 120.0)
        await scene.until(lambda: scene.lag() == 0)
        await scene.pass_time(100.0)
        assert got == wanted
        assert [times for _, body, times in scene.handled if body == b"2-7"] == [0, 1, 2, 3]
        assert scene.dead == []


async def test_what_fails_in_order_too_often_is_a_dead_letter_and_those_behind_it_are_not() -> None:
    async with PopPushScene() as scene:
        await scene.set_group(retries_max=5)

        async def handle(message, context):
            return LATER if message.body == b"m3" else OK

        scene.handles = handle
        queue = MessageQueue("orders", "broker-a", 1)
        await scene.put(*numbered(b"m", 20), queue=queue)
        member = await scene.join(ordered=True)
        await scene.until(lambda: b"m19" in member.bodies, 120.0)
        await scene.until(lambda: scene.lag() == 0)
        assert scene.dead == [b"m3"]
        assert [times for body, times in member.got if body == b"m3"] == list(range(6))
        assert [body for body in member.bodies if body != b"m3"] == [
            body for body in numbered(b"m", 20) if body != b"m3"
        ]


@pytest.mark.parametrize("batch_max", [1, 4])
@pytest.mark.parametrize("raises", [False, True])
async def test_an_ordered_listener_says_for_how_long_its_queue_pauses(batch_max, raises) -> None:
    pauses = [7_000, 2_000, -1, 0, 99_000]
    async with PopPushScene() as scene:
        begun: list[float] = []
        got: list[bytes] = []

        async def handle(messages, context):
            if any(each.body == b"m8" for each in messages):
                begun.append(scene.clock.monotonic())
                if len(begun) <= len(pauses):
                    context.suspend_current_queue_time_millis = pauses[len(begun) - 1]
                    if raises:
                        raise ValueError("not yet")
                    return SUSPEND
            got.extend(each.body for each in messages)
            return OK

        await scene.put(*numbered(b"m", 20), queue=MessageQueue("orders", "broker-a", 1))
        consumer = scene.make(ordered=True)
        consumer.subscribe("orders", "*", handle, batch_max=batch_max)
        await scene.open(consumer)
        await scene.until(lambda: len(got) == 20, 120.0)
        await scene.until(lambda: scene.lag() == 0)
        assert got == numbered(b"m", 20)
        waits = [after - before for before, after in itertools.pairwise(begun)]
        assert waits == pytest.approx([7.0, 2.0, 1.0, 0.01, 30.0], abs=0.3)


async def test_messages_of_an_unsubscribed_topic_go_to_others() -> None:
    async with PopPushScene() as scene:
        one = await scene.join(settings={"consume_tasks": 4})
        begun = asyncio.Event()

        async def fail_first(message, context):
            if not message.reconsume_times:
                return LATER
            begun.set()
            await scene.clock.sleep(20.0)
            return OK

        scene.handles = fail_first
        await scene.put(*numbered(b"m", 4), queue=MessageQueue("orders", "broker-a", 0))
        await scene.until(begun.is_set, 30.0)
        one.consumer.subscribe("bills", "*", one.handle)
        one.consumer.unsubscribe("orders")
        two = await scene.join(name="two")
        await scene.until(lambda: len([times for _, times in one.got + two.got if times]) == 4, 100.0)
        await scene.pass_time(200.0)
        last = [body for body, times in one.got + two.got if times]
        assert Counter(last) == Counter(numbered(b"m", 4))
        assert len([body for body, times in one.got if times]) == 1
