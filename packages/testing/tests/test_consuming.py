"""The scenes that tests of consumers are built on."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.consuming import (
    RECORD_BYTES,
    AllQueues,
    ClientScene,
    CollectingListener,
    MemoryOffsets,
    received,
)

from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.consuming.push.listener import ListenerContext
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import ReadFrom

QUEUE = MessageQueue("orders", "broker-a", 0)
CONTEXT = ListenerContext(QUEUE, "g")


async def test_a_consumer_in_a_scene_consumes_and_commits() -> None:
    async with ClientScene({"orders": 2}) as scene:
        consumer = AsyncPushConsumer(
            "g", instance=scene.instance, clock=scene.clock, allocate=AllQueues(), consume_from="first"
        )
        listener = CollectingListener()
        consumer.subscribe("orders", "*", listener)
        scene.broker.put("orders", 1, b"a", b"b")
        await consumer.start()
        await scene.pass_time(1.0)
        assert listener.bodies == [b"a", b"b"]
        assert listener.places == [[(1, 0)], [(1, 1)]]
        assert scene.stored("g", 1) is None
        await scene.finish(consumer.stop())
        assert scene.stored("g", 1) == 2


async def test_answers_come_in_turn_and_the_last_one_for_ever() -> None:
    async def third(messages, context):
        return len(messages)

    listener = CollectingListener(ConsumeResult.RECONSUME_LATER, ValueError("no"), third)
    assert await listener([received(0)], CONTEXT) is ConsumeResult.RECONSUME_LATER
    with pytest.raises(ValueError, match="no"):
        await listener([received(1)], CONTEXT)
    assert await listener([received(2), received(3)], CONTEXT) == 2
    assert await listener([received(4)], CONTEXT) == 1
    assert listener.offsets() == [0, 1, 2, 3, 4]
    assert listener.offsets(7) == []
    assert (listener.attempts, listener.most) == ([0, 0, 0, 0], 1)


async def test_calls_for_one_queue_at_the_same_time_are_counted() -> None:
    async def wait(messages, context):
        await asyncio.sleep(0)

    listener = CollectingListener(wait)
    other = ListenerContext(QUEUE._replace(queue_id=1), "g")
    await asyncio.gather(listener([received(0)], CONTEXT), listener([received(0)], other))
    assert listener.most == 1
    await asyncio.gather(listener([received(1)], CONTEXT), listener([received(2)], CONTEXT))
    assert listener.most == 2


def test_made_up_messages_are_what_they_say() -> None:
    message = received(3, b"body", topic="t", queue_id=2, TAGS="paid")
    assert (message.queue, message.queue_offset) == (MessageQueue("t", "broker-a", 2), 3)
    assert (message.body, message.tag, message.store_size) == (b"body", "paid", RECORD_BYTES)


async def test_offsets_in_memory_are_kept_apart_from_those_that_were_persisted() -> None:
    store = MemoryOffsets({QUEUE: 3})
    assert await store.read(QUEUE, ReadFrom.MEMORY) is None
    assert await store.read(QUEUE, ReadFrom.MEMORY_THEN_STORE) == 3
    store.update(QUEUE, 7, increase_only=True)
    store.update(QUEUE, 5, increase_only=True)
    assert store.snapshot("orders") == {QUEUE: 7}
    assert await store.read(QUEUE, ReadFrom.STORE) == 3
    await store.persist([QUEUE])
    store.forget(QUEUE)
    assert (store.stored, store.remembered) == ({QUEUE: 7}, {})


def test_everybody_gets_all_queues() -> None:
    assert AllQueues().allocate("g", "b", [QUEUE], ["a", "b"]) == [QUEUE]
