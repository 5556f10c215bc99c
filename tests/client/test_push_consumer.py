"""The push consumer over a scripted broker, on a clock that only the tests move."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from mqframe.client.consumer_settings import ConsumerSettings
from mqframe.client.instance import ClientInstance
from mqframe.client.push_consumer import AsyncPushConsumer
from mqframe.client.settings import ClientSettings
from mqframe.core.consume_result import ConsumeResult
from mqframe.core.errors import (
    CallTimeout,
    ClosedError,
    FixError,
    MessageError,
    PluginError,
    RouteError,
    answer_error,
)
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
    HeartBeat,
    UnregisterClient,
    UpdateConsumerOffset,
)
from mqframe.core.requests.messages import ConsumerSendMsgBack, PullMessage
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.hooks.interfaces import AllocationStrategy, ConsumeHook
from mqframe.testing.manual_clock import ManualClock
from mqframe.testing.scripted_broker import ScriptedBroker

GROUP = "billing"
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


class Listener:
    """Notes what it is called with; answers what it is told, for ever the last answer."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers) or [OK]
        self.calls: list[list[tuple[int, int, bytes]]] = []

    async def __call__(self, messages, context):
        self.calls.append([(m.queue_id, m.queue_offset, m.body) for m in messages])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            return await answer(messages, context)
        return answer

    @property
    def offsets(self) -> list[int]:
        return [offset for call in self.calls for _, offset, _ in call]

    @property
    def bodies(self) -> list[bytes]:
        return [body for call in self.calls for _, _, body in call]


class Everything(AllocationStrategy):
    wire_name = "ALL"

    def allocate(self, group, client_id, queues, clients):
        return list(queues)


class Scene:
    def __init__(self, topics) -> None:
        self.clock = ManualClock()
        self.broker = ScriptedBroker(self.clock, topics)
        self.instance = ClientInstance(
            ClientSettings(nameserver=self.broker.nameserver, client_ip="10.1.1.1", instance_name="m1"),
            self.clock,
            self.broker,
        )
        self.consumer: AsyncPushConsumer

    def make(self, **options) -> AsyncPushConsumer:
        options = {"allocate": Everything(), "consume_from": "first", **options}
        self.consumer = AsyncPushConsumer(GROUP, instance=self.instance, clock=self.clock, **options)
        return self.consumer

    async def pass_time(self, seconds: float = 0.0) -> None:
        await self.clock.aadvance(seconds)

    def stored(self, queue_id: int = 0, topic: str = "orders") -> int | None:
        return self.broker.offsets.get((GROUP, self.broker.queue(topic, queue_id)))

    def committed(self) -> list[tuple[int, int]]:
        return [(r.queue_id, r.commit_offset) for r in self.broker.sent(UpdateConsumerOffset)]


def play(story, *, topics=None, **options):
    """Run `story(scene)` with a consumer that is not started yet."""

    async def whole():
        scene = Scene(topics or {"orders": 1})
        scene.make(**options)
        await scene.instance.start()
        try:
            await story(scene)
        finally:
            stopping = asyncio.ensure_future(scene.consumer.stop())
            while not stopping.done():
                await scene.pass_time(1.0)
            await stopping
            await scene.instance.stop()

    asyncio.run(whole())


@asynccontextmanager
async def running(scene, listener, expression="*", **options):
    scene.consumer.subscribe("orders", expression, listener, **options)
    await scene.consumer.start()
    await scene.pass_time()
    yield


