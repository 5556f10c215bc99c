"""Keyed consumption over a scripted broker: locks of queues, queues that begin anew, handlers that hang."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from mqframe_testing.consuming import AllQueues, ClientScene, CollectingListener

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import ConnectionLost
from mqframe.core.messages import properties as p
from mqframe.core.requests.consumers import LockBatchMq, UnlockBatchMq, UpdateConsumerOffset
from mqframe.core.requests.messages import PullMessage

GROUP = "billing"
OK = ConsumeResult.SUCCESS
WAIT = 120.0
"""Real seconds after which a test that would hang fails instead."""


class KeyLocksScene(ClientScene):
    """A consumer whose keys are the first bytes of bodies."""

    def __init__(self, options) -> None:
        super().__init__({"orders": 1, f"%RETRY%{GROUP}": 1})
        options = {"allocate": AllQueues(), "consume_from": "first", "mode": "keyed", **options}
        options.setdefault("mode_options", {"key": lambda message: message.body[:1]})
        self.consumer = AsyncPushConsumer(GROUP, instance=self.instance, clock=self.clock, **options)

    async def consume(self, listener, **options) -> None:
        self.consumer.subscribe("orders", "*", listener, **options)
        await self.consumer.start()
        await self.pass_time()

    async def until(self, holds, seconds: float = 0.0) -> None:
        async with asyncio.timeout(WAIT):
            while not holds():
                await self.pass_time(seconds)
                await asyncio.sleep(0)

    def committed(self) -> int | None:
        return self.stored(GROUP, 0)

    @property
    def lock(self):
        return GROUP, self.broker.queue("orders", 0)

    def owner(self) -> str | None:
        return self.broker.locks.get(self.lock)


@asynccontextmanager
async def staged(**options):
    async with KeyLocksScene(options) as scene:
        try:
            yield scene
        finally:
            await scene.finish(scene.consumer.stop())


class Hanging(CollectingListener):
    """Ends for a body once it is let go."""

    def __init__(self) -> None:
        super().__init__(self.hang)
        self.may_end: dict[bytes, asyncio.Event] = {}

    async def hang(self, messages, context):
        await self.may_end.setdefault(messages[0].body, asyncio.Event()).wait()
        return OK

    def let_go(self, *bodies: bytes) -> None:
        for body in bodies:
            self.may_end[body].set()


async def test_a_dropped_queue_keeps_its_lock_until_the_handlers_of_all_keys_have_ended() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a0", b"b0", b"a1", b"c0")
        listener = Hanging()
        await scene.consume(listener)
        assert listener.bodies == [b"a0", b"b0", b"c0"]
        me = scene.consumer.client_id
        scene.consumer.subscribe("others", "*", listener)
        scene.consumer.unsubscribe("orders")
        await scene.pass_time(40.0)
        assert (scene.consumer.queues, scene.owner()) == ([], me)
        listener.let_go(b"a0", b"b0")
        await scene.pass_time(1.0)
        assert scene.owner() == me, "one is still at it"
        listener.let_go(b"c0")
        await scene.pass_time()
        assert scene.owner() is None
        assert (listener.bodies, scene.committed()) == ([b"a0", b"b0", b"c0"], None)


async def test_a_queue_that_is_given_up_is_committed_and_unlocked_at_once() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a0", b"b0")
        await scene.consume(CollectingListener())
        scene.consumer.subscribe("others", "*", CollectingListener())
        scene.consumer.unsubscribe("orders")
        await scene.pass_time()
        assert (scene.owner(), scene.committed()) == (None, 2)
        kinds = [type(each) for each in scene.broker.requests]
        assert kinds.index(UpdateConsumerOffset) < kinds.index(UnlockBatchMq)


async def test_a_queue_that_begins_anew_waits_for_the_handlers_that_still_run() -> None:
    async with staged(settings=ConsumerSettings(pull_messages_max=2)) as scene:
        scene.broker.put("orders", 0, b"a0", b"b0")
        listener = Hanging()
        await scene.consume(listener)
        scene.broker.put("orders", 0, *[b"a1"] * 6, b"a2", b"b1")
        scene.broker.cut("orders", 0, 8)
        await scene.pass_time(20.0)
        assert listener.bodies == [b"a0", b"b0"]
        listener.let_go(b"a0")
        await scene.pass_time(1.0)
        assert listener.bodies == [b"a0", b"b0"], "somebody is at the queue"
        listener.let_go(b"b0")
        await scene.pass_time(1.0)
        assert listener.bodies == [b"a0", b"b0", b"a2", b"b1"]
        listener.let_go(b"a2", b"b1")
        await scene.pass_time(6.0)
        assert scene.committed() == 10


async def test_nothing_is_begun_while_the_lock_is_doubted() -> None:
    async with staged() as scene:
        listener = Hanging()
        scene.broker.put("orders", 0, b"a0", b"b0", b"a1", b"b1")
        await scene.consume(listener)
        scene.broker.script(PullMessage, ConnectionLost("gone"))
        scene.broker.script(LockBatchMq, ConnectionLost("gone"))
        scene.broker.put("orders", 0, b"c0")
        await scene.pass_time()
        listener.let_go(b"a0", b"b0")
        await scene.pass_time(2.0)
        assert listener.bodies == [b"a0", b"b0"]
        await scene.pass_time(4.0)
        assert sorted(listener.bodies) == [b"a0", b"a1", b"b0", b"b1", b"c0"]


async def test_a_lock_that_another_member_got_is_not_fought_over() -> None:
    async with staged() as scene:
        await scene.consume(listener := CollectingListener())
        scene.broker.locks[scene.lock] = "somebody"
        await scene.pass_time(21.0)
        scene.broker.put("orders", 0, b"a0")
        await scene.pass_time(20.0)
        assert (listener.bodies, scene.owner()) == ([], "somebody")


async def test_a_stop_breaks_off_what_does_not_end_and_gives_the_lock_back() -> None:
    async with staged(settings=ConsumerSettings(stop_seconds=2.0)) as scene:
        scene.broker.put("orders", 0, b"a0", b"b0", b"a1")
        listener = Hanging()
        await scene.consume(listener)
        listener.let_go(b"b0")
        await scene.pass_time()
        await scene.finish(scene.consumer.stop())
        assert (listener.bodies, scene.owner()) == ([b"a0", b"b0"], None)
        assert scene.committed() in (None, 0)


async def test_a_stop_ends_the_wait_of_a_key() -> None:
    async with staged(settings=ConsumerSettings(suspend_current_queue_time_millis=30_000)) as scene:
        scene.broker.put("orders", 0, b"a0", b"b0")

        async def handle(message) -> None:
            if message.body == b"a0":
                raise ValueError("not yet")

        await scene.consume(handle)
        await scene.pass_time(1.0)
        await scene.finish(scene.consumer.stop())
        assert (scene.committed(), scene.owner()) == (0, None)


async def test_quick_handlers_that_begin_to_hang_hold_back_what_they_hang_with_alone() -> None:
    async with staged() as scene:
        go, seen, hangs = threading.Event(), [], threading.Event()

        def handle(message) -> None:
            if message.queue_offset == 150:
                hangs.set()
                assert go.wait(WAIT)
            seen.append(message.queue_offset)

        scene.broker.put("orders", 0, *[b"a"] * 100)
        await scene.consume(handle)
        await scene.until(lambda: len(seen) == 100, 0.1)
        scene.broker.put("orders", 0, *[b"a"] * 100, b"b")
        await scene.until(lambda: hangs.is_set() and 200 in seen, 0.01)
        await scene.until(lambda: scene.committed() == 150, 1.0)
        assert seen == [*range(150), 200]
        go.set()
        await scene.until(lambda: scene.committed() == 201, 0.1)
        assert seen == [*range(150), 200, *range(150, 200)]


@pytest.mark.parametrize("is_async", [True, False])
async def test_requests_that_are_over_are_left_out(is_async: bool) -> None:
    async with staged() as scene:
        seen = []

        def handle(message) -> None:
            seen.append(message.body)

        async def handle_async(message) -> None:
            handle(message)

        asked = {p.CLUSTER: "c", p.REPLY_TO_CLIENT: "x", p.CORRELATION_ID: "1", p.TTL: "1000"}
        scene.broker.put("orders", 0, b"a0", properties=asked)
        scene.broker.put("orders", 0, b"a1")
        await scene.pass_time(5.0)
        await scene.consume(handle_async if is_async else handle)
        await scene.until(lambda: scene.committed() == 2, 1.0)
        assert seen == [b"a1"]


async def test_a_topic_that_is_subscribed_again_at_once_goes_on() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a0", b"b0", b"a1")
        listener = Hanging()
        await scene.consume(listener)
        scene.consumer.unsubscribe("orders")
        scene.consumer.subscribe("orders", "*", after := CollectingListener())
        listener.let_go(b"a0", b"b0")
        await scene.until(lambda: scene.committed() == 3, 1.0)
        assert listener.bodies + after.bodies == [b"a0", b"b0", b"a1"]


async def test_requests_among_quick_messages_keep_their_place() -> None:
    async with staged() as scene:
        seen = []

        def handle(message) -> None:
            seen.append(message.queue_offset)

        asked = {p.CLUSTER: "c", p.REPLY_TO_CLIENT: "x", p.CORRELATION_ID: "1", p.TTL: "100000"}
        scene.broker.put("orders", 0, *[b"a"] * 100)
        await scene.consume(handle)
        await scene.until(lambda: len(seen) == 100, 0.1)
        scene.broker.put("orders", 0, b"a", properties=asked)
        scene.broker.put("orders", 0, *[b"a"] * 20)
        scene.broker.put("orders", 0, b"a", properties=asked)
        await scene.until(lambda: scene.committed() == 122, 1.0)
        assert seen == list(range(122))


async def test_a_key_that_had_a_worker_for_a_minute_lets_others_have_their_turn() -> None:
    async with staged(settings=ConsumerSettings(consume_tasks=1)) as scene:
        seen = []

        async def handle(message) -> None:
            seen.append(message.body)
            await scene.clock.sleep(61.0 if message.body == b"a0" else 0.0)

        scene.broker.put("orders", 0, b"a0", b"a1", b"a2")
        await scene.consume(handle)
        await scene.until(lambda: scene.committed() == 3, 10.0)
        assert seen == [b"a0", b"a1", b"a2"]
