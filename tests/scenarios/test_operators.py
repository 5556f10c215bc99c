"""Operators move groups and look into members that run, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mqframe import (
    AsyncAdmin,
    AsyncProducer,
    AsyncPushConsumer,
    ClientSettings,
    ConsumeResult,
    ConsumerSettings,
    Message,
    MessageQueue,
)
from mqframe.core.consumer_info import DirectOutcome
from mqframe.core.errors import AnswerError, FixError, RouteError
from mqframe.testing.cluster import AsyncCluster
from mqframe.testing.manual_clock import ManualClock

GROUP = "billing"
QUEUES = [MessageQueue("orders", "broker-a", number) for number in (0, 1)]


class Scene:
    """A cluster with topic `orders` of two queues, an administrator, a producer, and members of one group."""

    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.admin = AsyncAdmin(nameserver=cluster.nameserver, clock=clock)
        self.producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)
        self.members: list[AsyncPushConsumer] = []
        self.got: list[bytes] = []

    async def take(self, messages, context):
        self.got += [message.body for message in messages]
        return ConsumeResult.SUCCESS

    async def join(self, listener=None, name="m1", **options) -> AsyncPushConsumer:
        consumer = AsyncPushConsumer(
            GROUP,
            clock=self.clock,
            client=ClientSettings(nameserver=self.cluster.nameserver, instance_name=name),
            **{"consume_from": "first", **options},
        )
        consumer.subscribe("orders", "*", listener or self.take)
        await consumer.start()
        self.members.append(consumer)
        await self.until(lambda: consumer.queues)
        return consumer

    async def send(self, *bodies: bytes):
        return [await self.producer.send(Message("orders", body, "paid"), queue=QUEUES[0]) for body in bodies]

    async def until(self, condition, seconds: float = 40.0) -> None:
        for _ in range(int(seconds * 10)):
            if condition():
                return
            await self.clock.aadvance(0.1)
        raise AssertionError(f"not reached: {self.got}")

    async def end(self, work):
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.aadvance(0.1)
        return await task


def play(story, **options):
    async def whole():
        clock = ManualClock()
        async with AsyncCluster(clock=clock, **options) as cluster:
            await cluster.create_topic("orders", 2)
            scene = Scene(cluster, clock)
            await scene.producer.start()
            try:
                await story(scene)
            finally:
                for member in scene.members:
                    await scene.end(member.stop())
                await scene.end(scene.producer.stop())
                await scene.admin.stop()

    asyncio.run(whole())


BOTH_WAYS = pytest.mark.parametrize("server_side", [True, False])


@BOTH_WAYS
def test_a_member_that_runs_goes_on_at_the_reset_offset_at_once(server_side):
    async def story(scene):
        await scene.join()
        await scene.send(b"0", b"1", b"2")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(6)  # committed; the next pull waits at the broker
        offsets = await scene.admin.reset_offsets(GROUP, "orders", 0)
        assert offsets == {QUEUES[0]: 0, QUEUES[1]: 0}
        before = scene.clock.monotonic()
        await scene.until(lambda: len(scene.got) == 6)
        assert scene.got == [b"0", b"1", b"2"] * 2
        assert scene.clock.monotonic() - before < 1.0
        await scene.clock.aadvance(11)
        stats = await scene.admin.consume_stats(GROUP, "orders")
        assert stats[QUEUES[0]].consumer_offset == 3

    play(story, broker={"server_side_reset": server_side})


@BOTH_WAYS
def test_what_was_taken_before_a_reset_is_not_committed(server_side):
    async def story(scene):
        gate = asyncio.Event()

        async def slow(messages, context):
            scene.got += [message.body for message in messages]
            if len(scene.got) == 3:
                await gate.wait()
            return ConsumeResult.SUCCESS

        await scene.join(slow)
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(6)
        await scene.send(b"2")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.admin.reset_offsets(GROUP, "orders", 0)
        await scene.until(lambda: len(scene.got) == 6)
        gate.set()
        await scene.clock.aadvance(11)
        stats = await scene.admin.consume_stats(GROUP, "orders")
        assert (stats[QUEUES[0]].consumer_offset, scene.got[3:]) == (3, [b"0", b"1", b"2"])

    play(story, broker={"server_side_reset": server_side})


@BOTH_WAYS
def test_a_group_that_is_offline_begins_at_the_reset_offset(server_side):
    async def story(scene):
        member = await scene.join()
        await scene.send(b"0", b"1", b"2", b"3")
        await scene.until(lambda: len(scene.got) == 4)
        await scene.end(member.stop())
        scene.members.clear()
        scene.got.clear()
        assert await scene.admin.reset_queue_offset(GROUP, QUEUES[0], 2) == 2
        await scene.join(name="m2")
        await scene.until(lambda: len(scene.got) == 2)
        assert scene.got == [b"2", b"3"]

    play(story, broker={"server_side_reset": server_side})


@BOTH_WAYS
def test_by_time_to_the_end_and_back_only_for_an_offline_group(server_side):
    async def story(scene):
        member = await scene.join()
        await scene.send(b"0")
        await scene.until(lambda: scene.got)
        await scene.end(member.stop())
        scene.members.clear()
        await scene.clock.aadvance(10)
        middle = scene.clock.now_ms()
        await scene.send(b"1", b"2")
        admin = scene.admin
        assert (await admin.reset_offsets(GROUP, "orders", middle))[QUEUES[0]] == 1
        assert (await admin.skip_messages(GROUP, "orders"))[QUEUES[0]] == 3
        assert (await admin.reset_offsets(GROUP, "orders", middle, force=False))[QUEUES[0]] == 1
        assert (await admin.reset_offsets(GROUP, "orders", -1, force=False))[QUEUES[0]] == 1
        assert await admin.lag(GROUP, "orders") == 2

    play(story, broker={"server_side_reset": server_side})


def test_a_group_gets_the_offsets_of_another():
    async def story(scene):
        await scene.join()
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(6)
        await scene.admin.clone_offsets(GROUP, "audit", "orders")
        stats = await scene.admin.consume_stats("audit", "orders")
        assert stats[QUEUES[0]].consumer_offset == 2
        assert await scene.admin.correction_offsets("orders", "audit", [GROUP]) == {QUEUES[0]: 2}
        with pytest.raises(AnswerError, match="nobody has no offsets"):
            await scene.admin.clone_offsets("nobody", "audit")

    play(story)


@pytest.mark.parametrize(
    ("group", "queue", "offset"),
    [
        ("absent", QUEUES[0], 0),
        (GROUP, QUEUES[0], 99),
        (GROUP, QUEUES[0], -5),
        (GROUP, MessageQueue("orders", "nowhere", 0), 0),
        (GROUP, MessageQueue("orders", "broker-a", 7), 0),
        (GROUP, MessageQueue("absent", "broker-a", 0), 0),
    ],
)
def test_resets_that_cannot_be(group, queue, offset):
    async def story(scene):
        await scene.join()
        with pytest.raises((AnswerError, FixError, RouteError)):
            await scene.admin.reset_queue_offset(group, queue, offset)

    play(story)


def test_a_member_tells_what_it_does():
    async def story(scene):
        member = await scene.join(settings=ConsumerSettings(consume_threads=7))
        await scene.send(b"0", b"1", b"2")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(12)
        info = await scene.admin.running_info(GROUP, member.client_id)
        assert [queue for queue in info.queues if queue.topic == "orders"] == member.queues == QUEUES
        held = info.queues[QUEUES[0]]
        assert (held.commit_offset, held.cached_msg_count, held.dropped, held.locked) == (3, 0, False, False)
        now = scene.clock.now_ms()
        assert now - 30_000 < held.last_pull_timestamp <= now
        assert now - 14_000 < held.last_consume_timestamp < now - 11_000
        status = info.status_table["orders"]
        assert status.consume_ok_tps > 0
        assert (status.consume_failed_tps, status.consume_failed_msgs) == (0.0, 0)
        assert status.pull_tps == status.consume_ok_tps
        properties = info.properties
        assert properties["PROP_CONSUMEORDERLY"] == "false"
        assert properties["PROP_THREADPOOL_CORE_SIZE"] == "7"
        assert properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
        assert properties["PROP_CLIENT_VERSION"] == "V5_3_3"
        assert properties["PROP_NAMESERVER_ADDR"] == f"{scene.cluster.nameserver};"
        assert int(properties["PROP_CONSUMER_START_TIMESTAMP"]) == 1_700_000_000_000
        assert {"orders", "%RETRY%billing"} == {each.topic for each in info.subscription_set}
        assert info.jstack is None
        stacks = (await scene.admin.running_info(GROUP, member.client_id, stacks=True)).jstack or ""
        assert "MainThread" in stacks
        assert "TID: " in stacks

    play(story)


def test_what_a_slow_listener_holds_is_shown():
    async def story(scene):
        gate = asyncio.Event()

        async def stuck(messages, context):
            await gate.wait()
            return ConsumeResult.SUCCESS

        member = await scene.join(stuck)
        await scene.send(b"0", b"1", b"2")
        await scene.clock.aadvance(1)
        held = (await scene.admin.running_info(GROUP, member.client_id)).queues[QUEUES[0]]
        assert (held.cached_msg_count, held.cached_msg_min_offset, held.cached_msg_max_offset) == (3, 0, 2)
        gate.set()
        await scene.clock.aadvance(1)
        held = (await scene.admin.running_info(GROUP, member.client_id)).queues[QUEUES[0]]
        assert (held.cached_msg_count, held.commit_offset) == (0, 3)

    play(story)


def test_failures_are_counted():
    async def story(scene):
        async def fail(messages, context):
            scene.got += [message.body for message in messages]
            raise ValueError("no")

        member = await scene.join(fail)
        await scene.send(b"0")
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(0.5)
        status = (await scene.admin.running_info(GROUP, member.client_id)).status_table["orders"]
        assert (status.consume_ok_tps, status.consume_failed_msgs) == (0.0, 1)

    play(story)


def test_who_is_not_there_cannot_tell():
    async def story(scene):
        await scene.join()
        with pytest.raises(AnswerError, match="nobody of consumer group billing is not online"):
            await scene.admin.running_info(GROUP, "nobody")

    play(story)


def test_members_tell_the_offsets_that_they_remember():
    async def story(scene):
        member = await scene.join()
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(0.2)
        found = await scene.admin.remembered_offsets(GROUP, "orders")
        assert found[member.client_id][QUEUES[0]] == 2
        assert await scene.admin.remembered_offsets(GROUP, "orders", "nobody") == {}

    play(story)


def result_of(name):
    def listener(messages, context):
        assert messages[0].body == b"0"
        if name == "raise":
            raise ValueError("no stock")
        return {"ok": ConsumeResult.SUCCESS, "later": ConsumeResult.RECONSUME_LATER}.get(name)

    async def async_listener(messages, context):
        await asyncio.sleep(0)
        return listener(messages, context)

    return listener, async_listener


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("ok", DirectOutcome.SUCCESS),
        ("later", DirectOutcome.LATER),
        ("none", DirectOutcome.RETURN_NULL),
        ("raise", DirectOutcome.THROW_EXCEPTION),
    ],
)
@pytest.mark.parametrize("kind", [0, 1], ids=["thread", "async"])
def test_a_message_is_consumed_at_an_operators_will(name, outcome, kind):
    async def story(scene):
        (sent,) = await scene.send(b"0")
        await scene.admin.create_group(GROUP)
        await scene.join(result_of(name)[kind], consume_from="last")
        await scene.admin.skip_messages(GROUP, "orders")
        await scene.clock.aadvance(1)
        before = await scene.admin.consume_stats(GROUP, "orders")
        found = await scene.end(scene.admin.consume_directly(GROUP, sent.offset_message_id))
        assert (found.consume_result, found.order) == (outcome, False)
        assert (found.remark or "") == ("ValueError: no stock" if name == "raise" else "")
        assert (await scene.admin.consume_stats(GROUP, "orders")) == before

    play(story)


def test_a_slow_plain_listener_does_not_hold_the_loop_up():
    async def story(scene):
        gate = threading.Event()

        def stuck(messages, context):
            assert gate.wait(10)
            return ConsumeResult.SUCCESS

        (sent,) = await scene.send(b"0")
        member = await scene.join(stuck, consume_from="last")
        asked = asyncio.ensure_future(scene.admin.consume_directly(GROUP, sent.offset_message_id))
        await scene.clock.aadvance(0.5)
        assert not asked.done()
        assert (await scene.admin.running_info(GROUP, member.client_id)).queues
        gate.set()
        assert (await scene.end(asked)).consume_result is DirectOutcome.SUCCESS

    play(story)


def test_what_cannot_be_consumed_at_an_operators_will():
    async def story(scene):
        member = await scene.join()
        await scene.cluster.create_topic("others", 1)
        other = await scene.producer.send(Message("others", b"x"))
        with pytest.raises(AnswerError, match="no listener for topic others"):
            await scene.admin.consume_directly(GROUP, other.offset_message_id)
        with pytest.raises(FixError, match="nobody of consumer group empty"):
            await scene.admin.consume_directly("empty", other.offset_message_id)
        with pytest.raises(FixError):
            await scene.admin.consume_directly(GROUP, "no id", client_id=member.client_id)

    play(story)


@BOTH_WAYS
def test_all_members_of_a_broadcasting_group_are_reset(server_side, tmp_path):
    async def story(scene):
        for name in ("m1", "m2"):
            settings = ConsumerSettings(offset_directory=tmp_path / name)
            await scene.join(name=name, broadcasting=True, settings=settings)
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 4)
        assert await scene.admin.reset_queue_offset(GROUP, QUEUES[0], 1) == 1
        await scene.until(lambda: len(scene.got) == 6)
        assert scene.got[4:] == [b"1", b"1"]
        await scene.clock.aadvance(6)
        found = await scene.admin.remembered_offsets(GROUP, "orders")
        assert [offsets[QUEUES[0]] for offsets in found.values()] == [2, 2]

    play(story, broker={"server_side_reset": server_side})


def test_ordered_members_are_reset_and_say_that_they_are_ordered():
    async def story(scene):
        member = await scene.join(ordered=True)
        await scene.send(b"0", b"1", b"2")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(6)
        info = await scene.admin.running_info(GROUP, member.client_id)
        assert info.properties["PROP_CONSUMEORDERLY"] == "true"
        held = info.queues[QUEUES[0]]
        assert (held.locked, held.commit_offset) == (True, 3)
        assert 0 <= scene.clock.now_ms() - held.last_lock_timestamp < 60_000
        assert info.status_table["orders"].consume_ok_tps > 0
        await scene.admin.reset_queue_offset(GROUP, QUEUES[0], 1)
        await scene.until(lambda: len(scene.got) == 5)
        assert scene.got == [b"0", b"1", b"2", b"1", b"2"]

    play(story)
