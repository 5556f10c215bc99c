"""Lite pull consumers on a real broker in this process, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime

import pytest
from lite_scenes import LiteScene, numbered, queue
from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer
from mqframe_pull.settings import LitePullSettings

from mqframe import AsyncAdmin
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ClosedError, FixError, RouteError, SettingError
from mqframe.core.filtering.filter_expression import Sql
from mqframe.core.messages.message import Message
from mqframe.hooks.interfaces import ConsumeHook


async def test_polls_hand_out_one_queue_at_a_time_in_turn_and_in_order() -> None:
    async with LiteScene() as scene:
        for number in range(4):
            await scene.send(*numbered(b"%d-" % number, 5), to=number)
        consumer = await scene.join()
        await scene.until(lambda: len(consumer.assignment) == 4)
        await scene.clock.aadvance(1.0)
        polls = [await scene.finish(consumer.poll(1.0, max_messages=3)) for _ in range(8)]
        assert [len(messages) for messages in polls] == [3, 3, 3, 3, 2, 2, 2, 2]
        assert all(len({m.queue for m in messages}) == 1 for messages in polls)
        for number in range(4):
            mine = [m for messages in polls for m in messages if m.queue == queue(number)]
            assert [m.body for m in mine] == numbered(b"%d-" % number, 5)
            assert [m.queue_offset for m in mine] == list(range(5))
        began = scene.clock.monotonic()
        assert await scene.poll(consumer, 2.0) == []
        assert 2.0 <= scene.clock.monotonic() - began < 2.3


async def test_a_loop_takes_message_by_message_and_queues_take_turns() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"a", 3), to=0)
        await scene.send(*numbered(b"b", 3), to=1)
        consumer = await scene.join()
        await scene.until(lambda: len(consumer.assignment) == 4)
        await scene.clock.aadvance(1.0)
        loop = aiter(consumer)
        seen = [(await scene.finish(anext(loop))).body for _ in range(5)]
        assert sorted(seen[:2]) == [b"a0", b"b0"]
        assert sorted(seen[2:4]) == [b"a1", b"b1"]
        # Of the last one nobody knows yet whether it was handled.
        await scene.clock.aadvance(20.0)
        [last] = [number for number, name in enumerate((b"a2", b"b2")) if name == seen[4]]
        waiting = asyncio.ensure_future(anext(loop))
        await scene.clock.aadvance(0.2)
        assert (await waiting).body == (b"b2", b"a2")[last]
        assert (await scene.stored(last), await scene.stored(1 - last)) == (3, 2)
        ending = asyncio.ensure_future(anext(loop))
        await scene.clock.aadvance(100.0)
        assert not ending.done()
        await scene.close(consumer)
        with pytest.raises(StopAsyncIteration):
            await ending
        assert [await scene.stored(number) for number in (0, 1)] == [3, 3]


@pytest.mark.parametrize("auto_commit", [True, False])
async def test_queues_are_told_of_before_they_go_and_may_be_committed_then(auto_commit: bool) -> None:
    async with LiteScene() as scene:
        for number in range(4):
            await scene.send(*numbered(b"%d-" % number, 6), to=number)
        events: list[tuple[str, list[int]]] = []
        consumer = scene.make(auto_commit=auto_commit)

        async def revoked(topic, queues):
            events.append(("revoked", [each.queue_id for each in queues]))
            assert set(queues) <= set(consumer.assignment)
            taken = [m.queue for m in await consumer.poll(0.5)]
            assert not set(taken) & set(queues), "polls return nothing of what is about to go"
            await scene.clock.sleep(3.0)
            await consumer.commit()
            events.append(("flushed", [each.queue_id for each in queues]))

        consumer.subscribe("orders", on_revoked=revoked)
        await scene.open(consumer)
        await scene.until(lambda: len(consumer.assignment) == 4)
        await scene.clock.aadvance(1.0)
        for _ in range(4):
            assert len(await scene.poll(consumer, max_messages=2)) == 2
        other = await scene.join("m2", auto_commit=auto_commit)
        await scene.until(lambda: len(other.assignment) == 2)
        gone = sorted(each.queue_id for each in other.assignment)
        await scene.until(lambda: len(events) == 2)
        assert events == [("revoked", gone), ("flushed", gone)]
        # What was handed out here was committed, although no poll came after it.
        assert [await scene.stored(number) for number in gone] == [2, 2]
        await scene.until(lambda: len(consumer.assignment) == 2)
        events.clear()
        kept = sorted(each.queue_id for each in consumer.assignment)
        await scene.close(consumer)
        assert events == [("revoked", kept), ("flushed", kept)]


async def test_a_listener_that_is_never_done_holds_queues_up_for_so_long_and_no_longer() -> None:
    async with LiteScene() as scene:
        consumer = scene.make(settings=LitePullSettings(revoke_seconds=4.0))
        told: list[str] = []

        async def revoked(topic, queues):
            told.append(topic)
            await scene.clock.sleep(3600.0)

        consumer.subscribe("orders", on_revoked=revoked)
        await scene.open(consumer)
        await scene.until(lambda: len(consumer.assignment) == 4)
        await scene.join("m2")
        await scene.until(lambda: told)
        began = scene.clock.monotonic()
        await scene.until(lambda: len(consumer.assignment) == 2)
        assert 3.5 <= scene.clock.monotonic() - began < 6.0
        began = scene.clock.monotonic()
        await scene.close(consumer)
        assert scene.clock.monotonic() - began < 10.0
        assert told == ["orders", "orders"]


async def test_what_the_application_gives_up_itself_it_is_not_told_of() -> None:
    async with LiteScene() as scene:
        consumer = scene.make()
        told: list[int] = []
        consumer.subscribe("orders", on_revoked=lambda topic, queues: told.append(len(queues)))
        await scene.open(consumer)
        await scene.until(lambda: len(consumer.assignment) == 4)
        consumer.unsubscribe("orders")
        await scene.until(lambda: not consumer.assignment)
        consumer.subscribe("orders")
        await scene.until(lambda: len(consumer.assignment) == 4)
        await scene.close(consumer)
        assert told == []


@pytest.mark.parametrize("fails", [True, False])
async def test_the_message_at_which_a_loop_was_left_comes_again_only_after_an_error(fails: bool) -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 5))
        consumer = await scene.join()

        async def work() -> None:
            async for message in consumer:
                if message.body == b"m2":
                    break

        await scene.finish(work())
        scene.opened.remove(consumer)
        problem = LookupError() if fails else None
        await scene.finish(consumer.__aexit__(type(problem) if problem else None, problem, None))
        assert await scene.poll(await scene.join("m2"), max_messages=1) == [b"m2" if fails else b"m3"]


async def test_a_waiting_poll_returns_when_a_message_arrives() -> None:
    async with LiteScene() as scene:
        consumer = await scene.join()
        await scene.until(lambda: consumer.assignment)
        await scene.clock.aadvance(1.0)
        waiting = asyncio.ensure_future(consumer.poll(5.0))
        await scene.clock.aadvance(0.5)
        await scene.send(b"now")
        assert [m.body for m in await scene.finish(waiting)] == [b"now"]


@pytest.mark.parametrize("auto_commit", [True, False])
@pytest.mark.parametrize("assigns", [True, False])
async def test_a_topic_that_is_deleted_and_made_anew_is_read_from_its_beginning(assigns, auto_commit) -> None:
    async with LiteScene() as scene:
        made = scene.assigned(0, auto_commit=auto_commit) if assigns else scene.join(auto_commit=auto_commit)
        consumer = await made
        await scene.send(*numbered(b"old", 10))
        assert await scene.drain(consumer, 10) == numbered(b"old", 10)
        await scene.clock.aadvance(10.0)
        async with AsyncAdmin(nameserver=scene.cluster.nameserver, clock=scene.clock) as admin:
            await admin.topics.delete("orders")
            await scene.cluster.create_topic("orders", 4)
        await scene.send(*numbered(b"new", 3))
        assert await scene.drain(consumer, 3) == numbered(b"new", 3)
        await scene.clock.aadvance(30.0)
        assert await scene.poll(consumer) == []


async def test_seek_goes_before_the_pull_offset_and_that_before_the_stored_one() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 10))
        before = await scene.assigned(0)
        await scene.poll(before, max_messages=4)
        await scene.close(before)
        consumer = await scene.assigned(0)
        assert await scene.poll(consumer, max_messages=2) == [b"m4", b"m5"]
        await consumer.seek(queue(0), 1)
        assert await scene.poll(consumer, max_messages=2) == [b"m1", b"m2"]
        await consumer.seek(queue(0), 8)
        await consumer.commit()
        assert await scene.stored(0) == 8
        assert await scene.poll(consumer) == [b"m8", b"m9"]
        await consumer.seek_to_begin(queue(0))
        assert await scene.drain(consumer, 10) == numbered(b"m", 10)
        await consumer.seek_to_begin(queue(0))
        await consumer.seek_to_end(queue(0))
        await scene.send(b"new")
        assert await scene.poll(consumer) == [b"new"]
        for offset in (-1, 12):
            with pytest.raises(FixError, match=f"offset {offset} is not in .*from 0 to 11"):
                await consumer.seek(queue(0), offset)
        with pytest.raises(FixError, match="is not assigned"):
            await consumer.seek_to_end(queue(1))


async def test_seek_ends_a_pull_that_waits_at_the_broker() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 3))
        consumer = await scene.assigned(0)
        await scene.drain(consumer, 3)
        await scene.clock.aadvance(1.0)
        began = scene.clock.monotonic()
        await consumer.seek(queue(0), 0)
        assert await scene.poll(consumer) == numbered(b"m", 3)
        assert scene.clock.monotonic() - began < 1.0


async def test_offset_for_timestamp() -> None:
    async with LiteScene() as scene:
        await scene.send(b"m0", b"m1")
        await scene.clock.aadvance(60.0)
        at = scene.clock.now_ms()
        await scene.send(b"m2", b"m3")
        consumer = await scene.assigned(0)
        assert await consumer.offset_for_timestamp(queue(0), at) == 2
        assert await consumer.offset_for_timestamp(queue(0), datetime.fromtimestamp(at / 1000, UTC)) == 2
        assert await consumer.offset_for_timestamp(queue(0), 0) == 0
        assert await consumer.offset_for_timestamp(queue(0), at + 60_000) == 4
        await consumer.seek(queue(0), 2)
        assert await scene.poll(consumer) == [b"m2", b"m3"]


async def test_paused_queues_are_not_pulled() -> None:
    async with LiteScene() as scene:
        consumer = await scene.assigned(0, 1)
        await scene.clock.aadvance(1.0)
        consumer.pause([queue(0)])
        assert consumer.paused == [queue(0)]
        # The pull that waits at the broker still brings something.
        await scene.send(b"caught")
        assert await scene.poll(consumer) == [b"caught"]
        await scene.send(b"kept back")
        await scene.send(b"other", to=1)
        assert await scene.poll(consumer) == [b"other"]
        assert await scene.poll(consumer, 20.0) == []
        consumer.resume([queue(0)])
        assert consumer.paused == []
        assert await scene.poll(consumer) == [b"kept back"]
        with pytest.raises(FixError, match="is not assigned"):
            consumer.pause([queue(3)])


@pytest.mark.parametrize(
    "limits",
    [
        {"queue_messages_max": 20},
        {"queue_bytes_max": 20 * 1200},
        {"queue_span_max": 20},
        {"held_messages_max": 20},
        {"held_bytes_max": 20 * 1200},
    ],
    ids=lambda limits: next(iter(limits)),
)
async def test_pulls_wait_while_too_much_is_held(limits) -> None:
    async with LiteScene() as scene:
        bodies = [b"%04d" % n + bytes(1000) for n in range(100)]
        await scene.send(*bodies)
        settings = LitePullSettings(pull_messages_max=8, **limits)
        consumer = await scene.assigned(0, settings=settings)
        await scene.clock.aadvance(10.0)
        # Emptied once, nothing new is fetched before the first poll.
        first = await consumer.poll(0.0, max_messages=1000)
        assert 20 <= len(first) <= 32
        got = [m.body for m in first] + await scene.drain(consumer, 100 - len(first))
        assert got == bodies


async def test_tags_and_progress_over_messages_that_nobody_wants() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"paid", 3), tag="paid")
        await scene.send(*numbered(b"hash", 3), tag="BB")
        consumer = await scene.join(expression="Aa || paid")
        assert await scene.drain(consumer, 3) == numbered(b"paid", 3)
        assert await scene.poll(consumer, 6.0) == []
        await scene.poll(consumer, 0.0)
        assert await scene.stored(0) == 6
        consumer.subscribe("orders", "BB")
        await consumer.seek_to_begin(queue(0))
        assert await scene.poll(consumer) == numbered(b"hash", 3)


async def test_assigned_queues_may_have_expressions_by_topic() -> None:
    async with LiteScene() as scene:
        await scene.cluster.create_topic("bills", 1)
        await scene.producer.send(Message("bills", b"bill", "x"))
        await scene.send(b"a", tag="a")
        await scene.send(b"b", tag="b")
        consumer = scene.make()
        consumer.assign([queue(0), queue(0, "bills")], {"orders": "b"})
        await scene.open(consumer)
        assert sorted(await scene.drain(consumer, 2)) == [b"b", b"bill"]
        consumer.assign([queue(0)], "a")
        assert consumer.assignment == [queue(0)]
        await consumer.seek_to_begin(queue(0))
        assert await scene.poll(consumer) == [b"a"]


async def test_what_is_assigned_while_it_runs_is_not_shared_out() -> None:
    async with LiteScene() as scene:
        consumer = scene.make()
        await scene.open(consumer)
        consumer.assign([queue(1), queue(2)])
        await scene.clock.aadvance(60.0)  # some rebalances
        assert consumer.assignment == [queue(1), queue(2)]


@pytest.mark.parametrize(
    ("begin", "expected"),
    [("first", [b"old", b"mid", b"new"]), ("last", [b"new"]), (1_700_000_030_000, [b"mid", b"new"])],
)
async def test_where_a_new_group_begins(begin, expected) -> None:
    # Of a queue that is whole and in memory, brokers say that a new group begins at 0.
    async with LiteScene(store={"hot_bytes": 1}) as scene:
        await scene.send(b"old")
        await scene.clock.aadvance(60.0)
        await scene.send(b"mid")
        consumer = await scene.assigned(0, consume_from=begin)
        await scene.clock.aadvance(1.0)
        if begin == "last":
            assert await scene.poll(consumer, 1.0) == []
        await scene.send(b"new")
        assert await scene.drain(consumer, len(expected)) == expected


async def test_assigning_other_queues_commits_the_ones_before() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"a", 4), to=0)
        await scene.send(*numbered(b"b", 4), to=1)
        consumer = await scene.assigned(0)
        assert await scene.poll(consumer, max_messages=3) == numbered(b"a", 3)
        await scene.poll(consumer, 0.0, max_messages=1)
        consumer.assign([queue(1)])
        assert consumer.assignment == [queue(1)]
        assert await scene.drain(consumer, 4) == numbered(b"b", 4)
        assert await scene.stored(0) == 3
        consumer.assign([queue(0), queue(1)])
        assert await scene.poll(consumer) == [b"a3"]


async def test_members_share_queues_and_each_message_comes_once() -> None:
    async with LiteScene() as scene:
        one, two = await scene.join("m1"), await scene.join("m2")
        await scene.until(lambda: (len(one.assignment), len(two.assignment)) == (2, 2))
        assert one.assignment + two.assignment == [queue(n) for n in range(4)]
        for number in range(4):
            await scene.send(*numbered(b"%d-" % number, 10), to=number)
        got = await scene.drain(one, 20) + await scene.drain(two, 20)
        assert Counter(got) == Counter(b"%d-%d" % (q, n) for q in range(4) for n in range(10))
        await scene.close(one)
        await scene.until(lambda: len(two.assignment) == 4)
        for number in range(4):
            await scene.send(b"later-%d" % number, to=number)
        assert sorted(await scene.drain(two, 4)) == numbered(b"later-", 4)
        assert await scene.poll(two, 1.0) == []


async def test_a_queue_that_moves_is_committed_first() -> None:
    async with LiteScene() as scene:
        for number in range(4):
            await scene.send(*numbered(b"%d-" % number, 10), to=number)
        one = await scene.join("m1")
        first = await scene.drain(one, 40)
        await scene.poll(one, 0.0)  # says that they were done with
        two = await scene.join("m2")
        await scene.until(lambda: len(two.assignment) == 2)
        assert await scene.poll(two, 3.0) == []
        assert len(set(first)) == 40


async def test_listeners_are_told_of_queues_that_came_and_went() -> None:
    async with LiteScene() as scene:
        told: list[tuple[str, int, list[int]]] = []
        topics: list[list[int]] = []

        async def assigned(topic, everything, mine):
            told.append((topic, len(everything), [q.queue_id for q in mine]))

        def changed(topic, queues):
            topics.append([q.queue_id for q in queues])
            raise ZeroDivisionError  # is logged

        one = scene.make("m1")
        one.subscribe("orders", "*", assigned)
        await one.on_queue_change("orders", changed)
        await scene.open(one)
        await scene.until(lambda: told == [("orders", 4, [0, 1, 2, 3])])
        await scene.join("m2")
        await scene.until(lambda: told[-1:] == [("orders", 4, [0, 1])])
        assert topics == []
        await scene.cluster.create_topic("orders", 6)
        await scene.until(lambda: topics == [[0, 1, 2, 3, 4, 5]])
        await scene.until(lambda: told[-1:] == [("orders", 6, [0, 1, 2])])


async def test_subscribing_after_the_start_and_unsubscribing() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 3))
        consumer = scene.make()
        await scene.open(consumer)
        assert consumer.assignment == []
        consumer.subscribe("orders")
        assert await scene.drain(consumer, 3) == numbered(b"m", 3)
        await scene.poll(consumer, 0.0)
        consumer.unsubscribe("orders")
        assert consumer.assignment == []
        assert await scene.stored(0) == 3
        await scene.send(b"unheard")
        assert await scene.poll(consumer, 25.0) == []


async def test_broadcasting_gives_every_member_everything(tmp_path) -> None:
    async with LiteScene() as scene:
        options = {"broadcasting": True, "settings": LitePullSettings(offset_directory=tmp_path)}
        one, two = await scene.join("m1", **options), await scene.join("m2", **options)
        await scene.send(*numbered(b"m", 5))
        assert await scene.drain(one, 5) == await scene.drain(two, 5) == numbered(b"m", 5)
        assert len(one.assignment) == len(two.assignment) == 4
        await scene.close(one)
        await scene.send(b"later")
        again = await scene.join("m1", **options)
        assert await scene.drain(again, 1) == [b"later"]
        assert await scene.stored(0) is None


async def test_an_offset_that_is_gone_is_replaced_by_one_that_exists() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 3))
        before = await scene.assigned(0, auto_commit=False)
        await before.commit({queue(0): 100})
        await scene.close(before)
        assert await scene.stored(0) is None, "brokers take no offset behind the end"
        scene.cluster.broker.service_port.offsets.commit("billing", "orders", 0, 100)
        consumer = await scene.assigned(0)
        await scene.clock.aadvance(1.0)
        assert await scene.stored(0) == 3
        await scene.send(b"next")
        assert await scene.poll(consumer) == [b"next"]


async def test_goes_on_when_the_broker_was_away() -> None:
    async with LiteScene() as scene:
        consumer = await scene.assigned(0)
        await scene.send(b"a")
        assert await scene.poll(consumer) == [b"a"]
        await scene.cluster.stop_broker()
        assert await scene.poll(consumer, 3.0) == []
        await scene.cluster.start_broker()
        await scene.send(b"b")
        assert await scene.drain(consumer, 1) == [b"b"]


async def test_hooks_see_what_polls_hand_out() -> None:
    seen: list[tuple[str, int, object]] = []

    class Watch(ConsumeHook):
        def before(self, context):
            seen.append(("before", len(context.messages), context.outcome))

        def after(self, context):
            seen.append((context.outcome, len(context.messages), context.queue))

    async with LiteScene() as scene:
        await scene.send(b"a", b"b")
        consumer = await scene.assigned(0, consume_hooks=[Watch()])
        await scene.drain(consumer, 2)
        await scene.poll(consumer, 0.0)
        assert seen == [("before", 2, ""), ("success", 2, queue(0))]


async def test_expressions_over_properties() -> None:
    async with LiteScene() as scene:
        for n in range(6):
            await scene.producer.send(Message("orders", b"%d" % n, properties={"n": str(n)}), queue=queue(0))
        shared = await scene.join(expression=Sql("n > 3"))
        assert await scene.drain(shared, 2) == [b"4", b"5"]
        alone = await scene.assigned(0, group="other", expression=Sql("n BETWEEN 1 AND 2"))
        assert await scene.drain(alone, 2) == [b"1", b"2"]
        with pytest.raises(AnswerError) as caught:
            await scene.join("m2", expression=Sql("n > > 3"), group="third")
        assert caught.value.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


async def test_hooks_that_send_messages_of_their_own_get_a_port() -> None:
    seen: list[str] = []

    class Attached(ConsumeHook):
        def attach(self, port):
            seen.append("attached")

        def detach(self):
            seen.append("detached")

    async with LiteScene() as scene:
        consumer = await scene.assigned(0, consume_hooks=[Attached()])
        assert seen == ["attached"]
        await scene.close(consumer)
        assert seen == ["attached", "detached"]


def test_subscribe_and_assign_exclude_each_other() -> None:
    one = AsyncLitePullConsumer("g", nameserver="127.0.0.1:9")
    one.subscribe("orders")
    with pytest.raises(FixError, match="uses `subscribe`, which excludes `assign`"):
        one.assign([queue(0)])
    two = AsyncLitePullConsumer("g", nameserver="127.0.0.1:9")
    two.assign([queue(0)])
    with pytest.raises(FixError, match="uses `assign`, which excludes `subscribe`"):
        two.subscribe("orders")
    with pytest.raises(FixError, match="excludes `unsubscribe`"):
        two.unsubscribe("orders")
    with pytest.raises(FixError, match="no queues to assign"):
        two.assign([])


async def test_bad_input_is_named() -> None:
    with pytest.raises(FixError):
        AsyncLitePullConsumer("not a group!", nameserver="127.0.0.1:9")
    with pytest.raises(FixError, match="consume_from 'yesterday'"):
        AsyncLitePullConsumer("g", nameserver="127.0.0.1:9", consume_from="yesterday")
    with pytest.raises(SettingError, match=r"lite_pull\.poll_messages_max"):
        LitePullSettings(poll_messages_max=0)
    consumer = AsyncLitePullConsumer("g", nameserver="127.0.0.1:9")
    with pytest.raises(FixError, match="names no tag"):
        consumer.subscribe("orders", "||")

    with pytest.raises(ClosedError, match="is not running"):
        await consumer.poll()

    async with LiteScene() as scene:
        running = await scene.assigned(0)
        for options in ({"timeout": -1.0}, {"max_messages": 0}):
            with pytest.raises(FixError, match="at least 0 s, 1 message"):
                await running.poll(**options)
        with pytest.raises(RouteError):
            await running.queues("nowhere")
        await running.start()
        await scene.close(running)
        await running.stop()
        with pytest.raises(ClosedError, match="was stopped"):
            await running.start()
        with pytest.raises(ClosedError):
            await running.poll()


async def test_a_topic_that_is_made_later_is_polled_within_a_second() -> None:
    async with LiteScene() as scene:
        consumer = scene.make()
        consumer.subscribe("later")
        await scene.open(consumer)
        assert await scene.poll(consumer, 0.2) == []
        await scene.cluster.create_topic("later", 1)
        await scene.producer.send(Message("later", b"a"))
        assert await scene.poll(consumer, 1.0) == [b"a"]
