"""Ordered consumption over a scripted broker, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
import threading
import zlib
from contextlib import asynccontextmanager

import attrs
import pytest
from mqframe_testing.consuming import AllQueues, ClientScene, CollectingListener
from mqframe_testing.simulation.pools import work_at_once

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.core.codes import SysFlag
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import CallTimeout, ConnectionLost, answer_error
from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.consumers import (
    LockBatchMq,
    QueryConsumerOffset,
    UnlockBatchMq,
    UpdateConsumerOffset,
)
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.hooks.interfaces import ConsumeHook

GROUP = "billing"
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER
SUSPEND = ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT


class Scene(ClientScene):
    def __init__(self, topics, options) -> None:
        super().__init__({**topics, f"%RETRY%{GROUP}": 1})
        options = {"allocate": AllQueues(), "consume_from": "first", "ordered": True, **options}
        self.consumer = AsyncPushConsumer(GROUP, instance=self.instance, clock=self.clock, **options)

    async def consume(self, listener, topic="orders", **options) -> None:
        self.consumer.subscribe(topic, "*", listener, **options)
        await self.consumer.start()
        await self.pass_time()

    @property
    def queues(self) -> list[int]:
        return [queue.queue_id for queue in self.consumer.queues if queue.topic == "orders"]

    @property
    def pulls(self) -> list[int]:
        return [p.queue_offset for p in self.broker.sent(PullMessage) if p.topic == "orders"]

    def stored(self, queue_id: int = 0) -> int | None:
        return super().stored(GROUP, queue_id)

    def owner(self, queue_id: int = 0) -> str | None:
        return self.broker.locks.get((GROUP, self.broker.queue("orders", queue_id)))

    def give_lock_to(self, owner: str, queue_id: int = 0) -> None:
        self.broker.locks[GROUP, self.broker.queue("orders", queue_id)] = owner

    def free_lock(self, queue_id: int = 0) -> None:
        del self.broker.locks[GROUP, self.broker.queue("orders", queue_id)]


@asynccontextmanager
async def staged(*, topics=None, **options):
    async with Scene(topics or {"orders": 1}, options) as scene:
        try:
            yield scene
        finally:
            await scene.finish(scene.consumer.stop())


class TestLocks:
    async def test_queue_is_locked_before_it_is_pulled_and_unlocked_at_the_end(self) -> None:
        async with staged() as scene:
            scene.broker.put("orders", 0, b"a")
            await scene.consume(CollectingListener())
            kinds = [type(r) for r in scene.broker.requests]
            assert kinds.index(LockBatchMq) < kinds.index(PullMessage)
            assert scene.owner() == scene.consumer.client_id
            await scene.finish(scene.consumer.stop())
            assert scene.owner() is None
            kinds = [type(r) for r in scene.broker.requests]
            last_commit = len(kinds) - 1 - kinds[::-1].index(UpdateConsumerOffset)
            assert last_commit < kinds.index(UnlockBatchMq)
            assert scene.stored() == 1

    async def test_nothing_is_pulled_while_another_member_has_the_lock(self) -> None:
        async with staged() as scene:
            scene.broker.put("orders", 0, b"a")
            scene.give_lock_to("somebody")
            listener = CollectingListener()
            await scene.consume(listener)
            await scene.pass_time(1.0)
            told = len(scene.broker.heartbeats)
            await scene.pass_time(5.0)
            assert (scene.queues, scene.pulls) == ([], [])
            assert len(scene.broker.heartbeats) == told
            scene.free_lock()
            await scene.pass_time(0.5)
            assert listener.offsets() == [0]

    async def test_offset_is_asked_for_after_the_lock(self) -> None:
        """The member before may still commit until it gives the lock back."""

        async with staged() as scene:
            scene.broker.put("orders", 0, b"a", b"b", b"c")
            scene.give_lock_to("somebody")
            listener = CollectingListener()
            await scene.consume(listener)
            scene.broker.offsets[GROUP, scene.broker.queue("orders", 0)] = 2
            scene.free_lock()
            await scene.pass_time(0.5)
            assert listener.offsets() == [2]

    @pytest.mark.parametrize("asked", [LockBatchMq, QueryConsumerOffset])
    async def test_who_leaves_while_a_queue_is_taken_gives_its_lock_back(self, asked) -> None:
        """The broker may have given it before its answer, or that about the offset, is there."""
        async with staged() as scene:
            first, locks, there = (GROUP, scene.broker.queue(f"%RETRY%{GROUP}", 0)), scene.broker.locks, []

            async def no_answer(request):
                if asked is LockBatchMq:
                    locks[first] = scene.instance.client_id
                there.extend(locks)
                await asyncio.Event().wait()

            scene.broker.script(asked, no_answer)
            await scene.consume(CollectingListener())
            await scene.finish(scene.consumer.stop())
            assert (there, locks) == ([first], {})

    async def test_locks_are_renewed_every_twenty_seconds(self) -> None:
        async with staged() as scene:
            await scene.consume(CollectingListener())
            locked = len(scene.broker.sent(LockBatchMq))
            await scene.pass_time(61.0)
            assert len(scene.broker.sent(LockBatchMq)) == locked + 3

    async def test_expired_lease_stops_consumption_until_it_is_renewed(self) -> None:
        async with staged() as scene:
            listener = CollectingListener()
            await scene.consume(listener)
            scene.broker.script(LockBatchMq, *[CallTimeout("late")] * 2)
            await scene.pass_time(31.0)
            scene.broker.put("orders", 0, b"a")
            await scene.pass_time(0.05)
            assert listener.places == []
            await scene.pass_time(3.5)
            assert listener.offsets() == [0]
            assert scene.owner() == scene.consumer.client_id

    async def test_queue_that_another_member_has_is_given_up_without_a_commit(self) -> None:
        async with staged() as scene:
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(OK, hang, OK)
            await scene.consume(listener)
            scene.give_lock_to("somebody")
            await scene.pass_time(20.0)
            assert scene.queues == []
            before = scene.stored()
            scene.broker.offsets[GROUP, scene.broker.queue("orders", 0)] = 2
            gate.set()
            await scene.pass_time(30.0)
            assert (before, scene.stored()) == (1, 2)
            scene.free_lock()
            scene.broker.put("orders", 0, b"c")
            await scene.pass_time(1.0)
            assert listener.offsets() == [0, 1, 2]

    async def test_broken_connection_stops_the_queue_until_the_broker_confirms_the_lock(self) -> None:
        async with staged() as scene:
            gate = asyncio.Event()

            async def wait(messages, context):
                await gate.wait()
                return OK

            listener = CollectingListener(wait, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            await scene.consume(listener)
            scene.broker.script(PullMessage, ConnectionLost("gone"))
            scene.broker.script(LockBatchMq, ConnectionLost("gone"))
            scene.broker.put("orders", 0, b"c")
            await scene.pass_time()
            gate.set()
            await scene.pass_time(2.0)
            assert listener.offsets() == [0]
            await scene.pass_time(3.0)
            assert listener.offsets() == [0, 1, 2]

    async def test_broker_that_does_not_know_the_member_is_told_at_once(self) -> None:
        async with staged() as scene:
            await scene.consume(CollectingListener())
            await scene.pass_time(19.0)
            told = len(scene.broker.heartbeats)
            scene.broker.script(LockBatchMq, answer_error(206, "no member", scene.broker.address))
            await scene.pass_time(1.5)
            assert len(scene.broker.heartbeats) == told + 1
            assert scene.queues == [0]

    async def test_dropped_queue_keeps_its_lock_until_the_listener_ends(self) -> None:
        async with staged() as scene:
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(hang)
            await scene.consume(listener)
            me = scene.consumer.client_id
            scene.consumer.subscribe("others", "*", listener)
            scene.consumer.unsubscribe("orders")
            await scene.pass_time(40.0)
            assert (scene.queues, scene.owner()) == ([], me)
            scene.free_lock()
            await scene.pass_time(40.0)
            assert scene.owner() is None  # nobody renews it
            scene.give_lock_to(me)
            gate.set()
            await scene.pass_time()
            assert scene.owner() is None
            assert (listener.offsets(), scene.stored()) == ([0], None)

    async def test_queue_that_was_given_up_is_committed_and_unlocked_at_once(self) -> None:
        async with staged() as scene:
            scene.broker.put("orders", 0, b"a", b"b")
            await scene.consume(CollectingListener())
            scene.consumer.subscribe("others", "*", CollectingListener())
            scene.consumer.unsubscribe("orders")
            await scene.pass_time()
            assert (scene.owner(), scene.stored()) == (None, 2)
            kinds = [type(r) for r in scene.broker.requests]
            assert kinds.index(UpdateConsumerOffset) < kinds.index(UnlockBatchMq)

    async def test_thread_that_still_listens_keeps_the_lock(self) -> None:
        async with staged() as scene:
            release, entered = threading.Event(), threading.Event()

            def hang(messages, context):
                entered.set()
                release.wait(120)
                return OK

            scene.broker.put("orders", 0, b"a", b"b")
            await scene.consume(hang)
            await asyncio.to_thread(entered.wait, 20)
            me = scene.consumer.client_id
            scene.consumer.subscribe("others", "*", hang)
            scene.consumer.unsubscribe("orders")
            await scene.pass_time(10.0)
            assert (scene.queues, scene.owner()) == ([], me)
            release.set()
            for _ in range(24_000):
                if scene.owner() is None:
                    break
                await asyncio.sleep(0.005)
            assert (scene.owner(), scene.stored()) == (None, None)

    async def test_queue_that_comes_back_waits_for_the_listener_that_still_runs(self) -> None:
        async with staged() as scene:
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(hang, OK)
            await scene.consume(listener)
            scene.consumer.subscribe("others", "*", listener)
            scene.consumer.unsubscribe("orders")
            await scene.pass_time(1.0)
            scene.consumer.subscribe("orders", "*", listener)
            await scene.pass_time(10.0)
            assert listener.offsets() == [0]
            gate.set()
            await scene.pass_time(1.0)
            assert listener.offsets() == [0, 0, 1]
            assert listener.most == 1

    async def test_queue_that_begins_anew_waits_for_the_listener_that_still_runs(self) -> None:
        """Its offset did not exist any more; what was held of it is given up, its lock is kept."""

        async with staged(settings=ConsumerSettings(pull_messages_max=2)) as scene:
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(hang, OK)
            await scene.consume(listener)
            scene.broker.put("orders", 0, *[b"x"] * 8)
            scene.broker.cut("orders", 0, 8)
            await scene.pass_time(20.0)
            assert max(scene.pulls) > 8
            assert listener.offsets() == [0]
            gate.set()
            await scene.pass_time(0.2)
            assert listener.offsets() == [0, 8, 9]
            assert listener.most == 1
            await scene.pass_time(5.0)
            assert scene.stored() == 10

    async def test_stop_leaves_the_lock_of_a_listener_that_does_not_end(self) -> None:
        async with staged(settings=ConsumerSettings(stop_seconds=1.0)) as scene:

            def hang(messages, context):
                release.wait(120)

            release = threading.Event()
            scene.broker.put("orders", 0, b"a")
            await scene.consume(hang)
            me = scene.consumer.client_id
            for _ in range(200):
                await scene.pass_time()
            await scene.finish(scene.consumer.stop())
            release.set()
            while any(thread.name.startswith("mqframe-ordered-") for thread in threading.enumerate()):
                await asyncio.sleep(0)
            for _ in range(3):  # what the worker left for the loop to do
                await asyncio.sleep(0)
            assert scene.owner() == me

    async def test_stop_breaks_a_task_off_and_gives_its_lock_back(self) -> None:
        async with staged(settings=ConsumerSettings(stop_seconds=1.0)) as scene:

            async def hang(messages, context):
                await asyncio.Event().wait()

            scene.broker.put("orders", 0, b"a")
            await scene.consume(CollectingListener(hang))
            await scene.finish(scene.consumer.stop())
            assert scene.owner() is None
            assert scene.stored() in (None, 0)


class TestOrder:
    async def test_one_batch_of_a_queue_at_a_time_and_queues_beside_each_other(self) -> None:
        async with staged(topics={"orders": 2}) as scene:
            gates = [asyncio.Event(), asyncio.Event()]

            async def wait(messages, context):
                await gates[messages[0].queue_id].wait()
                return OK

            for queue_id in (0, 1):
                scene.broker.put("orders", queue_id, *[b"x"] * 5)
            listener = CollectingListener(wait)
            await scene.consume(listener, batch_max=2)
            assert sorted(map(tuple, listener.places)) == [((0, 0), (0, 1)), ((1, 0), (1, 1))]
            gates[1].set()
            await scene.pass_time()
            assert (listener.offsets(0), listener.offsets(1)) == ([0, 1], [0, 1, 2, 3, 4])
            gates[0].set()
            await scene.pass_time()
            assert listener.offsets(0) == [0, 1, 2, 3, 4]
            assert listener.most == 1
            assert [len(call) for call in listener.places] == [2, 2, 2, 1, 2, 1]

    async def test_what_comes_while_a_listener_runs_goes_into_the_next_batch(self) -> None:
        async with staged() as scene:
            gate = asyncio.Event()

            async def wait(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a")
            listener = CollectingListener(wait, OK)
            await scene.consume(listener, batch_max=8)
            for body in (b"b", b"c", b"d"):
                scene.broker.put("orders", 0, body)
                await scene.pass_time()
            gate.set()
            await scene.pass_time()
            assert listener.places == [[(0, 0)], [(0, 1), (0, 2), (0, 3)]]

    @pytest.mark.parametrize("answer", [SUSPEND, LATER, None, "yes", RuntimeError("no")])
    async def test_failure_retries_in_place_and_blocks_only_its_queue(self, answer) -> None:
        async with staged(topics={"orders": 2}) as scene:
            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(answer, OK)
            await scene.consume(listener)
            scene.broker.put("orders", 1, b"x")
            await scene.pass_time(0.9)
            assert (listener.offsets(0), listener.offsets(1)) == ([0], [0])
            await scene.pass_time(0.2)
            assert listener.offsets(0) == [0, 0, 1]
            assert listener.attempts == [0, 0, 1, 0]
            await scene.pass_time(5.0)
            assert (scene.stored(0), scene.stored(1)) == (2, 1)

    async def test_listener_says_for_how_long_the_queue_pauses(self) -> None:
        async with staged() as scene:

            async def suspend(messages, context):
                context.suspend_current_queue_time_millis = 10_000
                return SUSPEND

            scene.broker.put("orders", 0, b"a")
            listener = CollectingListener(suspend, OK)
            await scene.consume(listener)
            await scene.pass_time(9.9)
            assert listener.offsets() == [0]
            await scene.pass_time(0.2)
            assert listener.offsets() == [0, 0]

    async def test_failed_batch_begins_again_with_what_came_meanwhile(self) -> None:
        async with staged() as scene:
            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(SUSPEND, OK)
            await scene.consume(listener, batch_max=4)
            scene.broker.put("orders", 0, b"c")
            await scene.pass_time(1.0)
            assert listener.places == [[(0, 0), (0, 1)], [(0, 0), (0, 1), (0, 2)]]

    async def test_progress_of_what_was_consumed_before_a_failure_is_committed(self) -> None:
        async with staged() as scene:
            scene.broker.put("orders", 0, *[b"x"] * 4)
            await scene.consume(CollectingListener(OK, OK, SUSPEND))
            await scene.pass_time(6.0)
            assert scene.stored() == 2

    async def test_queue_rests_after_sixty_seconds_without_a_pause(self) -> None:
        async with staged() as scene:

            async def slow(messages, context):
                await scene.clock.sleep(25.0)
                return OK

            scene.broker.put("orders", 0, *[b"x"] * 4)
            listener = CollectingListener(slow)
            await scene.consume(listener)
            await scene.pass_time(75.0)
            assert listener.offsets() == [0, 1, 2]
            await scene.pass_time(0.05)
            assert listener.offsets() == [0, 1, 2, 3]

    async def test_listener_that_was_replaced_is_used_for_the_next_batch(self) -> None:
        async with staged() as scene:
            gate = asyncio.Event()

            async def wait(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b")
            first, second = CollectingListener(wait), CollectingListener()
            await scene.consume(first)
            scene.consumer.subscribe("orders", "*", second)
            gate.set()
            await scene.pass_time()
            assert (first.offsets(), second.offsets()) == ([0], [1])

    async def test_span_of_offsets_holds_nothing_back(self) -> None:
        async with staged(settings=ConsumerSettings(queue_span_max=10)) as scene:
            gate = asyncio.Event()

            async def wait(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, *[b"x"] * 100)
            await scene.consume(CollectingListener(wait))
            assert max(scene.pulls) == 100
            gate.set()

    async def test_threads_stay_with_their_queue_and_keep_its_order(self) -> None:
        async with staged(topics={"orders": 3}) as scene:
            seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
            at_work: set[int] = set()

            def plain(messages, context):
                number = messages[0].queue_id
                assert number not in at_work
                at_work.add(number)
                seen[number] += [m.queue_offset for m in messages]
                at_work.discard(number)
                return OK

            for queue_id in seen:
                scene.broker.put("orders", queue_id, *[b"x"] * 300)
            await scene.consume(plain, batch_max=7)
            for _ in range(60_000):
                if all(len(offsets) == 300 for offsets in seen.values()):
                    break
                await scene.pass_time(0.001)
                await asyncio.sleep(0.001)
            assert seen == {number: list(range(300)) for number in seen}
            await scene.finish(scene.consumer.stop())
            assert [scene.stored(queue_id) for queue_id in seen] == [300] * 3


class TestLimit:
    async def test_message_that_failed_too_often_becomes_a_dead_letter_and_the_queue_goes_on(self) -> None:
        async with staged(settings=ConsumerSettings(max_reconsume_times=2)) as scene:

            async def first_fails(messages, context):
                return SUSPEND if messages[0].queue_offset == 0 else OK

            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(first_fails)
            await scene.consume(listener)
            await scene.pass_time(2.1)
            assert listener.offsets() == [0, 0, 0, 1]
            (sent,) = scene.broker.sent(SendMessageV2)
            assert (sent.topic, sent.reconsume_times, sent.max_reconsume_times) == (f"%RETRY%{GROUP}", 3, 2)
            await scene.pass_time(5.0)
            assert scene.stored() == 2

    async def test_dead_letter_that_nobody_takes_is_tried_again_in_place(self) -> None:
        async with staged(settings=ConsumerSettings(max_reconsume_times=1)) as scene:
            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(SUSPEND, SUSPEND, OK)
            await scene.consume(listener)
            scene.broker.script(SendMessageV2, *[CallTimeout("late")] * 3)
            await scene.pass_time(2.1)
            assert (listener.offsets(), listener.attempts) == ([0, 0, 0, 1], [0, 1, 2, 0])

    async def test_of_a_batch_only_those_go_that_failed_too_often(self) -> None:
        async with staged(settings=ConsumerSettings(max_reconsume_times=1)) as scene:
            scene.broker.put("orders", 0, b"a")
            listener = CollectingListener(SUSPEND, SUSPEND, OK)
            await scene.consume(listener, batch_max=4)
            scene.broker.put("orders", 0, b"b")
            await scene.pass_time(2.1)
            assert listener.places == [[(0, 0)], [(0, 0), (0, 1)], [(0, 1)]]
            assert len(scene.broker.sent(SendMessageV2)) == 1

    async def test_a_listener_may_make_a_message_a_dead_letter_at_once(self) -> None:
        async with staged() as scene:

            async def first_is_dead(messages, context):
                if messages[0].queue_offset == 0:
                    context.delay_level_when_next_consume = -1
                    return SUSPEND
                return OK

            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener(first_is_dead)
            await scene.consume(listener)
            await scene.pass_time(2.1)
            assert listener.offsets() == [0, 1]
            (sent,) = scene.broker.sent(SendMessageV2)
            assert (sent.topic, sent.reconsume_times) == (f"%RETRY%{GROUP}", 1)
            await scene.pass_time(5.0)
            assert scene.stored() == 2

    async def test_without_a_limit_it_is_tried_for_ever(self) -> None:
        async with staged() as scene:
            scene.broker.put("orders", 0, b"a")
            listener = CollectingListener(SUSPEND)
            await scene.consume(listener)
            await scene.pass_time(100.5)
            assert listener.attempts == list(range(101))
            assert scene.broker.sent(SendMessageV2) == []


class TestUnreadable:
    @pytest.mark.parametrize("broadcasting", [False, True])
    async def test_what_cannot_be_unpacked_does_not_hold_its_queue(self, tmp_path, broadcasting) -> None:
        settings = ConsumerSettings(offset_directory=tmp_path)
        with work_at_once():  # local offsets are read and written in threads
            async with staged(broadcasting=broadcasting, settings=settings) as scene:
                scene.instance.settings = attrs.evolve(scene.instance.settings, unpacked_bytes_max=100)
                came = []

                async def listener(messages, context):
                    came.extend((m.queue_offset, m.body) for m in messages)
                    return OK

                scene.broker.put("orders", 0, b"a")
                scene.broker.put("orders", 0, zlib.compress(b"x" * 101), sys_flag=SysFlag.COMPRESSED)
                scene.broker.put("orders", 0, zlib.compress(b"x" * 100), sys_flag=SysFlag.COMPRESSED)
                await scene.consume(listener)
                await scene.pass_time(30.0)
                assert came == [(0, b"a"), (2, b"x" * 100)]
                sent = [each.topic for each in scene.broker.sent(SendMessageV2)]
                assert sent == ([] if broadcasting else [f"%RETRY%{GROUP}"])
                if not broadcasting:
                    assert scene.stored() == 3

    async def test_a_damaged_body_is_a_dead_letter_that_says_why(self) -> None:
        async with staged() as scene:
            came = []

            async def listener(messages, context):
                came.extend((m.queue_offset, m.body) for m in messages)
                return OK

            scene.broker.put("orders", 0, b"a", b"b", b"c")
            scene.broker.damage("orders", 0, 1)
            await scene.consume(listener)
            await scene.pass_time(30.0)
            assert came == [(0, b"a"), (2, b"c")]
            [dead] = scene.broker.sent(SendMessageV2)
            assert dead.topic == f"%RETRY%{GROUP}"
            assert "changed since it was stored" in decode_properties(dead.properties)["MQFRAME_REASON"]
            assert scene.stored() == 3


class TestBroadcasting:
    async def test_needs_no_locks_and_keeps_the_order(self, tmp_path) -> None:
        with work_at_once():  # local offsets are read and written in threads
            async with staged(
                broadcasting=True, settings=ConsumerSettings(offset_directory=tmp_path)
            ) as scene:
                scene.broker.put("orders", 0, b"a", b"b")
                listener = CollectingListener(SUSPEND, OK)
                await scene.consume(listener)
                await scene.pass_time(100.0)
                assert listener.offsets() == [0, 0, 1]
                assert scene.broker.sent(LockBatchMq) == []


async def test_hooks_see_every_attempt() -> None:
    class Note(ConsumeHook):
        name = "note"

        def __init__(self):
            self.outcomes = []

        def after(self, context):
            self.outcomes.append((context.success, context.outcome))

    note = Note()

    async with staged(consume_hooks=[note]) as scene:
        scene.broker.put("orders", 0, b"a")
        await scene.consume(CollectingListener(SUSPEND, RuntimeError("no"), None, OK))
        await scene.pass_time(4.0)
        assert note.outcomes == [
            (False, "failed"),
            (False, "exception"),
            (False, "null"),
            (True, "success"),
        ]
