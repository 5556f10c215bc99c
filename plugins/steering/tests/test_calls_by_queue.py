"""Calls are counted by queue, in whatever thread they run; those of closed queues do not begin."""

from __future__ import annotations

import asyncio
import threading

import pytest
from mqframe_steering.calls_by_queue import CallsByQueue, CountingCaller
from mqframe_testing.consuming import received

from mqframe.client.consuming.push.consume_call import Bundle, ConsumeCall
from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.watched_call import ListenerHooks
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue

FIRST, SECOND = (MessageQueue("orders", "broker-a", number) for number in (0, 1))


async def test_closed_queues_let_nothing_begin_until_they_are_opened() -> None:
    calls = CallsByQueue()
    calls.close([FIRST])
    assert (calls.enter(FIRST), calls.enter(SECOND)) == (False, True)
    calls.open([FIRST])
    assert calls.enter(FIRST)


async def test_it_is_waited_for_calls_of_these_queues_alone() -> None:
    calls = CallsByQueue()
    await calls.ended([FIRST])
    for queue in (FIRST, FIRST, SECOND):
        assert calls.enter(queue)
    calls.close([FIRST])
    waiting = asyncio.ensure_future(calls.ended([FIRST]))
    for queue in (SECOND, FIRST):
        calls.leave(queue)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
    thread = threading.Thread(target=calls.leave, args=(FIRST,))
    thread.start()
    await waiting
    thread.join()
    await calls.ended([FIRST, SECOND])


def caller(calls: CallsByQueue) -> CountingCaller:
    return CountingCaller(calls, "g", ListenerHooks(), lambda: 0.0, 60.0, None)


@pytest.mark.parametrize("closed", [False, True])
async def test_listeners_are_called_unless_their_queue_is_closed(closed: bool) -> None:
    calls, seen = CallsByQueue(), []
    held = ProcessQueue(FIRST, 0.0)
    held.put([received(n) for n in range(4)])

    async def handle_async(message) -> None:
        seen.append(message.queue_offset)

    def handle(message) -> None:
        seen.append(message.queue_offset)

    plain = subscription("orders", "*", handle, None, 1)
    waiting = subscription("orders", "*", handle_async, None, 1)
    if closed:
        calls.close([FIRST])
    works = caller(calls)
    one = ConsumeCall(held, held.take(1), plain, 0.0)
    works.call(one)
    bundle = Bundle(held, held.take(2), plain, 0.0)
    works.call_each(bundle)
    last = ConsumeCall(held, held.take(1), waiting, 0.0)
    await works.call_async(last)
    assert seen == ([] if closed else [0, 1, 2, 3])
    assert [each.context is None for each in (one, bundle, last)] == [closed] * 3
    await calls.ended([FIRST])
