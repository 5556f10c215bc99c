"""Operators move the offsets of groups that run and of groups that do not, on a manual clock."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import old_broker
import pytest
from old_broker import administered
from operators import GROUP, QUEUES, OperatorScene

from mqframe import (
    ConsumeResult,
    Message,
    MessageQueue,
)
from mqframe.core.errors import AnswerError, FixError, RouteError
from mqframe.core.requests.admin import InvokeBrokerToResetOffset
from mqframe.core.requests.consumers import UpdateConsumerOffset

BOTH_WAYS = pytest.mark.parametrize("server_side", [True, False])


def test_offsets_of_a_queue_and_of_a_group(admin, producer):
    admin.topics.create("offsets", queues=1, broker="broker-a")
    admin.groups.create("reading")
    queue = MessageQueue("offsets", "broker-a", 0)
    results = [producer.send(Message("offsets", b"%d" % n), queue=queue) for n in range(5)]
    assert (admin.offsets.min(queue), admin.offsets.max(queue)) == (0, 5)
    stored = [admin.messages.by_id(result.offset_message_id).store_timestamp for result in results]
    assert admin.offsets.earliest_store_time(queue) == stored[0]
    assert admin.offsets.search(queue, stored[0] - 1) == 0
    assert admin.offsets.search(queue, stored[-1] + 1000) in (4, 5)
    assert admin.groups.lag("reading", "offsets") == 5 or admin.groups.stats("reading") == {}
    assert admin.offsets.reset("reading", "offsets") == {queue: 5}
    with pytest.raises(FixError, match="no broker of that name"):
        admin.offsets.max(MessageQueue("offsets", "broker-z", 0))


@BOTH_WAYS
async def test_a_member_that_runs_goes_on_at_the_reset_offset_at_once(server_side):
    async with OperatorScene(broker={"server_side_reset": server_side}) as scene:
        await scene.join()
        await scene.send(b"0", b"1", b"2")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(6)  # committed; the next pull waits at the broker
        offsets = await scene.admin.offsets.reset(GROUP, "orders", 0)
        assert offsets == {QUEUES[0]: 0, QUEUES[1]: 0}
        before = scene.clock.monotonic()
        await scene.until(lambda: len(scene.got) == 6)
        assert scene.got == [b"0", b"1", b"2"] * 2
        assert scene.clock.monotonic() - before < 1.0
        await scene.clock.aadvance(11)
        stats = await scene.admin.groups.stats(GROUP, "orders")
        assert stats[QUEUES[0]].consumer_offset == 3


@BOTH_WAYS
async def test_what_was_taken_before_a_reset_is_not_committed(server_side):
    async with OperatorScene(broker={"server_side_reset": server_side}) as scene:
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
        await scene.admin.offsets.reset(GROUP, "orders", 0)
        await scene.until(lambda: len(scene.got) == 6)
        gate.set()
        await scene.clock.aadvance(11)
        stats = await scene.admin.groups.stats(GROUP, "orders")
        assert (stats[QUEUES[0]].consumer_offset, scene.got[3:]) == (3, [b"0", b"1", b"2"])


@BOTH_WAYS
async def test_a_group_that_is_offline_begins_at_the_reset_offset(server_side):
    async with OperatorScene(broker={"server_side_reset": server_side}) as scene:
        member = await scene.join()
        await scene.send(b"0", b"1", b"2", b"3")
        await scene.until(lambda: len(scene.got) == 4)
        await scene.close(member)
        scene.got.clear()
        assert await scene.admin.offsets.reset_queue(GROUP, QUEUES[0], 2) == 2
        await scene.join(name="m2")
        await scene.until(lambda: len(scene.got) == 2)
        assert scene.got == [b"2", b"3"]


@BOTH_WAYS
async def test_by_time_to_the_end_and_back_only_for_an_offline_group(server_side):
    async with OperatorScene(broker={"server_side_reset": server_side}) as scene:
        member = await scene.join()
        await scene.send(b"0")
        await scene.until(lambda: scene.got)
        await scene.close(member)
        await scene.clock.aadvance(10)
        middle = scene.clock.now_ms()
        await scene.send(b"1", b"2")
        admin = scene.admin
        assert (await admin.offsets.reset(GROUP, "orders", middle))[QUEUES[0]] == 1
        assert (await admin.offsets.skip(GROUP, "orders"))[QUEUES[0]] == 3
        assert (await admin.offsets.reset(GROUP, "orders", middle, force=False))[QUEUES[0]] == 1
        assert (await admin.offsets.reset(GROUP, "orders", -1, force=False))[QUEUES[0]] == 1
        assert await admin.groups.lag(GROUP, "orders") == 2


async def test_a_group_gets_the_offsets_of_another():
    async with OperatorScene() as scene:
        await scene.join()
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(6)
        await scene.admin.offsets.clone(GROUP, "audit", "orders")
        stats = await scene.admin.groups.stats("audit", "orders")
        assert stats[QUEUES[0]].consumer_offset == 2
        assert await scene.admin.offsets.correction("orders", "audit", [GROUP]) == {QUEUES[0]: 2}
        with pytest.raises(AnswerError, match="nobody has no offsets"):
            await scene.admin.offsets.clone("nobody", "audit")


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
async def test_resets_that_cannot_be(group, queue, offset):
    async with OperatorScene() as scene:
        await scene.join()
        with pytest.raises((AnswerError, FixError, RouteError)):
            await scene.admin.offsets.reset_queue(group, queue, offset)


@pytest.mark.parametrize(
    ("moment", "fault"),
    [(datetime(2023, 11, 14), "without a time zone"), (1_700_000_000, "not seconds")],
)
async def test_no_call_takes_a_moment_that_means_another_one(moment, fault):
    async with OperatorScene() as scene:
        admin = scene.admin
        for call in (
            lambda: admin.offsets.reset(GROUP, "orders", moment),
            lambda: admin.offsets.search(QUEUES[0], moment),
            lambda: admin.messages.query("orders", "k", begin_ms=moment),
            lambda: admin.messages.query("orders", "k", end_ms=moment),
            lambda: admin.dead_letters.list(GROUP, begin_ms=moment),
            lambda: admin.dead_letters.list(GROUP, end_ms=moment),
        ):
            with pytest.raises(FixError, match=fault):
                await call()


async def test_a_datetime_with_its_zone_is_a_moment():
    async with OperatorScene() as scene:
        await scene.join()
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(6)
        assert await scene.admin.offsets.search(QUEUES[0], datetime(2001, 1, 1, tzinfo=UTC)) == 0
        offsets = await scene.admin.offsets.reset(GROUP, "orders", datetime(2001, 1, 1, tzinfo=UTC))
        assert set(offsets.values()) == {0}


OLD_QUEUE = MessageQueue(old_broker.TOPIC, "broker-a", 1)
BEFORE_ONE_QUEUE = pytest.mark.parametrize("version", ["4.9.7", "5.0.0", "5.1.4"])


@BEFORE_ONE_QUEUE
async def test_one_queue_of_a_group_that_is_offline_is_committed_where_a_broker_would_reset_them_all(version):
    async with administered(version) as (admin, broker):
        assert await admin.offsets.reset_queue(old_broker.GROUP, OLD_QUEUE, 1) == 1
    assert broker.progress == [3, 1, 3]
    assert broker.sent(InvokeBrokerToResetOffset) == []


@BEFORE_ONE_QUEUE
async def test_one_queue_of_a_group_with_members_is_not_reset_where_a_broker_would_reset_them_all(version):
    async with administered(version) as (admin, broker):
        broker.online = True
        with pytest.raises(
            FixError, match=rf"from Apache RocketMQ 5\.2\.0 on, .* is {version}: stop the members"
        ):
            await admin.offsets.reset_queue(old_broker.GROUP, OLD_QUEUE, 1)
    assert (broker.progress, broker.told) == ([3, 3, 3], {})
    assert broker.sent(InvokeBrokerToResetOffset) == broker.sent(UpdateConsumerOffset) == []


async def test_a_broker_whose_settings_have_it_pass_over_the_queue_resets_nothing():
    async with administered("5.3.3") as (admin, broker):
        broker.online = True
        with pytest.raises(FixError, match="set useServerSideResetOffset=true there"):
            await admin.offsets.reset_queue(old_broker.GROUP, OLD_QUEUE, 1)
        assert broker.told == {0: 3, 1: 3, 2: 3}, "members go on from where they are"
        broker.online = False
        assert await admin.offsets.reset_queue(old_broker.GROUP, OLD_QUEUE, 4) == 4
    assert broker.progress == [3, 4, 3]


@pytest.mark.parametrize(
    ("group", "queue", "offset", "fault"),
    [
        ("absent", OLD_QUEUE, 1, "does not know consumer group absent"),
        (old_broker.GROUP, OLD_QUEUE, 6, "offset 6 of .* is not within 0..5"),
        (old_broker.GROUP, MessageQueue(old_broker.TOPIC, "broker-a", 3), 1, "no such queue"),
    ],
)
async def test_nothing_is_committed_that_a_newer_broker_would_refuse(group, queue, offset, fault):
    async with administered("4.9.7") as (admin, broker):
        with pytest.raises(FixError, match=fault):
            await admin.offsets.reset_queue(group, queue, offset)
    assert broker.sent(UpdateConsumerOffset) == []


@pytest.mark.parametrize("pushing", [False, True])
async def test_without_force_no_queue_moves_forward_where_a_broker_does_not_look_at_it(pushing):
    async with administered("5.3.3") as (admin, broker):
        broker.online = True
        broker.keeps_resets = not pushing
        broker.offsets[old_broker.GROUP, broker.queue(old_broker.TOPIC, 1)] = 0
        found = await admin.offsets.reset(old_broker.GROUP, old_broker.TOPIC, -1, force=False)
        assert list(found.values()) == [3, 0, 3]
        assert broker.progress == [3, 0, 3]
        found = await admin.offsets.reset(old_broker.GROUP, old_broker.TOPIC, 0, force=False)
        assert list(found.values()) == [0, 0, 0]
    assert broker.told == ({0: 0, 1: 0, 2: 0} if pushing else {})
    assert broker.progress == ([3, 0, 3] if pushing else [0, 0, 0])


async def test_without_force_a_queue_without_any_offset_goes_where_it_is_sent():
    async with administered("5.3.3") as (admin, broker):
        broker.online = broker.keeps_resets = True
        del broker.offsets[old_broker.GROUP, broker.queue(old_broker.TOPIC, 1)]
        found = await admin.offsets.reset(old_broker.GROUP, old_broker.TOPIC, -1, force=False)
        assert list(found.values()) == [3, 5, 3]
    assert broker.progress == [3, 5, 3]
