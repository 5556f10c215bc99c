"""What becomes of messages whose listener fails, is late or is hooked, in concurrent consumption."""

from __future__ import annotations

import asyncio
import threading
import zlib

import attrs
import pytest
from mqframe_testing.consuming import CollectingListener
from mqframe_testing.simulation.pools import work_at_once
from push_scenes import GROUP, LATER, OK, PushScene, running

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push import assembly
from mqframe.client.consuming.push.consume_service import ConsumeService
from mqframe.core.codes import SysFlag
from mqframe.core.consuming.consumer_statistics import TopicStatistics
from mqframe.core.errors import (
    answer_error,
)
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
)
from mqframe.core.requests.messages import ConsumerSendMsgBack, SendMessageV2
from mqframe.core.retry.policy import DEAD_LETTER_REASON
from mqframe.core.storage.record import body_crc
from mqframe.hooks.interfaces import ConsumeHook

CHANGED = (
    f"body of 1 bytes was changed since it was stored: its CRC is {body_crc(b'c'):#010x}, and the record says"
    f" {body_crc(b'b'):#010x}; to read it nevertheless, set client.check_body_crc = false"
)


WAIT = 120.0
"""Seconds after which a test that would hang fails instead."""


def reason_in(request: SendMessageV2) -> str | None:
    """What a copy says that it is a dead letter for."""
    return decode_properties(request.properties or "").get(DEAD_LETTER_REASON)


def refuse_back(scene, times: int = 1) -> None:
    """No broker takes messages back, and there is no retry topic to send copies to."""
    scene.broker.script(
        ConsumerSendMsgBack, *[answer_error(1, "no", scene.broker.address) for _ in range(times)]
    )


def handed_back(scene) -> list[tuple[int, int | None]]:
    """(delay level, maximum) of the messages that went back."""
    return [(each.delay_level, each.max_reconsume_times) for each in scene.broker.sent(ConsumerSendMsgBack)]


