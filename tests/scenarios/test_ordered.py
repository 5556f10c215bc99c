"""Ordered groups over a whole system in this process, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from mqframe_admin.rules.retry_waits import listed_waits
from mqframe_testing import ClusterScene

from mqframe import AsyncAdmin
from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import FixError, RouteError
from mqframe.core.messages.message import Message, MessageQueue

GROUP = "billing"
OK, SUSPEND = ConsumeResult.SUCCESS, ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT


class Member:
    """A consumer, and what it got, in order: (broker, queue id, offset, body)."""

    def __init__(self, scene, name, topic, answer=None, **options) -> None:
        self.name = name
        self.scene = scene
        self.answer = answer
        settings = ClientSettings(nameserver=scene.cluster.nameserver, instance_name=name)
        self.instance = ClientInstance.connect(settings, scene.clock)
        self.consumer = AsyncPushConsumer(
            GROUP,
            clock=scene.clock,
            instance=self.instance,
            **{"consume_from": "first", "ordered": True, **options},
        )
        self.consumer.subscribe(topic, "*", self.take)

    async def take(self, messages, context):
        for m in messages:
            self.scene.got.append((self.name, m.broker_name, m.queue_id, m.queue_offset, m.body))
        if self.answer is not None:
            return await self.answer(messages, context)
        return OK

    async def start(self) -> None:
        await self.instance.start()
        await self.consumer.start()

    async def stop(self) -> None:
        await self.consumer.stop()
        await self.instance.stop()

    @property
    def queues(self) -> list[int]:
        return [queue.queue_id for queue in self.consumer.queues if "%" not in queue.topic]


class OrderedScene(ClusterScene):
    """A cluster with topic `orders`, and members of one ordered group, whose processes may die."""

    def __init__(self, brokers: int = 1, **options) -> None:
        super().__init__(brokers, topics={"orders": 2}, **options)
        self.got: list[tuple[str, str, int, int, bytes]] = []

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))
        self.admin = await self.open(AsyncAdmin(nameserver=self.nameserver, clock=self.clock))

    async def join(self, name, topic="orders", answer=None, **options) -> Member:
        return await self.open(Member(self, name, topic, answer, **options))

    async def crash(self, member) -> None:
        """As if its process were killed: its connections close first, so that nothing more is said."""
        await member.instance.remoting.close()
        member.name = "dead"
        await self.close(member)

    async def send(self, queue_id, *bodies) -> None:
        queue = MessageQueue("orders", "broker-a", queue_id)
        for body in bodies:
            await self.producer.send(Message("orders", body), queue=queue)

    def heard(self, queue_id=None, member=None) -> list[bytes]:
        return [
            body
            for name, _, number, _, body in self.got
            if queue_id in (None, number) and member in (None, name)
        ]


def numbered(prefix: bytes, count: int) -> list[bytes]:
    return [prefix + b"%d" % n for n in range(count)]


class TestMembers:
    async def test_queues_are_consumed_in_order_and_side_by_side(self) -> None:
        async with OrderedScene() as scene:
            one, two = await scene.join("m1"), await scene.join("m2")
            await scene.until(lambda: (one.queues, two.queues) == ([0], [1]))
            for queue_id, prefix in ((0, b"a"), (1, b"b")):
                await scene.send(queue_id, *numbered(prefix, 50))
            await scene.until(lambda: len(scene.got) >= 100)
            await scene.clock.aadvance(10.0)
            assert scene.heard(0) == numbered(b"a", 50)
            assert scene.heard(1) == numbered(b"b", 50)
            assert {name for name, _, number, _, _ in scene.got if number == 0} == {"m1"}

    async def test_a_new_member_takes_a_queue_over_where_the_other_left_it(self) -> None:
        async with OrderedScene() as scene:
            one = await scene.join("m1")
            await scene.send(1, *numbered(b"a", 20))
            await scene.until(lambda: len(scene.got) == 20)
            two = await scene.join("m2")
            await scene.send(1, *numbered(b"b", 20))
            await scene.until(lambda: (one.queues, two.queues) == ([0], [1]))
            await scene.send(1, *numbered(b"c", 20))
            await scene.until(lambda: len(scene.got) >= 60)
            await scene.clock.aadvance(10.0)
            assert scene.heard(1) == numbered(b"a", 20) + numbered(b"b", 20) + numbered(b"c", 20)
            assert scene.heard(1, "m2")[-20:] == numbered(b"c", 20)

    async def test_the_group_s_settings_give_the_interval_of_retries(self) -> None:
        async with OrderedScene() as scene:
            config = SubscriptionGroupConfig(
                GROUP, consume_message_orderly=True, group_retry_policy=listed_waits([7000, 60_000])
            )
            await scene.admin.groups.create(config)
            tries = []

            async def fail(messages, context):
                tries.append(scene.clock.monotonic())
                if len(tries) == 3:
                    context.suspend_current_queue_time_millis = 500
                return OK if len(tries) == 5 else SUSPEND

            await scene.join("m1", answer=fail)
            await scene.send(0, b"a")
            await scene.until(lambda: len(tries) == 5)
            waits = [round(later - before, 1) for before, later in itertools.pairwise(tries)]
            assert waits == [7.0, 7.0, 0.5, 7.0]

    async def test_a_queue_is_not_consumed_elsewhere_while_its_listener_runs(self) -> None:
        async with OrderedScene() as scene:
            gate = asyncio.Event()

            async def wait(messages, context):
                if messages[0].queue_id == 1:
                    await gate.wait()
                return OK

            one = await scene.join("m1", answer=wait)
            await scene.send(1, *numbered(b"a", 3))
            await scene.until(lambda: scene.heard(1) == [b"a0"])
            await scene.join("m2")
            await scene.clock.aadvance(30.0)
            assert (one.queues, scene.heard(1)) == ([0], [b"a0"])
            gate.set()
            await scene.until(lambda: len(scene.heard(1)) >= 4)
            # What a queue's last listener did after the queue was dropped is not committed.
            assert scene.heard(1, "m1") == [b"a0"]
            assert scene.heard(1, "m2") == numbered(b"a", 3)

    async def test_the_order_outlives_a_member_that_dies(self) -> None:
        async with OrderedScene() as scene:

            async def slow(messages, context):
                await scene.clock.sleep(1.0)
                return OK

            one, two = await scene.join("m1", answer=slow), await scene.join("m2")
            await scene.until(lambda: (one.queues, two.queues) == ([0], [1]))
            await scene.send(0, *numbered(b"a", 30))
            await scene.until(lambda: len(scene.heard(0)) == 12)
            await scene.crash(one)
            died = scene.clock.monotonic()
            await scene.until(lambda: scene.heard(0, "m2"), 90.0)
            # Its lock ends 60 s after it was renewed last.
            assert 35.0 <= scene.clock.monotonic() - died <= 65.0
            await scene.until(lambda: b"a29" in scene.heard(0))
            again = scene.heard(0, "m2")
            assert again == numbered(b"a", 30)[-len(again) :]
            assert scene.heard(0, "m1") == numbered(b"a", 12)
            assert len(again) >= 18

    async def test_a_restarted_broker_knows_no_locks_and_the_order_stays(self) -> None:
        async with OrderedScene() as scene:
            one, two = await scene.join("m1"), await scene.join("m2")
            await scene.until(lambda: (one.queues, two.queues) == ([0], [1]))
            await scene.send(0, *numbered(b"a", 10))
            await scene.until(lambda: len(scene.got) == 10)
            await scene.clock.aadvance(6.0)
            await scene.cluster.restart_broker()
            await scene.clock.aadvance(1.0)
            await scene.send(0, *numbered(b"b", 10))
            await scene.until(lambda: b"b9" in scene.heard(0))
            await scene.clock.aadvance(60.0)
            firsts = list(dict.fromkeys(scene.heard(0)))
            assert firsts == numbered(b"a", 10) + numbered(b"b", 10)
            assert scene.cluster.broker.store.queues.max_offset("orders", 0) == 20

    async def test_failures_beyond_the_limit_are_dead_letters(self) -> None:
        async with OrderedScene() as scene:

            async def fails(messages, context):
                return SUSPEND if messages[0].body == b"a1" else OK

            await scene.join("m1", answer=fails, settings=ConsumerSettings(max_reconsume_times=2))
            await scene.send(0, *numbered(b"a", 3))
            await scene.until(lambda: b"a2" in scene.heard(0))
            assert scene.heard(0) == [b"a0", b"a1", b"a1", b"a1", b"a2"]
            letters = scene.cluster.broker.store.queues.max_offset(f"%DLQ%{GROUP}", 0)
            assert letters == 1
            await scene.clock.aadvance(120.0)
            assert len(scene.got) == 5

    async def test_broadcasting_members_get_everything_in_order(self, tmp_path) -> None:
        async with OrderedScene() as scene:
            options = {"broadcasting": True, "settings": ConsumerSettings(offset_directory=tmp_path)}
            await scene.join("m1", **options)
            await scene.join("m2", **options)
            await scene.send(0, *numbered(b"a", 20))
            await scene.until(lambda: len(scene.got) >= 40)
            assert scene.heard(0, "m1") == scene.heard(0, "m2") == numbered(b"a", 20)


KEYS = [f"customer-{n}" for n in range(40)]


async def spread(scene, topic, mark=b"") -> dict[str, MessageQueue | None]:
    """The queue of each key; `None` where the send failed."""
    found: dict[str, MessageQueue | None] = {}
    for key in KEYS:
        try:
            message = Message(topic, mark + key.encode())
            sent = await scene.finish(scene.producer.send(message, sharding_key=key))
        except RouteError:
            found[key] = None
        else:
            found[key] = sent.queue
    return found


class TestFixedLists:
    @pytest.mark.parametrize(
        ("kind", "fixed"),
        [
            ({"attributes": "+message.type=FIFO"}, True),
            ({"order": True}, True),
            ({}, False),
        ],
    )
    async def test_a_broker_that_is_down_does_not_change_the_queues(self, kind, fixed) -> None:
        async with OrderedScene(brokers=2, nameserver={"order_message_enable": True}) as scene:
            await scene.cluster.create_topic("paid", 2, **kind)
            before = await spread(scene, "paid")
            assert {queue.broker_name for queue in before.values()} == {"broker-a", "broker-b"}
            await scene.cluster.stop_broker(1)
            await scene.clock.aadvance(31.0)
            after = await spread(scene, "paid")
            if fixed:
                for key, queue in before.items():
                    assert after[key] == (queue if queue.broker_name == "broker-a" else None)
                await scene.cluster.start_broker(1)
                await scene.clock.aadvance(31.0)
                assert await spread(scene, "paid") == before
            else:
                assert None not in after.values()

    async def test_a_fifo_topic_needs_no_setting_of_the_name_server(self) -> None:
        async with OrderedScene(brokers=2) as scene:
            await scene.cluster.create_topic("paid", 2, attributes="+message.type=FIFO")
            await scene.cluster.create_topic("marked", 2, order=True)
            await scene.cluster.kill_broker(1)
            await scene.clock.aadvance(121.0)
            assert (await scene.admin.topics.route("paid")).order_topic_conf == "broker-a:2;broker-b:2"
            assert (await scene.admin.topics.route("marked")).order_topic_conf is None
            await scene.admin.topics.delete("paid")
            await scene.admin.topics.create("paid", queues=2)
            assert (await scene.admin.topics.route("paid")).order_topic_conf is None

    async def test_the_list_of_an_operator_comes_first_and_marks_the_topic(self) -> None:
        async with OrderedScene(nameserver={"order_message_enable": True}) as scene:
            await scene.admin.topics.set_order_config("orders", {"broker-a": 1})
            await scene.clock.aadvance(31.0)
            assert (await scene.admin.topics.route("orders")).order_topic_conf == "broker-a:1"
            assert (await scene.admin.topics.config("orders"))["broker-a"].order
            queues = set((await spread(scene, "orders")).values())
            assert queues == {MessageQueue("orders", "broker-a", 0)}


class TestGrowth:
    async def test_keys_keep_their_order_while_queues_are_added(self) -> None:
        async with OrderedScene() as scene:
            await scene.cluster.create_topic("paid", 2, attributes="+message.type=FIFO")
            one = await scene.join("m1", "paid")
            keyed = AsyncProducer(
                "keys", nameserver=scene.nameserver, clock=scene.clock, selector="monotonic"
            )
            producer = await scene.open(keyed)

            async def send(mark) -> dict[str, MessageQueue]:
                sent = {}
                for key in KEYS:
                    body = mark + b"/" + key.encode()
                    sent[key] = (await producer.send(Message("paid", body), sharding_key=key)).queue
                return sent

            before = await send(b"1")
            await scene.until(lambda: len(scene.got) == 40)
            one.consumer.suspend()
            await scene.clock.aadvance(1.0)
            await send(b"2")
            expansion = await scene.admin.queue_expansion.begin("paid", 4)
            with pytest.raises(FixError, match="mark the ends"):
                await scene.admin.queue_expansion.finish(expansion)
            await scene.clock.aadvance(31.0)
            after = await send(b"3")
            moved = [key for key in KEYS if after[key] != before[key]]
            assert moved
            assert all(after[key].queue_id >= 2 for key in moved)
            expansion = await scene.admin.queue_expansion.mark(expansion)
            waiting = (await scene.admin.queue_expansion.left(expansion))[GROUP]
            assert waiting > 0
            with pytest.raises(FixError, match="not drained"):
                await scene.admin.queue_expansion.finish(expansion)
            one.consumer.resume()
            await scene.clock.aadvance(31.0)
            assert one.queues == [0, 1]
            assert not any(body.startswith(b"3") for body in scene.heard(2) + scene.heard(3))
            assert await scene.admin.queue_expansion.left(expansion) == {GROUP: 0}
            await scene.admin.queue_expansion.finish(expansion)
            await scene.until(lambda: one.queues == [0, 1, 2, 3])
            await scene.until(lambda: len(scene.got) >= 120)
            for key in KEYS:
                got = [body[:1] for body in scene.heard() if body.endswith(b"/" + key.encode())]
                assert got == [b"1", b"2", b"3"]