class TestConstruction:
    def test_missing_plugins_are_named_with_their_install_line(self) -> None:
        from mqframe.hooks.manager import PluginManager

        nothing = PluginManager(find=list)
        with pytest.raises(PluginError, match="pip install mqframe-plugin-averagely"):
            AsyncPushConsumer(GROUP, nameserver="n:1", plugins=nothing)
        with pytest.raises(PluginError, match="pip install mqframe-plugin-offsetstore"):
            AsyncPushConsumer(GROUP, nameserver="n:1", allocate=Everything(), plugins=nothing)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [({"group": "no spaces"}, MessageError), ({"consume_from": "middle"}, FixError)],
    )
    def test_bad_options(self, options, problem) -> None:
        with pytest.raises(problem):
            AsyncPushConsumer(**{"group": GROUP, "nameserver": "n:1", "allocate": Everything(), **options})

    def test_bad_subscriptions(self) -> None:
        async def story(scene):
            for topic, expression, listener, batch in [
                ("no spaces", "*", Listener(), 1),
                ("orders", "||", Listener(), 1),
                ("orders", "*", "listener", 1),
                ("orders", "*", Listener(), 0),
            ]:
                with pytest.raises(FixError):
                    scene.consumer.subscribe(topic, expression, listener, batch_max=batch)
            with pytest.raises(FixError, match="no subscription"):
                await scene.consumer.start()

        play(story)

    def test_started_once(self) -> None:
        async def story(scene):
            async with running(scene, Listener()):
                with pytest.raises(ClosedError, match="is running"):
                    await scene.consumer.start()
                await scene.consumer.stop()
                with pytest.raises(ClosedError, match="was stopped"):
                    await scene.consumer.start()

        play(story)


class TestFlow:
    def test_messages_arrive_in_batches_and_progress_is_committed(self) -> None:
        async def story(scene):
            listener = Listener()
            scene.broker.put("orders", 0, b"a", b"b", b"c")
            async with running(scene, listener, batch_max=2):
                assert listener.calls == [[(0, 0, b"a"), (0, 1, b"b")], [(0, 2, b"c")]]
                assert scene.stored() is None
                scene.broker.put("orders", 0, b"d")
                await scene.pass_time()
                assert listener.bodies == [b"a", b"b", b"c", b"d"]
                await scene.pass_time(5.0)
                assert scene.stored() == 4

        play(story)

    def test_progress_rides_on_pulls(self) -> None:
        async def story(scene):
            scene.broker.put("orders", 0, b"a")
            async with running(scene, Listener()):
                scene.broker.put("orders", 0, b"b")
                await scene.pass_time()
                scene.broker.put("orders", 0, b"c")
                await scene.pass_time()
                assert [(p.sys_flag & 1, p.commit_offset) for p in scene.broker.sent(PullMessage)] == [
                    (0, 0),
                    (1, 1),
                    (1, 2),
                    (1, 3),
                ] or scene.stored() in (1, 2, 3)
                assert scene.committed() == []
                assert all(
                    p.sys_flag & 2 and p.suspend_timeout_millis == 15_000
                    for p in scene.broker.sent(PullMessage)
                )

        play(story)

    def test_tags_are_compared_by_text(self) -> None:
        async def story(scene):
            listener = Listener()
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

        play(story)

    def test_subscription_is_told_before_the_first_pull(self) -> None:
        async def story(scene):
            async with running(scene, Listener(), "a || b"):
                kinds = [type(request) for request in scene.broker.requests]
                assert kinds.index(HeartBeat) < kinds.index(PullMessage)
                (group,) = scene.broker.heartbeats[-1].consumer_data_set
                wanted, returned = group.subscription_data_set
                if wanted.topic != "orders":
                    wanted, returned = returned, wanted
                assert (group.group_name, group.message_model, group.consume_type) == (
                    GROUP,
                    "CLUSTERING",
                    "CONSUME_PASSIVELY",
                )
                assert group.consume_from_where == "CONSUME_FROM_FIRST_OFFSET"
                assert (wanted.sub_string, wanted.tags_set) == ("a || b", ["a", "b"])
                assert (returned.topic, returned.sub_string) == (f"%RETRY%{GROUP}", "*")
                assert {p.sub_version for p in scene.broker.sent(PullMessage)} == {wanted.sub_version}

        play(story)

    def test_broker_that_forgot_the_subscription_is_told_again(self) -> None:
        async def story(scene):
            scene.broker.script(PullMessage, answer_error(25, "not latest", scene.broker.address))
            scene.broker.put("orders", 0, b"a")
            listener = Listener()
            async with running(scene, listener):
                beats = len(scene.broker.heartbeats)
                assert beats >= 2
                assert listener.calls == []
                await scene.pass_time(3.0)
                assert listener.bodies == [b"a"]

        play(story)

    def test_failed_pulls_are_tried_again_after_3_seconds(self) -> None:
        async def story(scene):
            scene.broker.script(
                PullMessage, CallTimeout("late"), answer_error(215, "slow", scene.broker.address)
            )
            scene.broker.put("orders", 0, b"a")
            listener = Listener()
            async with running(scene, listener):
                await scene.pass_time(2.9)
                assert len(scene.broker.sent(PullMessage)) == 1
                await scene.pass_time(0.1)
                assert len(scene.broker.sent(PullMessage)) == 2
                await scene.pass_time(0.02)
                assert listener.bodies == [b"a"]

        play(story)

    def test_offset_that_does_not_exist_is_corrected(self) -> None:
        async def story(scene):
            queue = scene.broker.queue("orders", 0)
            scene.broker.offsets[GROUP, queue] = 3
            scene.broker.put("orders", 0, *[b"%d" % n for n in range(10)])
            scene.broker.cut("orders", 0, 7)
            listener = Listener()
            async with running(scene, listener):
                assert listener.offsets == [7, 8, 9]
                assert scene.committed()[0] == (0, 7)
                await scene.pass_time(5.0)
                assert scene.stored() == 10

        play(story)

    def test_offset_beyond_the_end_goes_back(self) -> None:
        async def story(scene):
            scene.broker.offsets[GROUP, scene.broker.queue("orders", 0)] = 30
            scene.broker.put("orders", 0, b"a", b"b")
            listener = Listener()
            async with running(scene, listener):
                assert listener.calls == []
                assert scene.stored() == 2
                scene.broker.put("orders", 0, b"c")
                await scene.pass_time()
                assert listener.offsets == [2]

        play(story)

    def test_suspend_and_resume(self) -> None:
        async def story(scene):
            listener = Listener()
            scene.consumer.suspend()
            async with running(scene, listener):
                scene.broker.put("orders", 0, b"a")
                await scene.pass_time(10.0)
                assert scene.broker.sent(PullMessage) == []
                assert scene.consumer.queues == [scene.broker.queue("orders", 0)]
                scene.consumer.resume()
                await scene.pass_time()
                assert listener.bodies == [b"a"]

        play(story)