class TestFailure:
    @pytest.mark.parametrize("answer", [LATER, None, "yes", ValueError("no"), asyncio.CancelledError()])
    async def test_failed_message_is_handed_back(self, answer, caplog) -> None:
        async with PushScene() as scene:
            listener = CollectingListener(answer, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                assert listener.offsets() == [0, 1]
                (request,) = scene.broker.sent(ConsumerSendMsgBack)
                assert (request.group, request.origin_topic, request.bname) == (
                    GROUP,
                    "orders",
                    scene.broker.broker_name,
                )
                assert (request.delay_level, request.max_reconsume_times) == (0, None)
                await scene.pass_time(60.0)
                assert listener.offsets() == [0, 1]
                assert scene.stored() == 2
        assert len([r for r in caplog.records if "not consumed" in r.getMessage()]) == 1

    @pytest.mark.parametrize("batch_max", [1, 4])
    async def test_what_cannot_be_unpacked_is_a_dead_letter_at_once_and_the_others_are_tried_again(
        self, batch_max
    ) -> None:
        async with PushScene() as scene:
            scene.instance.settings = attrs.evolve(scene.instance.settings, unpacked_bytes_max=100)
            came = []

            async def listener(messages, context):
                came.extend((m.queue_offset, m.body) for m in messages)
                return OK

            bomb = zlib.compress(b"x" * 101)
            scene.broker.put("orders", 0, b"a")
            scene.broker.put("orders", 0, bomb, b"damaged", sys_flag=SysFlag.COMPRESSED)
            scene.broker.put("orders", 0, zlib.compress(b"x" * 100), sys_flag=SysFlag.COMPRESSED)
            async with running(scene, listener, batch_max=batch_max):
                await scene.pass_time(10.0)
                back = scene.broker.sent(ConsumerSendMsgBack)
                dead = sorted(each.offset for each in back if each.delay_level == -1)
                assert dead == [1000, 2000]
                again = sorted(each.offset for each in back if each.delay_level == 0)
                assert again == ([] if batch_max == 1 else [0, 3000])
                assert came == [(0, b"a"), (3, b"x" * 100)][: 2 if batch_max == 1 else 1]
                assert scene.stored() == 4

    @pytest.mark.parametrize("checks", [True, False])
    async def test_a_damaged_body_is_a_dead_letter_that_says_why(self, checks) -> None:
        async with PushScene() as scene:
            scene.instance.settings = attrs.evolve(scene.instance.settings, check_body_crc=checks)
            scene.broker.topics[f"%RETRY%{GROUP}"] = 1
            came = []

            async def listener(messages, context):
                came.extend((m.queue_offset, m.body) for m in messages)
                return OK

            scene.broker.put("orders", 0, b"a", b"b", b"c")
            scene.broker.damage("orders", 0, 1)
            async with running(scene, listener):
                await scene.pass_time(10.0)
                assert came == ([(0, b"a"), (2, b"c")] if checks else [(0, b"a"), (1, b"c"), (2, b"c")])
                sent = [(each.topic, reason_in(each)) for each in scene.broker.sent(SendMessageV2)]
                assert sent == ([(f"%RETRY%{GROUP}", CHANGED)] if checks else [])
                assert scene.broker.sent(ConsumerSendMsgBack) == []
                assert scene.stored() == 3

    async def test_message_that_nobody_takes_back_is_consumed_again_after_5_seconds(self) -> None:
        async with PushScene() as scene:
            refuse_back(scene)
            listener = CollectingListener(LATER, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                await scene.pass_time(4.9)
                assert listener.offsets() == [0, 1]
                assert scene.stored() in (None, 0)
                await scene.pass_time(0.2)
                assert listener.offsets() == [0, 1, 0]
                await scene.pass_time(5.0)
                assert scene.stored() == 2

    async def test_times_are_counted(self) -> None:
        times = []

        async def note(messages, context):
            times.append(messages[0].reconsume_times)
            return LATER

        async with PushScene() as scene:
            refuse_back(scene, 2)
            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener(note)):
                await scene.pass_time(30.0)
                assert handed_back(scene) == [(0, None)] * 3
        assert times == [0, 1, 2]

    @pytest.mark.parametrize("level", [-1, 0, 5])
    async def test_listener_names_the_delay_level(self, level) -> None:
        async def fail(messages, context):
            context.delay_level_when_next_consume = level
            return LATER

        async with PushScene() as scene:
            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener(fail)):
                assert handed_back(scene) == [(level, None)]

    async def test_delay_level_that_is_none_is_a_failure(self) -> None:
        async def fail(messages, context):
            context.delay_level_when_next_consume = "soon"
            return OK

        async with PushScene() as scene:
            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener(fail)):
                assert handed_back(scene) == [(0, None)]

    @pytest.mark.parametrize(("option", "told"), [(-1, None), (0, None), (3, 3)])
    async def test_only_a_maximum_of_its_own_is_told_with_each_message(self, option, told) -> None:
        async with PushScene(settings=ConsumerSettings(max_reconsume_times=option)) as scene:
            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener(LATER)):
                assert handed_back(scene) == [(0, told)]

    async def test_prefix_is_acknowledged_and_the_rest_handed_back(self) -> None:
        async def first_two(messages, context):
            context.ack_index = 1
            return OK

        async with PushScene() as scene:
            listener = CollectingListener(first_two)
            scene.broker.put("orders", 0, *[b"%d" % n for n in range(4)])
            async with running(scene, listener, batch_max=4):
                assert [[o for _, o, _ in call] for call in listener.calls] == [[0, 1, 2, 3]]
                places = [request.offset for request in scene.broker.sent(ConsumerSendMsgBack)]
                assert len(set(places)) == 2
                await scene.pass_time(5.0)
                assert scene.stored() == 4

    async def test_part_of_a_batch_that_nobody_takes_back_is_consumed_again(self) -> None:
        async with PushScene() as scene:
            refuse_back(scene)
            listener = CollectingListener(LATER, OK)
            scene.broker.put("orders", 0, *[b"%d" % n for n in range(3)])
            async with running(scene, listener, batch_max=3):
                await scene.pass_time(5.0)
                assert [[o for _, o, _ in call] for call in listener.calls] == [[0, 1, 2], [0]]
                await scene.pass_time(5.0)
                assert scene.stored() == 3

    async def test_stop_hands_back_what_failed_meanwhile(self) -> None:
        async with PushScene() as scene:
            gate = asyncio.Event()

            async def fail(messages, context):
                await gate.wait()
                return LATER

            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener(fail)):
                stopping = asyncio.ensure_future(scene.consumer.stop())
                await scene.pass_time(1.0)
                assert handed_back(scene) == []
                gate.set()
                await scene.pass_time(1.0)
                assert handed_back(scene) == [(0, None)]
                await stopping
                assert scene.stored() == 1

    @pytest.mark.parametrize("steps", range(12))
    async def test_stop_waits_for_what_is_handed_back_at_the_same_time(self, steps) -> None:
        async with PushScene() as scene:
            gate = asyncio.Event()

            async def fail(messages, context):
                await gate.wait()
                return LATER

            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener(fail)):
                stopping = asyncio.ensure_future(scene.consumer.stop())
                for _ in range(steps):
                    await asyncio.sleep(0)
                gate.set()
                await scene.pass_time(1.0)
                await stopping
                assert handed_back(scene) == [(0, None)]

    async def test_broadcasting_drops_what_failed(self, tmp_path) -> None:
        with work_at_once():  # local offsets are read and written in threads
            async with PushScene(
                broadcasting=True, settings=ConsumerSettings(offset_directory=tmp_path)
            ) as scene:
                listener = CollectingListener(LATER, OK)
                scene.broker.put("orders", 0, b"a", b"b")
                async with running(scene, listener):
                    await scene.pass_time(20.0)
                    assert listener.offsets() == [0, 1]
                    assert scene.committed() == []
                    assert scene.broker.sent(GetConsumerListByGroup) == []
                    assert scene.broker.heartbeats[-1].consumer_data_set[0].message_model == "BROADCASTING"

    async def test_message_that_takes_too_long_is_handed_back(self) -> None:
        async with PushScene() as scene:
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return LATER

            listener = CollectingListener(hang, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                await scene.pass_time(899.0)
                assert sorted(listener.offsets()) == [0, 1]
                assert handed_back(scene) == []
                await scene.pass_time(61.0)
                assert handed_back(scene) == [(3, None)]
                await scene.pass_time(5.0)
                assert scene.stored() == 2
                # Its listener's answer comes too late to count.
                gate.set()
                await scene.pass_time(5.0)
                assert handed_back(scene) == [(3, None)]
                assert scene.stored() == 2

    async def test_wait_in_the_client_counts_towards_the_timeout(self) -> None:
        async with PushScene(
            settings=ConsumerSettings(consume_tasks=1, consume_timeout_seconds=10.0)
        ) as scene:
            gate = asyncio.Event()

            async def hang(messages, context):
                await gate.wait()
                return OK

            listener = CollectingListener(hang, OK)
            scene.broker.put("orders", 0, b"a", b"b")
            async with running(scene, listener):
                await scene.pass_time(25.0)
                assert handed_back(scene) == [(3, None)] * 2
                gate.set()
                await scene.pass_time(10.0)
                assert listener.offsets() == [0]
                assert scene.stored() == 2


class TestHooks:
    async def test_hooks_see_every_call_and_cannot_stop_it(self) -> None:
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

        async with PushScene(
            consume_hooks=[Faulty(), Noting()], settings=ConsumerSettings(consume_tasks=1)
        ) as scene:
            listener = CollectingListener(ValueError("x"), LATER, None, OK)
            scene.broker.put("orders", 0, *[b"m"] * 4)
            async with running(scene, listener):
                assert len(listener.calls) == 4
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


class Threaded:
    """A plain listener that takes one message, called by threads of workers.

    It fails once at offsets in `failing`; at those in `stuck` it waits until it is let go.
    """

    def __init__(self, failing=(), stuck=()) -> None:
        self.began: list[int] = []
        self.ended: list[int] = []
        self.failing = set(failing)
        self.stuck = stuck
        self.let_go = threading.Event()

    def __call__(self, message: ReceivedMessage) -> None:
        offset = message.queue_offset
        self.began.append(offset)
        if offset in self.stuck:
            assert self.let_go.wait(WAIT)
        if offset in self.failing:
            self.failing.discard(offset)
            raise ValueError(offset)
        self.ended.append(offset)


async def until(scene, holds) -> None:
    """Threads have got so far. They take real time, the clock of the scene stands."""
    async with asyncio.timeout(WAIT):
        while not holds():
            await scene.pass_time()
            await asyncio.sleep(0)


@pytest.fixture
def services(monkeypatch) -> list[ConsumeService]:
    """Those of the consumers that are started in the test."""
    made: list[ConsumeService] = []

    def make(*parts) -> ConsumeService:
        made.append(ConsumeService(*parts))
        return made[-1]

    monkeypatch.setattr(assembly, "ConsumeService", make)
    return made


async def warmed_up(scene, listener, services) -> TopicStatistics:
    """Workers know that `listener` is quick: from now on they get several messages at once. Its counts."""
    scene.broker.put("orders", 0, b"first")
    await scene.pass_time(1.0)
    await until(scene, lambda: listener.ended == [0])
    (service,) = services
    for _ in range(200):  # however long the first one took
        service._threads._pace.note(0.0)
    assert service._threads.quick
    await until(scene, lambda: service._statistics.topics == ["orders"])
    return service._statistics._topics["orders"]


class TestQuickListeners:
    async def test_each_message_is_handled_once_and_those_that_fail_go_back(self, services) -> None:
        async with PushScene() as scene:
            listener = Threaded(failing=[5, 70, 71])
            async with running(scene, listener):
                counted = await warmed_up(scene, listener, services)
                scene.broker.put("orders", 0, *[b"x"] * 300)
                await scene.pass_time(1.0)
                await until(scene, lambda: len(scene.broker.sent(ConsumerSendMsgBack)) == 3)
                await until(scene, lambda: len(listener.ended) == 298)
                await scene.pass_time(10.0)
                assert sorted(listener.began) == list(range(301))
                assert sorted(request.offset for request in scene.broker.sent(ConsumerSendMsgBack)) == [
                    5000,
                    70_000,
                    71_000,
                ]
                assert scene.stored() == 301
                assert (counted.ok.total, counted.failed.total) == (298, 3)
                assert counted.consume_time.times == 301

    async def test_others_get_what_waits_behind_a_message_that_hangs(self, services) -> None:
        async with PushScene() as scene:
            listener = Threaded(stuck=[40])
            async with running(scene, listener):
                await warmed_up(scene, listener, services)
                scene.broker.put("orders", 0, *[b"x"] * 200)
                await scene.pass_time(1.0)
                await until(scene, lambda: len(listener.ended) == 200)
                assert sorted(listener.began) == list(range(201))
                assert 40 not in listener.ended
                await scene.pass_time(10.0)
                assert scene.stored() == 40
                listener.let_go.set()
                await until(scene, lambda: len(listener.ended) == 201)
                await scene.pass_time(10.0)
                assert scene.stored() == 201
                assert scene.broker.sent(ConsumerSendMsgBack) == []

    async def test_one_that_hangs_too_long_goes_back_alone(self, services) -> None:
        async with PushScene() as scene:
            listener = Threaded(stuck=[40])
            async with running(scene, listener):
                counted = await warmed_up(scene, listener, services)
                scene.broker.put("orders", 0, *[b"x"] * 200)
                await scene.pass_time(1.0)
                await until(scene, lambda: len(listener.ended) == 200)
                await scene.pass_time(961.0)
                await until(scene, lambda: len(scene.broker.sent(ConsumerSendMsgBack)) == 1)
                assert scene.broker.sent(ConsumerSendMsgBack)[0].offset == 40_000
                await scene.pass_time(10.0)
                assert scene.stored() == 201
                listener.let_go.set()
                await until(scene, lambda: len(listener.ended) == 201)
                assert (counted.ok.total, counted.failed.total) == (200, 1)

    async def test_nothing_is_begun_behind_the_end(self, services) -> None:
        async with PushScene(settings=ConsumerSettings(consume_threads=1)) as scene:
            listener = Threaded(stuck=[40])
            async with running(scene, listener):
                await warmed_up(scene, listener, services)
                scene.broker.put("orders", 0, *[b"x"] * 200)
                await scene.pass_time(1.0)
                await until(scene, lambda: 40 in listener.began)
                stopping = asyncio.ensure_future(scene.consumer.stop())
                await until(scene, lambda: services[0]._stopping)
                listener.let_go.set()
                await scene.finish(stopping, 1.0)
                assert listener.ended == list(range(41))
                assert scene.stored() == 41

    async def test_hooks_see_each_message(self, services) -> None:
        seen = []

        class Watch(ConsumeHook):
            def after(self, context):
                seen.extend(message.queue_offset for message in context.messages)
                assert len(context.messages) == 1

        async with PushScene(consume_hooks=[Watch()]) as scene:
            listener = Threaded()
            async with running(scene, listener):
                await warmed_up(scene, listener, services)
                scene.broker.put("orders", 0, *[b"x"] * 100)
                await scene.pass_time(1.0)
                await until(scene, lambda: len(seen) == 101)  # the last one after its listener has ended
                assert sorted(seen) == list(range(101))
