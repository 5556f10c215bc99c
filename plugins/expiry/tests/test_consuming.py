"""Expired messages do not get to listeners, however these are called."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_expiry import EXPIRES, ExpiredOptions, SkipsExpired
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.conformance import ConsumeHookConformance
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe import AsyncProducer, AsyncPushConsumer, Message
from mqframe.core.consuming.consume_result import ACKNOWLEDGE_ALL, ConsumeResult, acknowledged
from mqframe.core.errors import FixError

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER
DEAD = ExpiredOptions("dead_letter")


class TestSkipsExpired(ConsumeHookConformance):
    def make(self) -> SkipsExpired:
        return SkipsExpired()


class ExpiryScene(ClusterScene):
    """A cluster with topic `orders`, a producer, and consumers of the group `billing`."""

    def __init__(self) -> None:
        super().__init__(topics={"orders": 1})
        self.got: list[tuple[bytes, int]] = []
        self.hook = SkipsExpired()

    async def put(self, *bodies: bytes, seconds: float | None = None) -> None:
        producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))
        for body in bodies:
            expires = "" if seconds is None else str(self.clock.now_ms() + int(seconds * 1000))
            properties = {EXPIRES: expires} if expires else {}
            await self.finish(producer.send(Message("orders", body, properties=properties)))

    async def consume(self, options: ExpiredOptions | None = None, **more) -> AsyncPushConsumer:
        self.hook = SkipsExpired(options)
        consumer = AsyncPushConsumer(
            "billing",
            nameserver=self.nameserver,
            clock=self.clock,
            consume_from="first",
            consume_hooks=[self.hook],
            **more,
        )
        return consumer

    def committed(self) -> int:
        return self.cluster.broker.service_port.offsets.query("billing", "orders", 0) or 0


@pytest.mark.parametrize("mode", [{}, {"ordered": True}, {"mode": "pop"}], ids=["pull", "ordered", "pop"])
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
async def test_what_has_expired_is_skipped_and_counted(mode, is_async: bool) -> None:
    async with ExpiryScene() as scene:
        await scene.put(b"old-1", seconds=5)
        await scene.put(b"for-ever")
        await scene.put(b"old-2", seconds=9)
        await scene.put(b"young", seconds=500)
        await scene.pass_time(10.0)
        consumer = await scene.consume(**mode)

        async def handle_async(message) -> None:
            scene.got.append((message.body, message.reconsume_times))

        def handle(message) -> None:
            scene.got.append((message.body, message.reconsume_times))

        consumer.subscribe("orders", "*", handle_async if is_async else handle)
        await scene.open(consumer)
        await scene.until(lambda: scene.committed() == 4)
        assert sorted(scene.got) == [(b"for-ever", 0), (b"young", 0)]
        assert scene.hook.expired.by_topic() == {"orders": 2}
        assert scene.bodies("%DLQ%billing") == []


@pytest.mark.parametrize("mode", [{}, {"ordered": True}, {"mode": "pop"}], ids=["pull", "ordered", "pop"])
async def test_or_it_goes_to_the_dead_letters_which_say_why(mode) -> None:
    async with ExpiryScene() as scene:
        await scene.put(b"old", seconds=5)
        await scene.put(b"young")
        await scene.pass_time(10.0)
        consumer = await scene.consume(DEAD, **mode)

        async def handle(message) -> None:
            scene.got.append((message.body, message.reconsume_times))

        consumer.subscribe("orders", "*", handle)
        await scene.open(consumer)
        await scene.until(lambda: scene.bodies("%DLQ%billing") == [b"old"] and scene.committed() == 2)
        assert scene.got == [(b"young", 0)]
        assert scene.hook.expired.by_topic() == {"orders": 1}
        [letter] = scene.stored("%DLQ%billing")
        assert letter.properties["MQFRAME_REASON"].startswith("it had expired ")
        assert letter.properties["MQFRAME_REASON"].endswith(" s before its turn")


async def test_what_expires_between_two_tries_is_not_tried_again() -> None:
    async with ExpiryScene() as scene:
        consumer = await scene.consume()

        async def fail(message) -> None:
            scene.got.append((message.body, message.reconsume_times))
            raise ValueError("not yet")

        consumer.subscribe("orders", "*", fail)
        await scene.open(consumer)
        await scene.put(b"m", seconds=15)
        await scene.until(lambda: scene.hook.expired.by_topic() == {"orders": 1}, 120.0)
        assert scene.got == [(b"m", 0), (b"m", 1)], "at once and after 10 s, not after 30 s more"


def test_dead_letters_take_listeners_of_one_message() -> None:
    consumer = AsyncPushConsumer(
        "g", nameserver="127.0.0.1:1", consume_hooks=[("expiry", {"then": "dead_letter"})]
    )
    with pytest.raises(FixError, match="the listener of orders gets up to 8 messages at once"):
        consumer.subscribe("orders", "*", lambda messages, context: OK, batch_max=8)
    consumer.subscribe("orders", "*", lambda messages, context: OK)


@given(
    old=st.lists(st.booleans(), min_size=1, max_size=12),
    ack=st.one_of(st.just(ACKNOWLEDGE_ALL), st.integers(-1, 12)),
    good=st.booleans(),
    is_async=st.booleans(),
)
async def test_a_batch_listener_answers_for_what_it_got(
    old: list[bool], ack: int, good: bool, is_async: bool
) -> None:
    """What it did not acknowledge comes again, what had expired before that is done."""
    clock, hook = ManualClock(), SkipsExpired()
    moments = [str(clock.now_ms() + (-1 if expired else 1)) for expired in old]
    messages = [received(at, **{EXPIRES: expires}) for at, expires in enumerate(moments)]
    context = SimpleNamespace(ack_index=ACKNOWLEDGE_ALL, group="g")
    fresh = [message for message, expired in zip(messages, old, strict=True) if not expired]
    got = []

    def listen(given, context):
        got.extend(given)
        context.ack_index = ack
        return OK if good else LATER

    async def listen_async(given, context):
        return listen(given, context)

    call = hook.wrap(listen_async if is_async else listen, "orders", clock, is_async, 32)
    result = await call(messages, context) if is_async else call(messages, context)
    assert got == fresh
    done = acknowledged(result, context.ack_index, len(messages))
    if not fresh:
        assert done == len(messages)
    else:
        acked = fresh[: acknowledged(result, ack, len(fresh))]
        assert [message for message in messages[:done] if message in fresh] == acked
        assert done == len(messages) or messages[done] in fresh or not good
    noted = hook.expired.by_topic().get("orders", 0)
    assert noted == (len([each for each in messages[:done] if each not in fresh]))
