"""The push consumer over a scripted broker, on a clock that only the tests move."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.consuming import AllQueues, CollectingListener, MemoryOffsets
from mqframe_testing.scripted_broker import ScriptedBroker
from mqframe_testing.simulation.pools import work_at_once
from push_scenes import GROUP, OK, PushScene, running

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import (
    ClosedError,
    ConnectError,
    FixError,
    MessageError,
    PluginError,
    RouteError,
)
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.hooks.interfaces import ConsumeHook


class TestConstruction:
    def test_missing_plugins_are_named_with_their_install_line(self) -> None:
        from mqframe.hooks.manager import PluginManager

        nothing = PluginManager(find=list)
        with pytest.raises(PluginError, match="pip install mqframe-plugin-consistenthash"):
            AsyncPushConsumer(GROUP, nameserver="n:1", allocate="consistent_hash", plugins=nothing)
        with pytest.raises(PluginError, match="pip install mqframe-plugin-offsetstore"):
            AsyncPushConsumer(GROUP, nameserver="n:1", offset_store="sqlite", plugins=nothing)
        AsyncPushConsumer(GROUP, nameserver="n:1", plugins=nothing)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [({"group": "no spaces"}, MessageError), ({"consume_from": "middle"}, FixError)],
    )
    def test_bad_options(self, options, problem) -> None:
        with pytest.raises(problem):
            AsyncPushConsumer(**{"group": GROUP, "nameserver": "n:1", "allocate": AllQueues(), **options})

    async def test_bad_subscriptions(self) -> None:
        async with PushScene() as scene:
            for topic, expression, listener, batch in [
                ("no spaces", "*", CollectingListener(), 1),
                ("orders", "||", CollectingListener(), 1),
                ("orders", "*", "listener", 1),
                ("orders", "*", CollectingListener(), 0),
            ]:
                with pytest.raises(FixError):
                    scene.consumer.subscribe(topic, expression, listener, batch_max=batch)
            with pytest.raises(FixError, match="no subscription"):
                await scene.consumer.start()

    async def test_started_once(self) -> None:
        async with PushScene() as scene, running(scene, CollectingListener()):
            await scene.consumer.start()
            await scene.consumer.stop()
            with pytest.raises(ClosedError, match="was stopped"):
                await scene.consumer.start()


class TestFlow:
    async def test_messages_arrive_in_batches_and_progress_is_committed(self) -> None:
        async with PushScene() as scene:
            listener = CollectingListener()
            scene.broker.put("orders", 0, b"a", b"b", b"c")
            async with running(scene, listener, batch_max=2):
                assert listener.calls == [[(0, 0, b"a"), (0, 1, b"b")], [(0, 2, b"c")]]
                assert scene.stored() is None
                scene.broker.put("orders", 0, b"d")
                await scene.pass_time()
                assert listener.bodies == [b"a", b"b", b"c", b"d"]
                await scene.pass_time(5.0)
                assert scene.stored() == 4

    async def test_tags_are_compared_by_text(self) -> None:
        async with PushScene() as scene:
            listener = CollectingListener()
            scene.broker.put("orders", 0, b"wanted", tag="Aa")
            scene.broker.put("orders", 0, b"same hash", tag="BB")
            scene.broker.put("orders", 0, b"other", tag="C")
            async with running(scene, listener, "Aa"):
                assert listener.bodies == [b"wanted"]
                scene.broker.put("orders", 0, b"same hash", tag="BB")
                await scene.pass_time(5.0)
                assert listener.bodies == [b"wanted"]
                # What nobody wants is passed over, and not read again after a restart.
                assert scene.stored() == 4

    @pytest.mark.parametrize("ordered", [False, True])
    async def test_a_tail_that_the_filter_drops_is_committed_with_the_last_message(self, ordered) -> None:
        async with PushScene(ordered=ordered) as scene:
            gate, listener = asyncio.Event(), CollectingListener()

            async def slow(messages, context):
                await gate.wait()
                return OK

            listener.answers = [slow]
            scene.broker.put("orders", 0, b"wanted", tag="paid")
            scene.broker.put("orders", 0, b"other", b"other", tag="sent")
            async with running(scene, listener, "paid"):
                assert listener.bodies == [b"wanted"]
                scene.broker.put("orders", 0, b"other", tag="sent")
                await scene.pass_time(1.0)
                assert scene.stored() is None
                gate.set()
                await scene.pass_time(6.0)
                assert scene.stored() == 4

    async def test_suspend_and_resume(self) -> None:
        async with PushScene() as scene:
            listener = CollectingListener()
            scene.consumer.suspend()
            async with running(scene, listener):
                scene.broker.put("orders", 0, b"a")
                await scene.pass_time(10.0)
                assert scene.broker.sent(PullMessage) == []
                assert scene.consumer.queues == [scene.broker.queue("orders", 0)]
                scene.consumer.resume()
                await scene.pass_time()
                assert listener.bodies == [b"a"]


class TestBackPressure:
    async def test_slow_listener_stops_pulls_and_keeps_its_queues(self) -> None:
        async with PushScene(settings=ConsumerSettings(consume_tasks=4, pull_messages_max=32)) as scene:
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, *[b"x"] * 3000)
            listener = CollectingListener(slow)
            async with running(scene, listener):
                await scene.pass_time(0.5)
                pulls = len(scene.broker.sent(PullMessage))
                assert 1000 < 32 * pulls <= 1000 + 2 * 32
                await scene.pass_time(130.0)
                assert len(scene.broker.sent(PullMessage)) == pulls
                assert len(scene.broker.heartbeats) >= 4
                assert scene.consumer.queues == [scene.broker.queue("orders", 0)]
                gate.set()
                for _ in range(400):
                    await scene.pass_time(0.05)
                assert sorted(listener.offsets()) == list(range(3000))
                await scene.pass_time(5.0)
                assert scene.stored() == 3000

    async def test_room_ends_the_wait_before_its_time(self) -> None:
        async with PushScene(settings=ConsumerSettings(queue_messages_max=4, pull_messages_max=4)) as scene:
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, *[b"x"] * 20)
            async with running(scene, CollectingListener(slow)):
                pulls = len(scene.broker.sent(PullMessage))
                assert pulls == 2
                gate.set()
                await scene.pass_time(0.0)
                assert len(scene.broker.sent(PullMessage)) > pulls

    async def test_limits_of_a_topic_divide_over_its_queues(self) -> None:
        async with PushScene(
            topics={"orders": 4},
            settings=ConsumerSettings(topic_messages_max=40, pull_messages_max=2, consume_tasks=1),
        ) as scene:
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            for queue_id in range(4):
                scene.broker.put("orders", queue_id, *[b"x"] * 100)
            async with running(scene, CollectingListener(slow)):
                await scene.pass_time(1.0)
                per_queue = [
                    len([p for p in scene.broker.sent(PullMessage) if p.queue_id == q]) for q in range(4)
                ]
                assert per_queue == [6, 6, 6, 6]
                gate.set()

    async def test_bytes_of_all_queues_together(self) -> None:
        async with PushScene(
            topics={"orders": 4},
            settings=ConsumerSettings(held_bytes_max=10_000, pull_messages_max=4, consume_tasks=1),
        ) as scene:
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            for queue_id in range(4):
                scene.broker.put("orders", queue_id, *[b"x" * 1000] * 50)
            listener = CollectingListener(slow)
            async with running(scene, listener):
                await scene.pass_time(1.0)
                assert len(scene.broker.sent(PullMessage)) <= 4 + 4
                gate.set()
                for _ in range(300):
                    await scene.pass_time(0.05)
                assert len(listener.offsets()) == 200


class TestFirstOffset:
    @pytest.mark.parametrize(("where", "expected"), [("last", []), ("first", [5, 6, 7]), (0, [5, 6, 7])])
    async def test_of_a_group_without_offsets(self, where, expected) -> None:
        async with PushScene(consume_from=where) as scene:
            scene.broker.put("orders", 0, *[b"x"] * 8)
            scene.broker.cut("orders", 0, 5)
            listener = CollectingListener()
            async with running(scene, listener):
                assert listener.offsets() == expected
                scene.broker.put("orders", 0, b"new")
                await scene.pass_time()
                assert listener.offsets() == [*expected, 8]

    async def test_stored_offset_goes_on(self) -> None:
        async with PushScene() as scene:
            scene.broker.put("orders", 0, *[b"x"] * 8)
            scene.broker.offsets[GROUP, scene.broker.queue("orders", 0)] = 6
            listener = CollectingListener()
            async with running(scene, listener):
                assert listener.offsets() == [6, 7]


class Outcomes(ConsumeHook):
    name = "outcomes"

    def __init__(self) -> None:
        self.seen: list[tuple[int, bool, str]] = []

    def after(self, context) -> None:
        self.seen.append((len(context.messages), context.success, context.outcome))


class TestHandlers:
    """Functions that take one message: what they mean is the same everywhere."""

    @pytest.mark.parametrize("options", [{}, {"ordered": True}, {"broadcasting": True}], ids=str)
    async def test_each_message_is_a_call_and_none_is_success(self, options) -> None:
        hook, seen = Outcomes(), []

        async def handle(message) -> None:
            seen.append((message.queue_offset, message.body))

        settings = ConsumerSettings(consume_message_batch_max_size=32)
        async with PushScene(
            consume_hooks=[hook], settings=settings, offset_store=MemoryOffsets(), **options
        ) as scene:
            for body in (b"a", b"b", b"c"):
                scene.broker.put("orders", 0, body)
            scene.consumer.on("orders")(handle)
            await scene.consumer.start()
            await scene.pass_time(2.0)
            assert seen == [(0, b"a"), (1, b"b"), (2, b"c")]
            assert hook.seen == [(1, True, "success")] * 3

    async def test_what_is_raised_comes_again_in_its_place_where_order_counts(self, caplog) -> None:
        hook, seen = Outcomes(), []

        async def handle(message: ReceivedMessage, context) -> None:
            seen.append((message.body, context.group))
            if len(seen) == 2:
                raise ValueError("no stock")

        async with PushScene(consume_hooks=[hook], ordered=True) as scene:
            scene.broker.put("orders", 0, b"a")
            scene.broker.put("orders", 0, b"b")
            scene.consumer.on("orders")(handle)
            await scene.consumer.start()
            await scene.pass_time(4.0)
            assert seen == [(b"a", GROUP), (b"b", GROUP), (b"b", GROUP)]
            assert [each[2] for each in hook.seen] == ["success", "exception", "success"]
        (record,) = [r for r in caplog.records if r.getMessage().startswith("messages were not consumed")]
        assert "problem='ValueError: no stock'" in record.getMessage()
        assert record.exc_info

    async def test_anything_else_that_is_returned_has_failed_and_the_log_says_so(self, caplog) -> None:
        hook = Outcomes()

        async def handle(message):
            return "done"

        async with PushScene(consume_hooks=[hook]) as scene:
            scene.broker.put("orders", 0, b"a")
            async with running(scene, handle):
                await scene.pass_time(1.0)
                assert hook.seen == [(1, False, "null")]
        assert "handle returned a str; return nothing or a ConsumeResult" in caplog.text

    @pytest.mark.parametrize("options", [{}, {"ordered": True}], ids=str)
    async def test_who_gives_a_message_up_may_say_why(self, options) -> None:
        async def handle(message: ReceivedMessage, context) -> None:
            context.delay_level_when_next_consume, context.reason = -1, "no such account"
            raise ValueError("lost")

        async with PushScene(topics={"orders": 1, f"%RETRY%{GROUP}": 1}, **options) as scene:
            scene.broker.put("orders", 0, b"a")
            async with running(scene, handle):
                await scene.pass_time(3.0)
                [dead] = scene.broker.sent(SendMessageV2)
                assert decode_properties(dead.properties or "")["MQFRAME_REASON"] == "no such account"

    @pytest.mark.parametrize("is_async", [True, False])
    async def test_hooks_may_be_called_in_place_of_handlers(self, is_async: bool) -> None:
        told, seen = [], []

        class InPlace(ConsumeHook):
            def __init__(self, letter: str) -> None:
                self.letter = letter

            def wrap(self, call, topic, clock, is_async, batch_max):
                told.append((self.letter, topic, clock, is_async, batch_max))

                def plain(messages, context):
                    seen.append((self.letter, messages[0].body))
                    return OK if messages[0].body == b"b" else call(messages, context)

                async def awaited(messages, context):
                    answer = plain(messages, context)
                    return answer if answer is OK else await answer

                return awaited if is_async else plain

        def handle(message) -> None:
            seen.append(("handler", message.body))

        async def handle_async(message) -> None:
            handle(message)

        with work_at_once():
            async with PushScene(consume_hooks=[InPlace("x"), InPlace("y")]) as scene:
                scene.broker.put("orders", 0, b"a", b"b")
                async with running(scene, handle_async if is_async else handle):
                    await scene.pass_time(1.0)
                assert told == [(name, "orders", scene.clock, is_async, 1) for name in "yx"]
        assert seen == [("x", b"a"), ("y", b"a"), ("handler", b"a"), ("x", b"b")]

    async def test_what_cannot_listen_is_refused_when_it_is_subscribed(self) -> None:
        async with PushScene() as scene:
            with pytest.raises(FixError, match="takes one message, and batch_max is 16"):
                scene.consumer.on("orders", batch_max=16)(lambda message: None)
            with pytest.raises(FixError, match="topic name is a function, not a str"):
                scene.consumer.on(lambda message: None)
            with pytest.raises(FixError, match="topic name is a int, not a str"):
                scene.consumer.subscribe(7, "*", lambda message: None)

            @scene.consumer.on("orders")
            def handle(message):
                """The function is what it was."""

            assert handle.__doc__ == "The function is what it was."


class TestTopicsThatAreMadeLater:
    async def test_they_are_looked_for_soon_and_then_less_often(self, caplog) -> None:
        async with PushScene(topics={"others": 1}) as scene:
            listener = CollectingListener()
            async with running(scene, listener):
                await scene.pass_time(59.9)
                asked = [each.topic for each in scene.broker.sent(GetRouteinfoByTopic)]
                assert 6 <= asked.count("orders") <= 14
                assert caplog.text.count("topic has no route") == 1

    @pytest.mark.parametrize("waited", [0.0, 3.0])
    async def test_they_are_consumed_within_a_second_or_as_long_as_was_waited(self, waited) -> None:
        async with PushScene(topics={"others": 1}) as scene:
            listener = CollectingListener()
            async with running(scene, listener):
                await scene.pass_time(waited)
                scene.broker.topics["orders"] = 1
                scene.broker.put("orders", 0, b"a")
                await scene.pass_time(max(1.0, waited))
                assert listener.bodies == [b"a"]

    async def test_what_another_client_learns_is_looked_at_at_once(self) -> None:
        async with PushScene(topics={"others": 1}) as scene:
            listener = CollectingListener()
            async with running(scene, listener):
                await scene.pass_time(60.0)
                scene.broker.topics["orders"] = 1
                scene.broker.put("orders", 0, b"a")
                settings = ClientSettings(nameserver=scene.broker.nameserver, instance_name="m2")
                another = ClientInstance(settings, scene.clock, ScriptedBroker(scene.clock, {"orders": 1}))
                await another.start()
                await another.route("orders")
                await scene.pass_time(0.1)
                assert listener.bodies == [b"a"]
                await scene.finish(another.stop())


class TestRunning:
    async def test_it_waits_for_name_servers_and_then_works(self, caplog) -> None:
        async with PushScene() as scene:
            listener = CollectingListener()
            scene.broker.put("orders", 0, b"a")
            scene.broker.script(GetRouteinfoByTopic, *[ConnectError("refused")] * 15)
            scene.consumer.subscribe("orders", "*", listener)
            work = asyncio.ensure_future(scene.consumer.run())
            await scene.pass_time(10.0)
            assert listener.bodies == [b"a"]
            scene.consumer.end()
            await scene.finish(work)
        assert "waiting for name servers group='billing' seconds=3 reason='no name server ans" in caplog.text
        assert "Traceback" not in caplog.text

    async def test_it_is_ended_while_it_waits(self) -> None:
        async with PushScene() as scene:
            scene.broker.script(GetRouteinfoByTopic, *[ConnectError("refused")] * 1000)
            scene.consumer.subscribe("orders", "*", CollectingListener())
            work = asyncio.ensure_future(scene.consumer.run())
            await scene.pass_time(7.5)
            assert not work.done()
            scene.consumer.end()
            await scene.pass_time()
            assert work.done()
            assert work.exception() is None

    async def test_it_fails_where_that_is_wanted(self) -> None:
        async with PushScene() as scene:
            scene.broker.script(GetRouteinfoByTopic, *[ConnectError("refused")] * 50)
            scene.consumer.subscribe("orders", "*", CollectingListener())
            with pytest.raises(RouteError, match="the consumer of group billing was not started"):
                await scene.finish(scene.consumer.run(fail_fast=True))
            assert scene.clock.monotonic() < 4.0
