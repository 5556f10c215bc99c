"""Operators look into members that run, on a manual clock."""

from __future__ import annotations

import asyncio

import pytest
from operators import GROUP, QUEUES, OperatorScene
from real_time import until

from mqframe import ConsumeResult, ConsumerSettings, Message
from mqframe.core.errors import AnswerError


async def test_a_member_tells_what_it_does():
    async with OperatorScene() as scene:
        member = await scene.join(settings=ConsumerSettings(consume_threads=7))
        await scene.send(b"0", b"1", b"2")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(12)
        info = await scene.admin.members.running_info(GROUP, member.client_id)
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
        stacks = (await scene.admin.members.running_info(GROUP, member.client_id, stacks=True)).jstack or ""
        assert "MainThread" in stacks
        assert "TID: " in stacks


async def test_what_a_slow_listener_holds_is_shown():
    async with OperatorScene() as scene:
        gate = asyncio.Event()

        async def stuck(messages, context):
            await gate.wait()
            return ConsumeResult.SUCCESS

        member = await scene.join(stuck)
        await scene.send(b"0", b"1", b"2")
        await scene.clock.aadvance(1)
        held = (await scene.admin.members.running_info(GROUP, member.client_id)).queues[QUEUES[0]]
        assert (held.cached_msg_count, held.cached_msg_min_offset, held.cached_msg_max_offset) == (3, 0, 2)
        gate.set()
        await scene.clock.aadvance(1)
        held = (await scene.admin.members.running_info(GROUP, member.client_id)).queues[QUEUES[0]]
        assert (held.cached_msg_count, held.commit_offset) == (0, 3)


async def test_failures_are_counted():
    async with OperatorScene() as scene:

        async def fail(messages, context):
            scene.got += [message.body for message in messages]
            raise ValueError("no")

        member = await scene.join(fail)
        await scene.send(b"0")
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(0.5)
        status = (await scene.admin.members.running_info(GROUP, member.client_id)).status_table["orders"]
        assert (status.consume_ok_tps, status.consume_failed_msgs) == (0.0, 1)


async def test_who_is_not_there_cannot_tell():
    async with OperatorScene() as scene:
        await scene.join()
        with pytest.raises(AnswerError, match="nobody of consumer group billing is not online"):
            await scene.admin.members.running_info(GROUP, "nobody")


async def test_members_tell_the_offsets_that_they_remember():
    async with OperatorScene() as scene:
        member = await scene.join()
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(0.2)
        found = await scene.admin.members.remembered_offsets(GROUP, "orders")
        assert found[member.client_id][QUEUES[0]] == 2
        assert await scene.admin.members.remembered_offsets(GROUP, "orders", "nobody") == {}


def test_members_of_a_producer_group(admin, producer):
    admin.topics.create("members")
    producer.send(Message("members", b"x"))
    # Its heartbeat goes beside the message, and may come later.
    until(lambda: admin.members.producers("shop").connection_set)
    (member,) = admin.members.producers("shop").connection_set
    assert (member.client_id, member.language, member.version) == (producer.client_id, "PYTHON", 479)
    assert admin.members.producers("nobody").connection_set == []
