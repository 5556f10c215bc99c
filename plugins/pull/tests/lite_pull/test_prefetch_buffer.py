"""Polls take messages out of process queues, in turns."""

from __future__ import annotations

import asyncio

from mqframe_pull.lite_pull.prefetch_buffer import PrefetchBuffer
from mqframe_testing.consuming import ClientScene, received

from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.messages.message import MessageQueue


def filled(number: int, *offsets: int) -> AssignedQueue:
    assigned = AssignedQueue(MessageQueue("orders", "broker-a", number), 0.0, 0)
    messages = [received(offset, queue_id=number) for offset in offsets]
    assigned.pulled(assigned.held, messages, offsets[-1] + 1)
    return assigned


def places(messages) -> list[tuple[int, int]]:
    return [(message.queue_id, message.queue_offset) for message in messages]


async def test_queues_take_turns_and_each_keeps_its_order() -> None:
    async with ClientScene() as scene:
        buffer = PrefetchBuffer(scene.clock)
        buffer.arrived(filled(0, 0, 1, 2))
        buffer.arrived(filled(1, 7))
        polls = [places(await buffer.poll(0.0, 2)) for _ in range(4)]
        assert polls == [[(0, 0), (0, 1)], [(1, 7)], [(0, 2)], []]


async def test_a_poll_waits_for_messages_and_no_longer_than_it_may() -> None:
    async with ClientScene() as scene:
        buffer = PrefetchBuffer(scene.clock)
        began = scene.clock.monotonic()
        assert await scene.finish(buffer.poll(5.0, 1), 0.5) == []
        assert scene.clock.monotonic() - began >= 5.0
        waiting = asyncio.ensure_future(buffer.poll(5.0, 1))
        await scene.pass_time(1.0)
        assert not waiting.done()
        buffer.arrived(filled(0, 4))
        await scene.pass_time()
        assert places(await waiting) == [(0, 4)]


async def test_what_a_seek_dropped_is_not_returned() -> None:
    async with ClientScene() as scene:
        buffer, assigned = PrefetchBuffer(scene.clock), filled(0, 0, 1)
        buffer.arrived(assigned)
        assigned.seek(9, 0.0)
        assert await buffer.poll(0.0, 5) == []
        assert (assigned.consumed, assigned.next_offset) == (9, 9)


async def test_a_poll_notes_when_it_consumed_and_how_far() -> None:
    async with ClientScene() as scene:
        buffer, assigned = PrefetchBuffer(scene.clock), filled(0, 0, 1)
        buffer.arrived(assigned)
        await scene.pass_time(3.0)
        await buffer.poll(0.0, 1)
        assert assigned.held.last_consume == scene.clock.monotonic()
        assert assigned.consumed == 1


async def test_a_stop_lets_polls_return_with_what_is_there() -> None:
    async with ClientScene() as scene:
        buffer = PrefetchBuffer(scene.clock)
        waiting = asyncio.ensure_future(buffer.poll(60.0, 1))
        await scene.pass_time()
        buffer.stop()
        await scene.pass_time()
        assert await waiting == []
        buffer.arrived(filled(0, 0))
        assert places(await buffer.poll(60.0, 1)) == [(0, 0)]
        assert await buffer.poll(60.0, 1) == []


async def test_nothing_is_handed_out_of_queues_that_are_set_aside() -> None:
    async with ClientScene() as scene:
        buffer, kept, late = PrefetchBuffer(scene.clock), filled(0, 0, 1), filled(1, 5)
        buffer.arrived(kept)
        with buffer.without([kept.queue, late.queue]):
            buffer.arrived(late)
            buffer.arrived(filled(2, 9))
            assert places(await buffer.poll(0.0, 5)) == [(2, 9)]
            with buffer.without([kept.queue]):
                pass
            waiting = asyncio.ensure_future(buffer.poll(5.0, 5))
            await scene.pass_time(1.0)
            assert not waiting.done()
        await scene.pass_time()
        assert places(await waiting) == [(0, 0), (0, 1)]
        assert places(await buffer.poll(0.0, 5)) == [(1, 5)]
