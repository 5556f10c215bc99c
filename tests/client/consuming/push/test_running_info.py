"""What operators see of a push consumer, and the messages that they have consumed directly."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from client.consuming.members import Runtime, push_plan
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock
from operators import GROUP, OperatorScene

from mqframe import ConsumeResult, Message
from mqframe.client.consuming.push.answering.expired_requests import ExpiredRequests
from mqframe.client.consuming.push.running_info import DIRECT_CALLS_MAX, PushInfo
from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.consuming.queue_locks import LockLease
from mqframe.core.consuming.running_info import DirectOutcome, ProcessQueueInfo
from mqframe.core.errors import AnswerError, FixError, Refusal
from mqframe.core.messages.message import MessageQueue

QUEUE = MessageQueue("orders", "broker-a", 0)


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
async def test_a_message_is_consumed_at_an_operators_will(name, outcome, kind):
    async with OperatorScene() as scene:
        (sent,) = await scene.send(b"0")
        await scene.admin.groups.create(GROUP)
        await scene.join(result_of(name)[kind], consume_from="last")
        await scene.admin.offsets.skip(GROUP, "orders")
        await scene.clock.aadvance(1)
        before = await scene.admin.groups.stats(GROUP, "orders")
        found = await scene.finish(scene.admin.members.consume_directly(GROUP, sent.offset_message_id))
        assert (found.consume_result, found.order) == (outcome, False)
        remarks = {
            "raise": "ValueError: no stock",
            "none": "returned None; return ConsumeResult.SUCCESS, or take one message",
        }
        assert (found.remark or "").endswith(remarks.get(name, ""))
        assert bool(found.remark) is (name in remarks)
        assert (await scene.admin.groups.stats(GROUP, "orders")) == before


async def test_a_slow_plain_listener_does_not_hold_the_loop_up():
    async with OperatorScene() as scene:
        gate = threading.Event()

        def stuck(messages, context):
            assert gate.wait(120)
            return ConsumeResult.SUCCESS

        (sent,) = await scene.send(b"0")
        member = await scene.join(stuck, consume_from="last")
        asked = asyncio.ensure_future(scene.admin.members.consume_directly(GROUP, sent.offset_message_id))
        await scene.clock.aadvance(0.5)
        assert not asked.done()
        assert (await scene.admin.members.running_info(GROUP, member.client_id)).queues
        gate.set()
        assert (await scene.finish(asked)).consume_result is DirectOutcome.SUCCESS


async def test_what_cannot_be_consumed_at_an_operators_will():
    async with OperatorScene() as scene:
        member = await scene.join()
        await scene.cluster.create_topic("others", 1)
        other = await scene.producer.send(Message("others", b"x"))
        with pytest.raises(AnswerError, match="no listener for topic others"):
            await scene.admin.members.consume_directly(GROUP, other.offset_message_id)
        with pytest.raises(FixError, match="nobody of consumer group empty"):
            await scene.admin.members.consume_directly("empty", other.offset_message_id)
        with pytest.raises(FixError):
            await scene.admin.members.consume_directly(GROUP, "no id", client_id=member.client_id)


def info_of(clock: ManualClock, *listeners: Any, lease: LockLease | None = None, **plan: Any) -> PushInfo:
    """Of a consumer in this process; `lease`: of the lock of each of its queues."""
    statistics = ConsumerStatistics(clock)
    statistics.pulled("orders", 6, 0.5)
    runtime: Any = Runtime()
    locks: Any = None if lease is None else SimpleNamespace(lease=lambda queue: lease)
    expired = ExpiredRequests("billing", clock.monotonic, clock.now_ms)
    expired.note([received(0), received(1)])
    return PushInfo(push_plan(clock, *listeners, **plan), runtime, statistics, expired, locks)


class TestShown:
    def test_strategy_order_and_threads(self) -> None:
        found = info_of(ManualClock(), ordered=True, consume_threads=3).properties()
        assert found == {
            "allocateMessageQueueStrategy": "ALL",
            "PROP_CONSUMEORDERLY": "true",
            "PROP_THREADPOOL_CORE_SIZE": "3",
            "MQFRAME_EXPIRED_REQUESTS": "2",
        }

    def test_rates_of_each_subscribed_topic(self) -> None:
        [(topic, rates)] = info_of(ManualClock()).status().items()
        assert (topic, rates.pull_rt) == ("orders", 500.0)

    def test_a_lock_is_shown_with_the_time_of_its_grant_also_when_it_is_over(self) -> None:
        clock, lease = ManualClock(), LockLease()
        source, found = info_of(clock, lease=lease), ProcessQueueInfo()
        source.add_lock(QUEUE, found)
        assert (found.locked, found.last_lock_timestamp) == (False, 0)
        clock.advance(5)
        lease.granted(clock.monotonic())
        granted = clock.now_ms()
        for seconds, locked in ((10, True), (30, False)):
            clock.advance(seconds)
            source.add_lock(QUEUE, found)
            assert (found.locked, found.last_lock_timestamp) == (locked, granted)

    def test_without_locks_there_is_nothing_to_show(self) -> None:
        found = ProcessQueueInfo()
        info_of(ManualClock()).add_lock(QUEUE, found)
        assert found == ProcessQueueInfo()


class TestDirectCalls:
    async def test_a_message_that_came_back_is_shown_under_its_own_topic(self) -> None:
        seen = []

        async def listener(messages: Any, context: Any) -> ConsumeResult:
            seen.extend((message.topic, message.body) for message in messages)
            clock.advance(0.25)
            return ConsumeResult.SUCCESS

        clock = ManualClock()
        message = received(3, b"again", topic="%RETRY%g", RETRY_TOPIC="orders")
        found = await info_of(clock, listener, ordered=True).consume_directly(message)
        assert seen == [("orders", b"again")]
        assert (found.consume_result, found.order) == (DirectOutcome.SUCCESS, True)
        assert found.spent_time_mills == 250

    async def test_so_many_at_once_and_again_when_one_has_ended(self) -> None:
        gate, begun = asyncio.Event(), []

        async def listener(messages: Any, context: Any) -> ConsumeResult:
            begun.append(messages[0].queue_offset)
            await gate.wait()
            raise ValueError("no stock")

        source = info_of(ManualClock(), listener)
        calls = [asyncio.ensure_future(source.consume_directly(received(n))) for n in range(DIRECT_CALLS_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="8 messages are consumed directly already") as caught:
            await source.consume_directly(received(99))
        assert caught.value.code == 2
        gate.set()
        assert {each.consume_result for each in await asyncio.gather(*calls)} == {
            DirectOutcome.THROW_EXCEPTION
        }
        await source.consume_directly(received(100))
        assert begun == [*range(DIRECT_CALLS_MAX), 100]
