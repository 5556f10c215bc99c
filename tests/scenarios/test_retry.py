"""Failed messages on their way round: back to the broker, again to a listener, at last a dead letter."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import attrs
import pytest
from mqframe_testing import ClusterScene

from mqframe import AsyncAdmin, AsyncProducer, AsyncPushConsumer, ConsumeHook, ConsumeResult, Message
from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.group_config import (
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER
GROUP = "billing"
WAITS = [10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
SELDOM = {
    "broker": {"offsets_save_interval_ms": 600_000},
    "store": {
        "flush_interval_ms": 600_000,
        "queue_flush_interval_ms": 600_000,
        "cleanup_interval_ms": 600_000,
    },
}
"""Hours on the manual clock take as long as the timers that fire in them."""
IN_THREADS = 2400.0
"""Seconds on the manual clock for listeners in threads, which take real time."""


@attrs.frozen
class Got:
    """One message as a listener saw it."""

    at: float
    topic: str
    body: bytes
    times: int
    message_id: str
    origin: str
    offset_id: str
    tag: str | None
    keys: list[str]
    properties: dict[str, str]


class RetryScene(ClusterScene):
    """A cluster with topic `orders` of two queues, and consumers whose listeners note what they get."""

    def __init__(self, brokers: int = 1, **options) -> None:
        super().__init__(brokers, topics={"orders": 2}, **options)
        self.got: list[Got] = []

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))
        self.admin = await self.open(AsyncAdmin(nameserver=self.nameserver, clock=self.clock))

    def consumer(self, name: str = "m1", group: str = GROUP, **options) -> AsyncPushConsumer:
        client = ClientSettings(
            nameserver=self.nameserver, instance_name=name, **options.pop("client_fields", {})
        )
        return AsyncPushConsumer(
            group, clock=self.clock, client=client, **{"consume_from": "first", **options}
        )

    def listener(self, answer):
        """Notes what it gets; `answer(message, context)` says what becomes of it."""

        async def listen(messages, context):
            results = [self.note(message) or answer(message, context) for message in messages]
            return next((each for each in results if each is not OK), OK)

        return listen

    def note(self, m) -> None:
        self.got.append(
            Got(
                self.clock.monotonic(),
                m.topic,
                m.body,
                m.reconsume_times,
                m.message_id,
                m.origin_message_id,
                m.offset_message_id,
                m.tag,
                m.keys,
                dict(m.properties),
            )
        )

    async def join(self, answer, name: str = "m1", topic: str = "orders", **options) -> AsyncPushConsumer:
        made = self.consumer(name, **options)
        made.subscribe(topic, "*", self.listener(answer))
        return await self.open(made)

    async def send(self, *bodies: bytes, topic: str = "orders", **fields) -> list:
        return [await self.producer.send(Message(topic, body, **fields)) for body in bodies]

    async def nothing_lags(self, topic: str | None = None) -> None:
        """Wait until the broker was told of all: consumers tell it every five seconds, over sockets."""
        for _ in range(12):
            if await self.admin.groups.lag(GROUP, topic) == 0:
                return
            await self.clock.aadvance(5.0)
        raise AssertionError("something lags")

    async def dead(self, group: str = GROUP):
        await self.admin.dead_letters.open(group)
        return await self.admin.dead_letters.list(group)

    @property
    def heard(self) -> list[bytes]:
        return [each.body for each in self.got]


async def test_sixteen_returns_over_hours_and_then_a_dead_letter() -> None:
    async with RetryScene(**SELDOM) as scene:
        await scene.join(
            lambda message, context: LATER,
            settings=ConsumerSettings(
                rebalance_seconds=600.0, pull_wait_seconds=60.0, pull_timeout_seconds=90.0
            ),
            client_fields={"persist_offsets_seconds": 600.0, "route_poll_seconds": 600.0},
        )
        (sent,) = await scene.send(b"m", tag="paid", keys=["o-1"], properties={"colour": "red"})
        await scene.until(lambda: scene.got)
        for times, wait in enumerate(WAITS, 1):
            await scene.clock.aadvance(scene.got[-1].at + wait - scene.clock.monotonic() - 0.01)
            assert len(scene.got) == times
            await scene.clock.aadvance(1.0)
            assert len(scene.got) == times + 1
            apart = scene.got[-1].at - scene.got[-2].at
            assert wait <= apart <= wait + 0.5
        assert [each.times for each in scene.got] == list(range(17))
        assert {(each.topic, each.body, each.tag) for each in scene.got} == {("orders", b"m", "paid")}
        assert {tuple(each.keys) for each in scene.got} == {("o-1",)}
        assert {each.properties["colour"] for each in scene.got} == {"red"}
        # One key for all copies, while each copy has a broker's id of its own.
        assert {each.message_id for each in scene.got} == {sent.message_id}
        assert {each.origin for each in scene.got} == {sent.offset_message_id}
        assert len({each.offset_id for each in scene.got}) == 17
        await scene.clock.aadvance(10.0)
        (letter,) = await scene.dead()
        assert (letter.topic, letter.message.body, letter.message.reconsume_times) == ("orders", b"m", 17)
        assert (letter.unique_key, letter.message.keys) == (sent.message_id, ["o-1"])
        await scene.clock.aadvance(1200.0)
        assert len(scene.got) == 17
        await scene.nothing_lags()


async def test_first_return_of_a_new_group_is_not_late() -> None:
    async with RetryScene() as scene:
        await scene.send(*[b"m%d" % n for n in range(8)])
        await scene.join(lambda message, context: LATER if message.reconsume_times == 0 else OK)
        await scene.until(lambda: len(scene.got) == 16, seconds=13.0)
        assert Counter(scene.heard) == Counter([b"m%d" % n for n in range(8)] * 2)
        for each in scene.got[8:]:
            assert each.times == 1
            assert 10.0 <= each.at - scene.got[0].at <= 12.0


async def test_on_two_brokers_each_takes_its_own_back() -> None:
    async with RetryScene(brokers=2) as scene:
        await scene.join(lambda message, context: LATER if message.reconsume_times == 0 else OK)
        await scene.send(*[b"m%d" % n for n in range(16)])
        await scene.until(lambda: len(scene.got) == 32, seconds=15.0)
        brokers = {each.offset_id[:16] for each in scene.got}
        assert len(brokers) == 2
        for body in {each.body for each in scene.got}:
            assert len({each.offset_id[:16] for each in scene.got if each.body == body}) == 1


async def test_listeners_of_several_topics_get_what_is_theirs() -> None:
    seen = []

    class Noting(ConsumeHook):
        def before(self, context):
            seen.extend((message.topic, message.reconsume_times) for message in context.messages)

    async with RetryScene() as scene:
        await scene.cluster.create_topic("refunds", 2)
        consumer = scene.consumer(consume_hooks=[Noting()])
        by_topic = {"orders": [], "refunds": []}

        @consumer.on("orders", "paid", batch_max=4)
        async def orders(messages, context):
            by_topic["orders"] += [(m.topic, m.body, m.reconsume_times) for m in messages]
            return LATER if messages[0].reconsume_times == 0 else OK

        @consumer.on("refunds")
        def refunds(messages, context):
            by_topic["refunds"] += [(m.topic, m.body, m.reconsume_times) for m in messages]
            return LATER if messages[0].reconsume_times == 0 else OK

        await scene.open(consumer)
        await scene.send(b"o1", b"o2", tag="paid")
        await scene.send(b"r1", b"r2", topic="refunds")
        await scene.until(lambda: sum(map(len, by_topic.values())) == 8, IN_THREADS)
        assert sorted(by_topic["orders"]) == [("orders", b, n) for b in (b"o1", b"o2") for n in (0, 1)]
        assert sorted(by_topic["refunds"]) == [("refunds", b, n) for b in (b"r1", b"r2") for n in (0, 1)]
        assert {topic for topic, _ in seen} == {"orders", "refunds"}
        assert consumer.queues == [queue for queue in consumer.queues if not queue.topic.startswith("%")]


@pytest.mark.parametrize(("level", "seconds"), [(1, 1.0), (4, 30.0)])
async def test_listener_names_the_wait(level, seconds) -> None:
    def answer(message, context):
        context.delay_level_when_next_consume = level
        return LATER if message.reconsume_times == 0 else OK

    async with RetryScene() as scene:
        await scene.join(answer)
        await scene.send(b"m")
        await scene.until(lambda: len(scene.got) == 2)
        assert seconds <= scene.got[1].at - scene.got[0].at <= seconds + 1.2


async def test_listener_gives_a_message_up_at_once() -> None:
    def answer(message, context):
        context.delay_level_when_next_consume = -1
        return LATER

    async with RetryScene() as scene:
        await scene.join(answer)
        await scene.send(b"m")
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(60.0)
        assert scene.heard == [b"m"]
        (letter,) = await scene.dead()
        assert (letter.message.body, letter.message.reconsume_times) == (b"m", 1)


async def test_maximum_of_the_consumer() -> None:
    async with RetryScene() as scene:
        await scene.join(lambda message, context: LATER, settings=ConsumerSettings(max_reconsume_times=1))
        await scene.send(b"m")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(60.0)
        assert [each.times for each in scene.got] == [0, 1]
        assert [letter.message.reconsume_times for letter in await scene.dead()] == [2]


@pytest.mark.parametrize(("named", "returns"), [(-1, 1), (0, 1), (3, 3)])
async def test_the_group_says_how_often_unless_the_consumer_names_a_maximum(named: int, returns: int) -> None:
    async with RetryScene() as scene:
        await scene.admin.groups.create(SubscriptionGroupConfig(GROUP, retry_max_times=1))
        await scene.join(lambda message, context: LATER, settings=ConsumerSettings(max_reconsume_times=named))
        await scene.send(b"m")
        await scene.until(lambda: len(scene.got) == returns + 1, 120.0)
        await scene.clock.aadvance(300.0)
        assert [each.times for each in scene.got] == list(range(returns + 1))
        assert [letter.message.reconsume_times for letter in await scene.dead()] == [returns + 1]


async def test_schedule_of_the_group() -> None:
    policy = GroupRetryPolicy("EXPONENTIAL", None, ExponentialRetryPolicy(2000, 8000, 2))

    async with RetryScene() as scene:
        await scene.admin.groups.create(
            SubscriptionGroupConfig(GROUP, group_retry_policy=policy, retry_max_times=4)
        )
        await scene.join(lambda message, context: LATER, settings=ConsumerSettings(max_reconsume_times=4))
        await scene.send(b"m")
        await scene.until(lambda: len(scene.got) == 5)
        apart = [after.at - before.at for before, after in zip(scene.got, scene.got[1:], strict=False)]
        for found, wanted in zip(apart, [2.0, 4.0, 8.0, 8.0], strict=True):
            assert wanted <= found <= wanted + 1.5
        await scene.clock.aadvance(20.0)
        assert len(await scene.dead()) == 1


async def test_broker_that_died_does_not_take_its_failures_along() -> None:
    async with RetryScene(brokers=2) as scene:
        gate = asyncio.Event()

        async def hang_then_fail(messages, context):
            for message in messages:
                scene.note(message)
            await gate.wait()
            return LATER if messages[0].reconsume_times == 0 else OK

        consumer = scene.consumer(settings=ConsumerSettings(consume_tasks=64))
        consumer.subscribe("orders", "*", hang_then_fail)
        await scene.open(consumer)
        await scene.send(*[b"m%d" % n for n in range(16)])
        await scene.until(lambda: len(scene.got) == 16)
        await scene.cluster.kill_broker(0)
        gate.set()
        # Copies of what lay on the dead broker are sent to the other one.
        await scene.until(
            lambda: {each.body for each in scene.got if each.times == 1} == set(scene.heard[:16])
        )
        survivors = {each.offset_id[:16] for each in scene.got if each.times == 1}
        assert len(survivors) == 1
        first = {each.body: each.origin for each in scene.got if each.times == 0}
        for each in scene.got[16:]:
            assert each.topic == "orders"
            assert each.origin == first[each.body]


async def test_what_nobody_takes_back_is_consumed_again_and_not_committed() -> None:
    async with RetryScene() as scene:
        await scene.admin.topics.create(f"%RETRY%{GROUP}", queues=1, perm=4)
        await scene.join(lambda message, context: LATER if message.reconsume_times < 2 else OK)
        await scene.send(b"m")
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(4.0)
        assert await scene.admin.groups.lag(GROUP, "orders") == 1
        await scene.until(lambda: len(scene.got) == 3)
        assert [each.times for each in scene.got] == [0, 1, 2]
        for before, after in zip(scene.got, scene.got[1:], strict=False):
            assert 5.0 <= after.at - before.at <= 5.5
        await scene.clock.aadvance(10.0)
        await scene.nothing_lags("orders")


async def test_message_whose_listener_hangs_for_15_minutes_comes_again() -> None:
    async with RetryScene(**SELDOM) as scene:
        gate = asyncio.Event()

        async def hang_first(messages, context):
            scene.note(messages[0])
            if messages[0].reconsume_times == 0:
                await gate.wait()
                return LATER
            return OK

        consumer = scene.consumer()
        consumer.subscribe("orders", "*", hang_first)
        await scene.open(consumer)
        await scene.send(b"m")
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(895.0)
        assert await scene.admin.groups.lag(GROUP, "orders") == 1
        await scene.clock.aadvance(90.0)
        assert [(each.body, each.times) for each in scene.got] == [(b"m", 0), (b"m", 1)]
        # It is looked for once a minute, and then waits for 10 s.
        assert 910.0 <= scene.got[1].at - scene.got[0].at <= 972.0
        gate.set()
        await scene.clock.aadvance(60.0)
        assert len(scene.got) == 2
        await scene.nothing_lags()


async def test_prefix_of_a_batch_is_acknowledged_and_the_rest_comes_again() -> None:
    async with RetryScene() as scene:
        batches = []

        async def first_two(messages, context):
            batches.append([(m.body, m.reconsume_times) for m in messages])
            context.ack_index = 1
            return OK

        await scene.cluster.create_topic("line", 1)
        await scene.send(b"a", b"b", b"c", b"d", topic="line")
        consumer = scene.consumer()
        consumer.subscribe("line", "*", first_two, batch_max=4)
        await scene.open(consumer)
        await scene.until(lambda: sum(map(len, batches)) == 6)
        assert batches[0] == [(b"a", 0), (b"b", 0), (b"c", 0), (b"d", 0)]
        assert sorted(each for batch in batches[1:] for each in batch) == [(b"c", 1), (b"d", 1)]


async def test_maximum_of_the_member_that_started_last_wins() -> None:
    async with RetryScene() as scene:
        one = await scene.join(
            lambda message, context: LATER, "m1", settings=ConsumerSettings(max_reconsume_times=1)
        )
        await scene.until(lambda: len(one.queues) == 2)
        two = await scene.join(
            lambda message, context: LATER, "m2", settings=ConsumerSettings(max_reconsume_times=2)
        )
        await scene.until(lambda: (len(one.queues), len(two.queues)) == (1, 1))
        await scene.send(*[b"early%d" % n for n in range(4)])
        await scene.clock.aadvance(15.0)  # by now the second has handed something back, and is known
        await scene.send(*[b"m%d" % n for n in range(8)])
        await scene.clock.aadvance(60.0)
        counts = Counter(body for body in scene.heard if body.startswith(b"m"))
        assert counts == {b"m%d" % n: 3 for n in range(8)}


async def test_what_nobody_listens_to_waits_for_a_member_that_does() -> None:
    async with RetryScene() as scene:
        await scene.cluster.create_topic("refunds", 1)
        first = await scene.join(lambda message, context: LATER, topic="refunds")
        await scene.send(b"r", topic="refunds")
        await scene.until(lambda: scene.got)
        await scene.close(first)
        # The only member now knows nothing of refunds.
        other = await scene.join(lambda message, context: OK, "m2")
        await scene.clock.aadvance(20.0)
        assert scene.heard == [b"r"]
        other.subscribe("refunds", "*", scene.listener(lambda message, context: OK))
        await scene.until(lambda: len(scene.got) == 2)
        assert (scene.got[1].topic, scene.got[1].body, scene.got[1].times) == ("refunds", b"r", 2)


async def test_broadcasting_drops_what_failed_and_subscribes_no_retry_topic(tmp_path) -> None:
    async with RetryScene() as scene:
        options = {"broadcasting": True, "settings": ConsumerSettings(offset_directory=tmp_path)}
        consumer = await scene.join(lambda message, context: LATER, **options)
        await scene.send(b"a", b"b")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(60.0)
        assert sorted(scene.heard) == [b"a", b"b"]
        known = await scene.finish(scene.admin.members.consumers(consumer.group))
        assert list(known.subscription_table) == ["orders"]
        # Its progress lies in a file of its own, and goes on from there.
        await scene.close(consumer)
        await scene.send(b"c")
        consumer = await scene.join(lambda message, context: OK, **options)
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(5.0)
        assert scene.heard[2:] == [b"c"]
        await scene.close(consumer)  # while it saves, there is a moment without the file
        assert list(tmp_path.rglob("offsets.json"))


@pytest.mark.parametrize(
    ("limits", "least", "all_of_them"),
    [
        ({"queue_messages_max": 50}, 51, 1000),
        ({"topic_messages_max": 100}, 51, 1000),
        # Records of these messages have about 300 bytes.
        ({"queue_bytes_max": 15_000}, 40, 1000),
        ({"topic_bytes_max": 30_000}, 40, 1000),
        ({"held_bytes_max": 15_000}, 1, 110),
    ],
)
async def test_slow_listener_keeps_its_queues_and_its_limits(limits, least, all_of_them) -> None:
    async with RetryScene(**SELDOM) as scene:
        gate = asyncio.Event()
        settings = ConsumerSettings(consume_timeout_seconds=7200.0, consume_tasks=4, **limits)

        async def hang(messages, context):
            await gate.wait()
            for message in messages:
                scene.note(message)
            return OK

        consumer = scene.consumer(settings=settings)
        consumer.subscribe("orders", "*", hang)
        await scene.open(consumer)
        await scene.until(lambda: len(consumer.queues) == 2)
        for _ in range(40):
            await scene.producer.send_batch([Message("orders", b"x" * 100)] * 25)
        before = consumer.queues
        for _ in range(2):
            await scene.clock.aadvance(130.0)  # longer than a queue may go without a pull
            info = await scene.admin.members.running_info(GROUP, consumer.client_id)
            held = {q: each.cached_msg_count for q, each in info.mq_table.items() if q.topic == "orders"}
            assert set(held) == set(before)
            # One pull may pass the limit, which is looked at before it.
            assert all(least <= count <= 51 + 32 for count in held.values())
            assert sum(held.values()) <= all_of_them
            assert not any(each.dropped for each in info.mq_table.values())
        assert consumer.queues == before
        gate.set()
        await scene.until(lambda: len(scene.got) == 1000)
        assert len({each.offset_id for each in scene.got}) == 1000


async def test_suspended_consumer_pulls_nothing_and_keeps_its_queues() -> None:
    async with RetryScene(**SELDOM) as scene:
        consumer = await scene.join(lambda message, context: OK)
        await scene.until(lambda: len(consumer.queues) == 2)
        consumer.suspend()
        await scene.clock.aadvance(20.0)  # pulls that wait at the broker come to their end
        await scene.send(b"a", b"b")
        await scene.clock.aadvance(300.0)
        assert scene.got == []
        assert len(consumer.queues) == 2
        consumer.resume()
        await scene.until(lambda: sorted(scene.heard) == [b"a", b"b"])


async def test_listener_in_a_thread_fails_and_gets_its_message_again() -> None:
    async with RetryScene() as scene:
        seen = []
        failed = threading.Event()

        def listen(messages, context):
            seen.append((messages[0].topic, messages[0].reconsume_times))
            if len(seen) == 1:
                failed.set()
                raise ValueError("first time")
            return OK

        consumer = scene.consumer()
        consumer.subscribe("orders", "*", listen)
        await scene.open(consumer)
        await scene.send(b"m")
        await scene.until(lambda: len(seen) == 2, IN_THREADS)
        assert seen == [("orders", 0), ("orders", 1)]


OLD, NEW = [b"old%d" % n for n in range(4)], [b"new%d" % n for n in range(4)]


@pytest.mark.parametrize(("where", "expected"), [("last", []), ("first", OLD + NEW), ("time", NEW)])
async def test_where_a_new_group_begins(where, expected) -> None:
    # A broker lets a new group begin at 0 where a queue lies near the end of the log; nothing lies near here.
    async with RetryScene(store={"hot_bytes": 0}) as scene:
        await scene.send(*OLD)
        await scene.clock.aadvance(100.0)
        moment = scene.clock.now_ms() - 50_000
        await scene.send(*NEW)
        await scene.clock.aadvance(1.0)
        consumer = scene.consumer(consume_from=moment if where == "time" else where)
        consumer.subscribe("orders", "*", scene.listener(lambda message, context: OK))
        await scene.open(consumer)
        await scene.until(lambda: len(consumer.queues) == 2)
        await scene.send(b"late0", b"late1")
        await scene.until(lambda: len(scene.got) == len(expected) + 2)
        await scene.clock.aadvance(5.0)
        assert Counter(scene.heard) == Counter([*expected, b"late0", b"late1"])


@pytest.mark.parametrize("threaded", [False, True])
async def test_group_that_turned_to_order_gets_what_is_still_to_come_again(threaded) -> None:
    async with RetryScene() as scene:
        before = await scene.join(lambda message, context: LATER)
        await scene.send(b"m")
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(1.0)
        await scene.close(before)

        def in_a_thread(messages, context):
            scene.note(messages[0])
            return OK

        after = scene.consumer("m2", ordered=True)
        after.subscribe("orders", "*", in_a_thread if threaded else scene.listener(lambda m, context: OK))
        await scene.open(after)
        await scene.until(lambda: len(scene.got) == 2, IN_THREADS)
        assert [(each.topic, each.body, each.times) for each in scene.got] == [
            ("orders", b"m", 0),
            ("orders", b"m", 1),
        ]
        await scene.clock.aadvance(10.0)
        await scene.nothing_lags()


async def test_ordered_message_that_failed_too_often_is_a_dead_letter() -> None:
    async with RetryScene() as scene:
        await scene.join(
            lambda message, context: LATER if message.body == b"bad" else OK,
            ordered=True,
            settings=ConsumerSettings(max_reconsume_times=2),
        )
        await scene.cluster.create_topic("orders", 2)
        await scene.send(b"bad")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(5.0)
        assert [each.times for each in scene.got] == [0, 1, 2]
        (letter,) = await scene.dead()
        assert (letter.topic, letter.message.body) == ("orders", b"bad")
        await scene.nothing_lags("orders")
