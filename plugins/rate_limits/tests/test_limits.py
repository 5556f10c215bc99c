"""Limits of consumers, as their listeners see them."""

from __future__ import annotations

import asyncio
import threading

import pytest
from mqframe_rate_limits import RateLimitOptions, RateLimits
from mqframe_testing.cluster import Cluster
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.conformance import ConsumeHookConformance
from mqframe_testing.conformance.hooks import ConformancePort
from mqframe_testing.manual_clock import ManualClock

from mqframe import AsyncPushConsumer, ConsumerSettings, Message, Producer, PushConsumer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


class TestRateLimits(ConsumeHookConformance):
    def make(self) -> RateLimits:
        return RateLimits(RateLimitOptions(messages_per_second=5))


class LimitScene(ClusterScene):
    """Topics `orders` and `bills`; `begun`: topic and second of each message, `most`: at once, by topic."""

    def __init__(self) -> None:
        super().__init__(topics={"orders": 2, "bills": 1})
        self.begun: list[tuple[str, float]] = []
        self.most = {"orders": 0, "bills": 0}
        self._now = {"orders": 0, "bills": 0}
        self.seconds = 0.0

    async def handle(self, message) -> None:
        topic = message.topic
        self.begun.append((topic, self.clock.monotonic()))
        self._now[topic] += 1
        self.most[topic] = max(self.most[topic], self._now[topic])
        if self.seconds:
            await self.clock.sleep(self.seconds)
        self._now[topic] -= 1

    def times(self, topic: str) -> list[float]:
        return [second for name, second in self.begun if name == topic]

    async def put(self, topic: str, count: int) -> None:
        await self.send(topic, *[b"%d" % at for at in range(count)])

    async def consume(self, *hooks, **more) -> AsyncPushConsumer:
        consumer = AsyncPushConsumer(
            "billing",
            nameserver=self.nameserver,
            clock=self.clock,
            consume_from="first",
            consume_hooks=hooks,
            **more,
        )
        for topic in ("orders", "bills"):
            consumer.subscribe(topic, "*", self.handle)
        return await self.open(consumer)

    def committed(self, topic: str) -> int:
        offsets = self.cluster.broker.service_port.offsets
        return sum(max(0, offsets.query("billing", topic, queue) or 0) for queue in range(2))


@pytest.mark.parametrize("mode", [{}, {"ordered": True}, {"mode": "pop"}], ids=["pull", "ordered", "pop"])
async def test_so_many_messages_a_second_come_and_none_counts_as_failed(mode) -> None:
    async with LimitScene() as scene:
        await scene.put("orders", 30)
        limits = ("rate_limits", {"messages_per_second": 5, "burst": 2})
        await scene.consume(limits, **mode)
        await scene.until(lambda: len(scene.begun) == 30)
        times = scene.times("orders")
        for first, start in enumerate(times):
            for count, end in enumerate(times[first:], start=1):
                assert count <= 2 + 5 * (end - start) + 0.01
        assert times[-1] - times[0] == pytest.approx(28 / 5, abs=1.0)
        await scene.until(lambda: scene.committed("orders") == 30)
        assert scene.bodies("%RETRY%billing") == []


async def test_topics_have_limits_of_their_own() -> None:
    async with LimitScene() as scene:
        await scene.put("orders", 20)
        await scene.put("bills", 20)
        await scene.consume(
            ("rate_limits", {"messages_per_second": 2, "burst": 1, "topics": ["orders"]}),
            ("rate_limits", {"in_flight": 3, "topics": ["bills"]}),
        )
        scene.seconds = 1.0
        await scene.until(lambda: len(scene.begun) == 40)
        orders, bills = scene.times("orders"), scene.times("bills")
        assert scene.most["bills"] == 3
        assert bills[-1] - bills[0] == pytest.approx(6.0, abs=1.0)
        assert orders[-1] - orders[0] == pytest.approx(9.5, abs=1.0)


async def test_or_share_them() -> None:
    async with LimitScene() as scene:
        await scene.put("orders", 10)
        await scene.put("bills", 10)
        await scene.consume(("rate_limits", {"messages_per_second": 4, "burst": 1, "per": "consumer"}))
        await scene.until(lambda: len(scene.begun) == 20)
        times = sorted(second for _, second in scene.begun)
        assert times[-1] - times[0] == pytest.approx(19 / 4, abs=0.5)


