"""Push consumers that pop, as applications see them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from datetime import UTC, datetime

import pytest
from mqframe_pop.client.push.mode import PopOptions
from pop_push_scenes import GROUP, LATER, OK, PopPushScene, numbered

from mqframe import AsyncAdmin, AsyncPushConsumer, PushConsumer
from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook


async def test_there_may_be_more_members_than_queues_and_each_message_is_handled_once() -> None:
    async with PopPushScene() as scene:
        for _ in range(6):
            await scene.join(settings={"consume_tasks": 2})
        started = asyncio.Event()

        async def wait_for_others(message, context):
            await started.wait()
            return OK

        scene.handles = wait_for_others
        await scene.put(*numbered(b"m", 40))
        await scene.until(lambda: len(scene.got) == 12)
        assert [len(member.got) for member in scene.members] == [2] * 6, "no more than they can begin"
        assert [member.consumer.queues for member in scene.members] == [[]] * 6
        started.set()
        await scene.until(lambda: len(scene.got) == 40)
        await scene.until(lambda: scene.lag() == 0)
        await scene.pass_time(130.0)
        assert Counter(scene.got) == Counter((body, 0) for body in numbered(b"m", 40))


async def test_what_fails_comes_again_after_the_waits_of_the_levels_and_brokers_count() -> None:
    async with PopPushScene() as scene:
        member = await scene.join()

        async def fail(message, context):
            if message.reconsume_times == 1:
                raise ValueError("not yet")
            if message.reconsume_times == 2:
                context.delay_level_when_next_consume = 2
            return OK if message.reconsume_times == 3 else LATER

        scene.handles = fail
        await scene.put(b"m")
        await scene.until(lambda: len(member.got) == 4, 120.0)
        assert member.got == [(b"m", n) for n in range(4)]
        waits = [after - before for before, after in zip(member.times, member.times[1:], strict=False)]
        assert waits == pytest.approx([10.0, 30.0, 5.0], abs=1.0)
        await scene.pass_time(700.0)
        assert len(member.got) == 4
        assert scene.dead == []


async def test_the_retry_policy_of_the_group_counts() -> None:
    async with PopPushScene() as scene:
        port = scene.cluster.broker.service_port
        await scene.set_group(waits=[2_000, 7_000], retries_max=2)
        member = await scene.join()

        async def fail(message, context):
            return LATER

        scene.handles = fail
        await scene.put(b"m")
        await scene.until(lambda: scene.dead, 120.0)
        assert member.got == [(b"m", n) for n in range(3)]
        waits = [after - before for before, after in zip(member.times, member.times[1:], strict=False)]
        assert waits == pytest.approx([2.0, 7.0], abs=1.0)
        assert scene.dead == [b"m"]
        assert port.topics.find(f"%DLQ%{GROUP}") is not None


async def test_a_message_stays_hidden_while_its_handler_works() -> None:
    async with PopPushScene() as scene:
        one, two = await scene.join(mode_options={"invisible_seconds": 8.0}), await scene.join()

        async def slow(message, context):
            await scene.clock.sleep(100.0)
            return OK

        scene.handles = slow
        await scene.put(b"m")
        await scene.until(lambda: scene.lag() == 0, 130.0)
        assert one.got + two.got == [(b"m", 0)]
        await scene.pass_time(130.0)
        assert len(scene.got) == 1


async def test_a_handler_that_takes_longer_than_allowed_has_failed() -> None:
    async with PopPushScene() as scene:
        member = await scene.join(settings={"consume_timeout_seconds": 20.0})

        async def slow(message, context):
            await scene.clock.sleep(0.0 if message.reconsume_times else 300.0)
            return OK

        scene.handles = slow
        await scene.put(b"m")
        await scene.until(lambda: len(member.got) == 2, 60.0)
        assert member.got == [(b"m", 0), (b"m", 1)]


async def test_what_was_not_begun_goes_to_others_at_the_stop() -> None:
    async with PopPushScene() as scene:
        one = await scene.join(settings={"consume_tasks": 1, "stop_seconds": 3.0})
        ended = asyncio.Event()

        async def wait(message, context):
            await ended.wait()
            return OK

        one.consumer.subscribe("bills", "*", one.handle)
        scene.handles = wait
        await scene.cluster.create_topic("bills", 1)
        await scene.pass_time(5.0)
        await scene.put(b"begun", topic="bills")
        await scene.put(b"waits")
        await scene.until(lambda: len(one.got) == 1)
        await scene.pass_time(1.0)
        begun = one.bodies
        closing = asyncio.ensure_future(scene.close(one.consumer))
        await scene.pass_time(0.5)
        assert not closing.done()
        ended.set()
        await closing
        assert one.bodies == begun
        two = await scene.join()
        two.consumer.subscribe("bills", "*", two.handle)
        await scene.until(lambda: two.got, 5.0)
        await scene.pass_time(100.0)
        assert sorted(two.bodies + begun) == [b"begun", b"waits"]


async def test_a_batch_listener_gets_several_and_acknowledges_the_front() -> None:
    async with PopPushScene() as scene:
        batches: list[list[tuple[bytes, int]]] = []

        async def listen(messages: list[ReceivedMessage], context):
            batches.append([(m.body, m.reconsume_times) for m in messages])
            if not messages[0].reconsume_times:
                context.ack_index = 0
            return OK

        consumer = scene.make()
        consumer.subscribe("orders", "*", listen, batch_max=8)
        await scene.put(*numbered(b"m", 3), queue=MessageQueue("orders", "broker-a", 1))
        await scene.open(consumer)
        await scene.until(lambda: sum(map(len, batches)) == 5, 60.0)
        assert batches[0] == [(b"m0", 0), (b"m1", 0), (b"m2", 0)]
        assert sorted(each for batch in batches[1:] for each in batch) == [(b"m1", 1), (b"m2", 1)]
        await scene.pass_time(200.0)
        assert sum(map(len, batches)) == 5


@pytest.mark.parametrize(("choice", "dead"), [("dead_letter", [b"{"]), ("drop", [])])
async def test_a_body_that_cannot_be_decoded(choice: str, dead: list[bytes]) -> None:
    async with PopPushScene() as scene:
        got = []

        async def handle(value: dict[str, int]) -> None:
            got.append(value)

        consumer = scene.make()
        consumer.subscribe("orders", "*", handle, type=dict[str, int], on_decode_error=choice)
        await scene.open(consumer)
        await scene.put(b"{", b'{"a": 1}')
        await scene.until(lambda: got == [{"a": 1}] and scene.dead == dead)
        await scene.until(lambda: scene.lag() == 0)
        await scene.pass_time(100.0)
        assert (got, scene.dead) == ([{"a": 1}], dead)
        if dead:
            [letter] = scene.stored(f"%DLQ%{GROUP}")
            assert "MQFRAME_REASON" in letter.properties
            assert letter.properties["RETRY_TOPIC"] == "orders"


async def test_a_listener_gives_up_at_once_and_a_consumer_after_its_own_maximum() -> None:
    async with PopPushScene() as scene:
        member = await scene.join(settings={"max_reconsume_times": 1})

        async def fail(message, context):
            if message.body == b"lost":
                context.delay_level_when_next_consume = -1
            return LATER

        scene.handles = fail
        await scene.put(b"lost", b"twice")
        await scene.until(lambda: len(scene.dead) == 2, 60.0)
        assert sorted(member.got) == [(b"lost", 0), (b"twice", 0), (b"twice", 1)]
        assert scene.dead == [b"lost", b"twice"]
        await scene.until(lambda: scene.lag() == 0)


async def test_plain_handlers_run_in_threads() -> None:
    async with PopPushScene() as scene:
        seen: list[tuple[bytes, str]] = []

        def handle(message: ReceivedMessage) -> None:
            seen.append((message.body, threading.current_thread().name.rpartition("-")[0]))

        consumer = scene.make()
        consumer.subscribe("orders", "*", handle)
        await scene.open(consumer)
        await scene.put(*numbered(b"m", 60))
        await scene.until(lambda: len(seen) == 60)
        await scene.until(lambda: scene.lag() == 0)
        assert sorted(seen) == sorted((body, f"mqframe-consume-{GROUP}") for body in numbered(b"m", 60))


async def test_topics_and_brokers_may_come_later_and_subscriptions_change() -> None:
    async with PopPushScene(brokers=2) as scene:
        member = await scene.join("paid")
        await scene.finish(scene.cluster.stop_broker(1))
        await scene.pass_time(130.0)
        member.consumer.subscribe("bills", "*", member.handle)
        await scene.pass_time(1.0)
        await scene.finish(scene.cluster.start_broker(1))
        await scene.cluster.create_topic("bills", 1)
        await scene.put(b"bill", topic="bills")
        await scene.until(lambda: member.bodies == [b"bill"])
        member.consumer.subscribe("orders", "*", member.handle)
        await scene.pass_time(20.0)
        await scene.put(b"there", queue=MessageQueue("orders", "broker-b", 0))
        await scene.until(lambda: member.bodies == [b"bill", b"there"])
        member.consumer.unsubscribe("orders")
        await scene.pass_time(20.0)
        await scene.put(b"unwanted")
        await scene.pass_time(40.0)
        assert member.bodies == [b"bill", b"there"]


async def test_nothing_is_popped_while_it_is_suspended() -> None:
    async with PopPushScene() as scene:
        member = await scene.join()
        member.consumer.suspend()
        await scene.pass_time(20.0)
        await scene.put(b"m")
        await scene.pass_time(30.0)
        assert member.got == []
        member.consumer.resume()
        await scene.until(lambda: member.got == [(b"m", 0)], 2.0)


async def test_a_new_group_begins_with_what_comes_once_it_was_started() -> None:
    async with PopPushScene() as scene:
        await scene.put(*numbered(b"old", 8))
        member = await scene.join(consume_from="last")
        await scene.put(b"new")
        await scene.until(lambda: member.got)
        await scene.pass_time(100.0)
        assert member.got == [(b"new", 0)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"allocate": "averagely-by-circle"}, "allocate makes no sense"),
        ({"broadcasting": True}, "broadcasting makes no sense"),
        ({"offset_store": "local"}, "offset_store makes no sense"),
        ({"consume_from": datetime(2026, 1, 1, tzinfo=UTC)}, "consume_from makes no sense"),
        ({"mode": "poop"}, "mode is 'poop'; choose one of pull, keyed, pop"),
        ({"mode": "pull", "mode_options": {"a": 1}}, "mode is 'pull' with options"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(options, words: str) -> None:
    with pytest.raises(FixError, match=words):
        PushConsumer("g", **{"mode": "pop", **options})


async def test_options_are_checked_and_an_allocation_cannot_be_set_later() -> None:
    assert PopOptions().invisible_seconds == 60.0
    async with PopPushScene() as scene:
        with pytest.raises(SettingError, match="invisible_seconds"):
            scene.make(mode_options={"invisible_seconds": 0})
        with pytest.raises(SettingError, match="there is no option invisible of plugin pop"):
            scene.make(mode_options={"invisible": 3})
        member = await scene.join()
        with pytest.raises(FixError, match="shares no queues out"):
            member.consumer.set_allocation("averagely")


async def test_operators_see_what_it_does_and_hooks_hear_of_every_call() -> None:
    told: list[tuple[str, list[bytes], str, bool, str]] = []

    class Watch(ConsumeHook):
        def after(self, context: ConsumeContext) -> None:
            bodies = [message.body for message in context.messages]
            told.append((context.group, bodies, context.queue.topic, context.ordered, context.outcome))

    async with PopPushScene() as scene:
        member = await scene.join(consume_hooks=[Watch])

        async def fail_once(message, context):
            return OK if message.reconsume_times else LATER

        scene.handles = fail_once
        await scene.put(b"m")
        await scene.until(lambda: len(told) == 2, 30.0)
        assert told == [(GROUP, [b"m"], "orders", False, how) for how in ("failed", "success")]
        await scene.pass_time(15.0)
        async with AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock) as admin:
            client_id = member.consumer.client_id
            info = await scene.finish(admin.members.running_info(GROUP, client_id))
            assert info.queues == {}
            assert info.properties["mode"] == "pop"
            assert "allocateMessageQueueStrategy" not in info.properties
            assert [each.topic for each in info.subscription_set] == ["orders"]
            assert info.status_table["orders"].consume_failed_msgs == 1
            [stored] = scene.stored("orders")
            done = await scene.finish(admin.members.consume_directly(GROUP, stored.offset_message_id))
            assert (done.consume_result.value, len(told)) == ("CR_LATER", 2)


async def test_it_is_made_from_a_configuration(tmp_path) -> None:
    file = tmp_path / "mqframe.toml"
    text = '[consumer]\ngroup = "g"\nmode = "pop"\nmode_options = {invisible_seconds = 0.5}\n'
    file.write_text(text)
    with pytest.raises(SettingError, match=r"invisible_seconds = 0\.5: must be within 1 and 3600"):
        AsyncPushConsumer.from_config(file)
    file.write_text(text.replace("0.5", "5"))
    assert AsyncPushConsumer.from_config(file).group == "g"
    with pytest.raises(FixError, match="broadcasting makes no sense"):
        AsyncPushConsumer.from_config(file, broadcasting=True)