class TestBackPressure:
    def test_slow_listener_stops_pulls_and_keeps_its_queues(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, *[b"x"] * 3000)
            listener = Listener(slow)
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
                assert sorted(listener.offsets) == list(range(3000))
                await scene.pass_time(5.0)
                assert scene.stored() == 3000

        play(story, settings=ConsumerSettings(consume_tasks=4))

    def test_room_ends_the_wait_before_its_time(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, *[b"x"] * 20)
            async with running(scene, Listener(slow)):
                pulls = len(scene.broker.sent(PullMessage))
                assert pulls == 2
                gate.set()
                await scene.pass_time(0.0)
                assert len(scene.broker.sent(PullMessage)) > pulls

        play(story, settings=ConsumerSettings(queue_messages_max=4, pull_messages_max=4))

    def test_limits_of_a_topic_divide_over_its_queues(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            for queue_id in range(4):
                scene.broker.put("orders", queue_id, *[b"x"] * 100)
            async with running(scene, Listener(slow)):
                await scene.pass_time(1.0)
                per_queue = [
                    len([p for p in scene.broker.sent(PullMessage) if p.queue_id == q]) for q in range(4)
                ]
                assert per_queue == [6, 6, 6, 6]
                gate.set()

        play(
            story,
            topics={"orders": 4},
            settings=ConsumerSettings(topic_messages_max=40, pull_messages_max=2, consume_tasks=1),
        )

    def test_bytes_of_all_queues_together(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            for queue_id in range(4):
                scene.broker.put("orders", queue_id, *[b"x" * 1000] * 50)
            listener = Listener(slow)
            async with running(scene, listener):
                await scene.pass_time(1.0)
                assert len(scene.broker.sent(PullMessage)) <= 4 + 4
                gate.set()
                for _ in range(300):
                    await scene.pass_time(0.05)
                assert len(listener.offsets) == 200

        play(
            story,
            topics={"orders": 4},
            settings=ConsumerSettings(held_bytes_max=10_000, pull_messages_max=4, consume_tasks=1),
        )


def refuse_back(scene, times: int = 1) -> None:
    """No broker takes messages back, and there is no retry topic to send copies to."""
    scene.broker.script(
        ConsumerSendMsgBack, *[answer_error(1, "no", scene.broker.address) for _ in range(times)]
    )


def handed_back(scene) -> list[tuple[int, int]]:
    """(delay level, maximum) of the messages that went back."""
    return [(each.delay_level, each.max_reconsume_times) for each in scene.broker.sent(ConsumerSendMsgBack)]


class TestFailure:
    @pytest.mark.parametrize("answer", [LATER, None, "yes", ValueError("no"), asyncio.CancelledError()])
    def test_failed_message_is_handed_back(self, answer, caplog) -> None:
        async def story(scene):
            listener = Listener(answer, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                assert listener.offsets == [0, 1]
                (request,) = scene.broker.sent(ConsumerSendMsgBack)
                assert (request.group, request.origin_topic, request.bname) == (
                    GROUP,
                    "orders",
                    scene.broker.broker_name,
                )
                assert (request.delay_level, request.max_reconsume_times) == (0, 16)
                await scene.pass_time(60.0)
                assert listener.offsets == [0, 1]
                assert scene.stored() == 2

        play(story)
        assert len([r for r in caplog.records if "not consumed" in r.getMessage()]) == 1

    def test_message_that_nobody_takes_back_is_consumed_again_after_5_seconds(self) -> None:
        async def story(scene):
            refuse_back(scene)
            listener = Listener(LATER, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                await scene.pass_time(4.9)
                assert listener.offsets == [0, 1]
                assert scene.stored() in (None, 0)
                await scene.pass_time(0.2)
                assert listener.offsets == [0, 1, 0]
                await scene.pass_time(5.0)
                assert scene.stored() == 2

        play(story)

    def test_times_are_counted(self) -> None:
        times = []

        async def note(messages, context):
            times.append(messages[0].reconsume_times)
            return LATER

        async def story(scene):
            refuse_back(scene, 2)
            scene.broker.put("orders", 0, b"a")
            async with running(scene, Listener(note)):
                await scene.pass_time(30.0)
                assert handed_back(scene) == [(0, 16)] * 3

        play(story)
        assert times == [0, 1, 2]

    @pytest.mark.parametrize("level", [-1, 0, 5])
    def test_listener_names_the_delay_level(self, level) -> None:
        async def fail(messages, context):
            context.delay_level_when_next_consume = level
            return LATER

        async def story(scene):
            scene.broker.put("orders", 0, b"a")
            async with running(scene, Listener(fail)):
                assert handed_back(scene) == [(level, 16)]

        play(story)

    def test_delay_level_that_is_none_is_a_failure(self) -> None:
        async def fail(messages, context):
            context.delay_level_when_next_consume = "soon"
            return OK

        async def story(scene):
            scene.broker.put("orders", 0, b"a")
            async with running(scene, Listener(fail)):
                assert handed_back(scene) == [(0, 16)]

        play(story)

    @pytest.mark.parametrize(("option", "told"), [(-1, 16), (0, 0), (3, 3)])
    def test_maximum_is_told_with_each_message(self, option, told) -> None:
        async def story(scene):
            scene.broker.put("orders", 0, b"a")
            async with running(scene, Listener(LATER)):
                assert handed_back(scene) == [(0, told)]

        play(story, settings=ConsumerSettings(max_reconsume_times=option))

    def test_prefix_is_acknowledged_and_the_rest_handed_back(self) -> None:
        async def first_two(messages, context):
            context.ack_index = 1
            return OK

        async def story(scene):
            listener = Listener(first_two)
            scene.broker.put("orders", 0, *[b"%d" % n for n in range(4)])
            async with running(scene, listener, batch_max=4):
                assert [[o for _, o, _ in call] for call in listener.calls] == [[0, 1, 2, 3]]
                places = [request.offset for request in scene.broker.sent(ConsumerSendMsgBack)]
                assert len(set(places)) == 2
                await scene.pass_time(5.0)
                assert scene.stored() == 4

        play(story)

    def test_part_of_a_batch_that_nobody_takes_back_is_consumed_again(self) -> None:
        async def story(scene):
            refuse_back(scene)
            listener = Listener(LATER, OK)
            scene.broker.put("orders", 0, *[b"%d" % n for n in range(3)])
            async with running(scene, listener, batch_max=3):
                await scene.pass_time(5.0)
                assert [[o for _, o, _ in call] for call in listener.calls] == [[0, 1, 2], [0]]
                await scene.pass_time(5.0)
                assert scene.stored() == 3

        play(story)

    def test_stop_hands_back_what_failed_meanwhile(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def fail(messages, context):
                await gate.wait()
                return LATER

            scene.broker.put("orders", 0, b"a")
            async with running(scene, Listener(fail)):
                stopping = asyncio.ensure_future(scene.consumer.stop())
                await scene.pass_time(1.0)
                assert handed_back(scene) == []
                gate.set()
                await scene.pass_time(1.0)
                assert handed_back(scene) == [(0, 16)]
                await stopping
                assert scene.stored() == 1

        play(story)

    def test_broadcasting_drops_what_failed(self, tmp_path) -> None:
        async def story(scene):
            listener = Listener(LATER, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                for _ in range(1000):
                    if len(listener.offsets) == 2:
                        break
                    await asyncio.sleep(0.001)  # files are read in a thread, which takes real time
                    await scene.pass_time(0.1)
                await scene.pass_time(20.0)
                assert listener.offsets == [0, 1]
                assert scene.committed() == []
                assert scene.broker.sent(GetConsumerListByGroup) == []
                assert scene.broker.heartbeats[-1].consumer_data_set[0].message_model == "BROADCASTING"

        play(story, broadcasting=True, settings=ConsumerSettings(offset_directory=tmp_path))

    def test_message_that_takes_too_long_is_handed_back(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return LATER

            listener = Listener(hang, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                await scene.pass_time(899.0)
                assert sorted(listener.offsets) == [0, 1]
                assert handed_back(scene) == []
                await scene.pass_time(61.0)
                assert handed_back(scene) == [(3, 16)]
                await scene.pass_time(5.0)
                assert scene.stored() == 2
                # Its listener's answer comes too late to count.
                gate.set()
                await scene.pass_time(5.0)
                assert handed_back(scene) == [(3, 16)]
                assert scene.stored() == 2

        play(story)

    def test_wait_in_the_client_counts_towards_the_timeout(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return OK

            listener = Listener(hang, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                await scene.pass_time(25.0)
                assert handed_back(scene) == [(3, 16)] * 2
                gate.set()
                await scene.pass_time(10.0)
                assert listener.offsets == [0]
                assert scene.stored() == 2

        play(story, settings=ConsumerSettings(consume_tasks=1, consume_timeout_seconds=10.0))


class TestHooks:
    def test_hooks_see_every_call_and_cannot_stop_it(self) -> None:
        seen = []

        class Noting(ConsumeHook):
            name = "noting"

            def before(self, context):
                seen.append(("before", context.queue.queue_id, len(context.messages)))

            def after(self, context):
                seen.append(("after", context.outcome, context.success, type(context.error)))

        class Faulty(ConsumeHook):
            def before(self, context):
                raise RuntimeError("hook")

            def after(self, context):
                raise RuntimeError("hook")

        async def story(scene):
            listener = Listener(ValueError("x"), LATER, None, OK)
            scene.broker.put("orders", 0, *[b"m"] * 4)
            async with running(scene, listener):
                assert len(listener.calls) == 4

        play(story, consume_hooks=[Faulty(), Noting()], settings=ConsumerSettings(consume_tasks=1))
        assert seen == [
            ("before", 0, 1),
            ("after", "exception", False, ValueError),
            ("before", 0, 1),
            ("after", "failed", False, type(None)),
            ("before", 0, 1),
            ("after", "null", False, type(None)),
            ("before", 0, 1),
            ("after", "success", True, type(None)),
        ]


class TestRebalance:
    def test_shares_among_members(self) -> None:
        async def story(scene):
            scene.broker.members[GROUP] = ["10.1.1.0@other", "10.1.1.1@m1"]
            async with running(scene, Listener()):
                assert [q.queue_id for q in scene.consumer.queues] == [2, 3]
                scene.broker.members[GROUP] = ["10.1.1.1@m1"]
                scene.consumer.on_members_changed()
                await scene.pass_time()
                assert [q.queue_id for q in scene.consumer.queues] == [0, 1, 2, 3]
                scene.broker.members[GROUP] = ["10.1.1.1@m1", "10.1.1.2@new", "10.1.1.3@new"]
                await scene.pass_time(20.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0, 1]

        play(story, topics={"orders": 4}, allocate="averagely")

    def test_dropped_queue_commits_first_and_never_again(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def second_hangs(messages, context):
                if messages[0].queue_offset == 1:
                    await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b", b"c")
            async with running(scene, Listener(second_hangs)):
                scene.broker.members[GROUP] = ["10.1.1.0@other", "10.1.1.1@m1"]
                scene.consumer.on_members_changed()
                await scene.pass_time()
                assert scene.consumer.queues == []
                assert scene.committed() == [(0, 1)]
                gate.set()
                await scene.pass_time(30.0)
                assert scene.committed() == [(0, 1)]

        play(story, allocate="averagely")

    def test_strategy_that_fails_keeps_the_queues(self) -> None:
        class Moody(Everything):
            fails = False

            def allocate(self, group, client_id, queues, clients):
                if self.fails:
                    raise RuntimeError("moody")
                return super().allocate(group, client_id, queues, clients)

        moody = Moody()

        async def story(scene):
            listener = Listener()
            async with running(scene, listener):
                moody.fails = True
                scene.broker.topics["orders"] = 4
                await scene.pass_time(60.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0, 1]
                scene.broker.put("orders", 1, b"still")
                await scene.pass_time()
                assert listener.bodies == [b"still"]

        play(story, topics={"orders": 2}, allocate=moody)

    def test_member_list_that_cannot_be_had_keeps_the_queues_and_is_asked_again_soon(self) -> None:
        async def story(scene):
            async with running(scene, Listener()):
                scene.broker.script(GetConsumerListByGroup, CallTimeout("late"))
                asked = len(scene.broker.sent(GetConsumerListByGroup))
                await scene.pass_time(20.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0]
                await scene.pass_time(1.0)
                assert len(scene.broker.sent(GetConsumerListByGroup)) == asked + 2

        play(story)

    def test_new_queues_are_taken_when_the_route_changes(self) -> None:
        async def story(scene):
            listener = Listener()
            async with running(scene, listener):
                scene.broker.topics["orders"] = 2
                scene.broker.put("orders", 1, b"new")
                await scene.pass_time(30.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0, 1]
                assert listener.bodies == [b"new"]

        play(story)

    def test_topic_may_come_later(self) -> None:
        async def story(scene):
            listener = Listener()
            scene.consumer.subscribe("later", "*", listener)
            async with running(scene, Listener()):
                scene.broker.topics["later"] = 1
                scene.broker.put("later", 0, b"a")
                await scene.pass_time(20.0)
                assert listener.bodies == [b"a"]

        play(story)

    def test_no_name_server_is_an_error_at_the_start(self) -> None:
        async def story(scene):
            scene.broker.script(GetRouteinfoByTopic, *[CallTimeout("late")] * 3)
            scene.consumer.subscribe("orders", "*", Listener())
            with pytest.raises(RouteError, match="no name server answered"):
                await scene.consumer.start()

        play(story)

    def test_queue_that_nobody_pulls_is_taken_anew(self) -> None:
        async def story(scene):
            hang = asyncio.Event()

            async def never(request):
                await hang.wait()

            scene.broker.script(PullMessage, never)
            listener = Listener()
            async with running(scene, listener):
                scene.broker.put("orders", 0, b"a")
                await scene.pass_time(120.0)
                assert listener.calls == []
                await scene.pass_time(21.0)
                assert listener.bodies == [b"a"]

        play(story)

    def test_unsubscribe_and_subscribe_while_running(self) -> None:
        async def story(scene):
            refunds = Listener()
            async with running(scene, Listener()):
                scene.consumer.subscribe("refunds", "*", refunds)
                scene.broker.put("refunds", 0, b"r")
                await scene.pass_time()
                assert refunds.bodies == [b"r"]
                scene.consumer.unsubscribe("orders")
                await scene.pass_time()
                assert [q.topic for q in scene.consumer.queues] == ["refunds"]
                (group,) = scene.broker.heartbeats[-1].consumer_data_set
                assert {wanted.topic for wanted in group.subscription_data_set} == {
                    "refunds",
                    f"%RETRY%{GROUP}",
                }

        play(story, topics={"orders": 1, "refunds": 1})


class TestFirstOffset:
    @pytest.mark.parametrize(("where", "expected"), [("last", []), ("first", [5, 6, 7]), (0, [5, 6, 7])])
    def test_of_a_group_without_offsets(self, where, expected) -> None:
        async def story(scene):
            scene.broker.put("orders", 0, *[b"x"] * 8)
            scene.broker.cut("orders", 0, 5)
            listener = Listener()
            async with running(scene, listener):
                assert listener.offsets == expected
                scene.broker.put("orders", 0, b"new")
                await scene.pass_time()
                assert listener.offsets == [*expected, 8]

        play(story, consume_from=where)

    def test_stored_offset_goes_on(self) -> None:
        async def story(scene):
            scene.broker.put("orders", 0, *[b"x"] * 8)
            scene.broker.offsets[GROUP, scene.broker.queue("orders", 0)] = 6
            listener = Listener()
            async with running(scene, listener):
                assert listener.offsets == [6, 7]

        play(story)


class TestStop:
    def test_running_listeners_finish_and_are_committed(self) -> None:
        async def story(scene):
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b", b"c")
            listener = Listener(slow)
            async with running(scene, listener):
                stopping = asyncio.ensure_future(scene.consumer.stop())
                await scene.pass_time(1.0)
                assert not stopping.done()
                gate.set()
                await scene.pass_time()
                await stopping
                assert listener.offsets == [0]
                assert scene.stored() == 1
                assert [r.consumer_group for r in scene.broker.sent(UnregisterClient)] == [GROUP]
                assert scene.consumer.queues == []

        play(story, settings=ConsumerSettings(consume_tasks=1))

    def test_listener_that_does_not_end_is_left_after_a_time(self) -> None:
        async def story(scene):
            async def hang(messages, context):
                await asyncio.Event().wait()

            scene.broker.put("orders", 0, b"a")
            async with running(scene, Listener(hang)):
                stopping = asyncio.ensure_future(scene.consumer.stop())
                await scene.pass_time(29.0)
                assert not stopping.done()
                await scene.pass_time(1.0)
                await stopping
                assert scene.stored() in (None, 0)

        play(story)

    def test_run_ends_with_stop(self) -> None:
        async def story(scene):
            listener = Listener()
            scene.broker.put("orders", 0, b"a")
            scene.consumer.subscribe("orders", "*", listener)
            run = asyncio.ensure_future(scene.consumer.run())
            await scene.pass_time()
            assert listener.bodies == [b"a"]
            await scene.consumer.stop()
            await run
            assert scene.stored() == 1

        play(story)