async def test_with_few_held_others_are_not_held_up_and_none_waits_until_it_has_failed() -> None:
    async with LimitScene() as scene:
        await scene.put("orders", 60)
        await scene.put("bills", 20)
        settings = ConsumerSettings(
            topic_messages_max=6, pull_messages_max=6, consume_tasks=32, consume_timeout_seconds=30.0
        )
        limits = ("rate_limits", {"messages_per_second": 1, "burst": 1, "topics": ["orders"]})
        await scene.consume(limits, settings=settings)
        await scene.until(lambda: len(scene.times("bills")) == 20, 5.0)
        assert len(scene.times("orders")) <= 6
        await scene.until(lambda: scene.committed("orders") == 60, 90.0)
        assert len(scene.times("orders")) == 60
        assert scene.bodies("%RETRY%billing") == []


async def test_the_loop_goes_on_while_calls_wait_and_a_stop_ends_them() -> None:
    async with LimitScene() as scene:
        hook = RateLimits(RateLimitOptions(in_flight=1))
        await scene.put("orders", 3)
        scene.seconds = 10_000.0
        consumer = await scene.consume(hook)
        await scene.until(lambda: hook.waiting("orders") == 2)
        await scene.close(consumer)
        assert (len(scene.begun), hook.waiting("orders")) == (1, 0)


async def test_a_batch_takes_a_token_for_each_message() -> None:
    clock, times = ManualClock(), []

    async def listen(messages, context):
        times.append((clock.monotonic(), len(messages)))
        return OK

    hook = RateLimits(RateLimitOptions(messages_per_second=2, burst=2))
    call = hook.wrap(listen, "orders", clock, True, 8)
    work = asyncio.gather(*(call([object()] * count, None) for count in (2, 4, 1)))
    assert await clock.finish(work, 0.1) == [OK, OK, OK]
    assert [(round(at, 2), count) for at, count in times] == [(0.0, 2), (2.0, 4), (2.5, 1)]


def test_a_plain_listener_waits_in_its_thread_in_real_time() -> None:
    seen, done = [], threading.Event()
    with Cluster() as cluster:
        with Producer("shop", nameserver=cluster.nameserver) as producer:
            for at in range(12):
                producer.send(Message("steps", b"%d" % at))
        now, most, lock = 0, 0, threading.Lock()
        limits = ("rate_limits", {"messages_per_second": 200, "burst": 1, "in_flight": 2})
        consumer = PushConsumer(
            "g", nameserver=cluster.nameserver, consume_from="first", consume_hooks=[limits]
        )

        @consumer.on("steps")
        def handle(message) -> None:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            seen.append(message.body)
            with lock:
                now -= 1
            if len(seen) == 12:
                done.set()

        with consumer:
            assert done.wait(60)
    assert sorted(seen) == sorted(b"%d" % at for at in range(12))
    assert most <= 2


@pytest.mark.parametrize("options", [{"in_flight": 1}, {"messages_per_second": 0.001, "burst": 1}])
def test_plain_listeners_that_wait_are_called_no_more_once_the_consumer_stops(options) -> None:
    hook, called, results = RateLimits(RateLimitOptions(**options)), threading.Event(), []
    go = threading.Event()

    def listen(messages, context):
        called.set()
        assert go.wait(60)
        return OK

    hook.attach(ConformancePort())
    call = hook.wrap(listen, "orders", ManualClock(), False, 1)
    threads = [threading.Thread(target=lambda: results.append(call([object()], None))) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert called.wait(60)
    hook.detach()
    while LATER not in results:
        threads[1].join(0.01)
        threads[0].join(0.01)
    go.set()
    for thread in threads:
        thread.join()
    assert sorted(results, key=str) == sorted([OK, LATER], key=str)


def test_listeners_of_other_topics_are_called_as_they_are() -> None:
    hook = RateLimits(RateLimitOptions(in_flight=1, topics=("orders",)))

    def listen(messages, context):
        return OK

    assert hook.wrap(listen, "bills", ManualClock(), False, 1) is listen
    assert hook.waiting("bills") == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "rate_limits limits nothing: give messages_per_second or in_flight"),
        ({"messages_per_second": -1}, "messages_per_second = -1: must be 0 or above"),
        ({"messages_per_second": 1, "burst": -1}, "burst = -1: must be 0 or above"),
        ({"in_flight": -2}, "in_flight = -2: must be 0 or above"),
        ({"in_flight": 1, "per": "queue"}, "per"),
    ],
)
def test_options_are_checked(options, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        PluginManager().create("consume_hook", ("rate_limits", options))


@pytest.mark.parametrize(("rate", "burst", "first_waits"), [(0.5, 0, 1), (3, 0, 3), (3, 1, 1), (2.5, 0, 3)])
def test_a_burst_is_what_a_second_has_unless_said_otherwise(rate, burst: int, first_waits: int) -> None:
    bucket = RateLimitOptions(messages_per_second=rate, burst=burst).bucket
    assert bucket is not None
    waits = [bucket.take(1, 0.0) for _ in range(first_waits + 1)]
    assert [wait > 0 for wait in waits] == [False] * first_waits + [True]
