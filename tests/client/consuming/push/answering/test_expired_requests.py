"""Requests that nobody waits for any more reach no listener, in whatever way they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mqframe_testing.consuming import AllQueues, ClientScene, received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.answering.expired_requests import ExpiredRequests
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.requests.messages import ConsumerSendMsgBack

GROUP = "billing"
ASKED = {"CLUSTER": "C", "REPLY_TO_CLIENT": "shop@1", "CORRELATION_ID": "r1", "TTL": "3000"}
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


class Scene(ClientScene):
    """Topic "orders": three messages; the second, "b", is a request of 4 s ago that waited for 3 s."""

    def __init__(self, **options: Any) -> None:
        super().__init__({"orders": 1, f"%RETRY%{GROUP}": 1})
        options = {"allocate": AllQueues(), "consume_from": "first", **options}
        self.consumer = AsyncPushConsumer(GROUP, instance=self.instance, clock=self.clock, **options)
        self.came: list[list[bytes]] = []

    async def fill(self, seconds: float = 4.0) -> None:
        self.broker.put("orders", 0, b"a")
        self.broker.put("orders", 0, b"b", properties=ASKED)
        self.clock.advance(seconds)
        self.broker.put("orders", 0, b"c", properties={**ASKED, "CORRELATION_ID": "r2"})

    def take(self, messages: Any, context: Any = None) -> ConsumeResult:
        self.came.append([each.body for each in messages])
        return OK

    @asynccontextmanager
    async def running(self, listener: Any, **options: Any) -> Any:
        self.consumer.subscribe("orders", "*", listener, **options)
        await self.consumer.start()
        await self.pass_time()
        yield


@asynccontextmanager
async def staged(**options: Any) -> AsyncIterator[Any]:
    async with Scene(**options) as scene:
        try:
            yield scene
        finally:
            await scene.finish(scene.consumer.stop())


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("batch_max", [1, 2, 10])
async def test_it_reaches_no_listener_and_counts_as_consumed(ordered, batch_max, caplog) -> None:
    async with staged(ordered=ordered) as scene:
        await scene.fill()

        async def listen(messages, context):
            return scene.take(messages)

        async with scene.running(listen, batch_max=batch_max):
            await scene.pass_time(10.0)
            assert [body for batch in scene.came for body in batch] == [b"a", b"c"]
            assert scene.stored(GROUP) == 3
            assert scene.broker.sent(ConsumerSendMsgBack) == []
    (line,) = [r.getMessage() for r in caplog.records if "requests were dropped" in r.getMessage()]
    assert "dropped=1" in line
    assert "seconds_old=4.0" in line
    assert "orders" in line


async def test_a_request_whose_sender_waits_still_is_handed_over() -> None:
    async with staged() as scene:
        await scene.fill(2.9)

        async def listen(messages, context):
            return scene.take(messages)

        async with scene.running(listen):
            assert scene.came == [[b"a"], [b"b"], [b"c"]]


@pytest.mark.parametrize("ordered", [False, True])
async def test_a_group_that_only_looks_at_requests_gets_all(ordered) -> None:
    async with staged(ordered=ordered, settings=ConsumerSettings(answers_requests=False)) as scene:
        await scene.fill()

        async def listen(messages, context):
            return scene.take(messages)

        async with scene.running(listen):
            assert scene.came == [[b"a"], [b"b"], [b"c"]]


async def test_a_request_that_came_back_is_over_at_the_time_that_its_first_copy_said() -> None:
    async with staged() as scene:
        retry = f"%RETRY%{GROUP}"
        for body, seconds in ((b"a", 4.0), (b"b", 0.0)):
            scene.broker.put(retry, 0, body, properties={**ASKED, "RETRY_TOPIC": "orders"})
            scene.clock.advance(seconds)

        async def listen(messages, context):
            return scene.take(messages)

        async with scene.running(listen):
            await scene.pass_time(10.0)
            assert scene.came == [[b"b"]]
            assert scene.stored(GROUP, 0, retry) == 2


async def test_an_ordered_batch_that_fails_is_tried_again_without_those_that_are_over() -> None:
    async with staged(
        ordered=True, settings=ConsumerSettings(suspend_current_queue_time_millis=5000)
    ) as scene:
        await scene.fill()

        async def listen(messages, context):
            scene.take(messages)
            return LATER if len(scene.came) == 1 else OK

        async with scene.running(listen, batch_max=10):
            await scene.pass_time(10.0)
            assert scene.came == [[b"a", b"c"], [b"a"]]  # meanwhile the other was over, too
            assert scene.stored(GROUP) == 3


async def test_an_acknowledged_front_of_a_batch_counts_what_the_listener_got() -> None:
    async with staged() as scene:
        await scene.fill()

        async def listen(messages, context):
            scene.take(messages)
            context.ack_index = 0
            return OK

        async with scene.running(listen, batch_max=10):
            await scene.pass_time(10.0)
            assert scene.came == [[b"a", b"c"]]
            assert [each.offset for each in scene.broker.sent(ConsumerSendMsgBack)] == [2000]
            assert scene.stored(GROUP) == 3


def test_lines_come_once_a_minute_and_count_all(caplog) -> None:
    clock = ManualClock()
    expired = ExpiredRequests(GROUP, clock.monotonic, clock.now_ms)
    for seconds in (0.0, 1.0, 58.9, 0.2):
        clock.advance(seconds)
        expired.note([received(0), received(1)])
    first, second = [r.getMessage() for r in caplog.records]
    assert "dropped=2 in_all=2 " in first
    assert "dropped=6 in_all=8 " in second
    assert expired.count == 8
