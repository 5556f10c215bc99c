"""How a member of a group starts, is known to brokers, and stops."""

from __future__ import annotations

import asyncio

from mqframe_testing.consuming import CollectingListener
from push_scenes import GROUP, OK, PushScene, running

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.core.errors import (
    answer_error,
)
from mqframe.core.requests.consumers import (
    HeartBeat,
    UnregisterClient,
)
from mqframe.core.requests.messages import PullMessage


class TestStop:
    async def test_running_listeners_finish_and_are_committed(self) -> None:
        async with PushScene(settings=ConsumerSettings(consume_tasks=1)) as scene:
            gate = asyncio.Event()

            async def slow(messages, context):
                await gate.wait()
                return OK

            scene.broker.put("orders", 0, b"a", b"b", b"c")
            listener = CollectingListener(slow)
            async with running(scene, listener):
                stopping = asyncio.ensure_future(scene.consumer.stop())
                await scene.pass_time(1.0)
                assert not stopping.done()
                gate.set()
                await scene.pass_time()
                await stopping
                assert listener.offsets() == [0]
                assert scene.stored() == 1
                assert [r.consumer_group for r in scene.broker.sent(UnregisterClient)] == [GROUP]
                assert scene.consumer.queues == []

    async def test_listener_that_does_not_end_is_left_after_a_time(self) -> None:
        async with PushScene() as scene:

            async def hang(messages, context):
                await asyncio.Event().wait()

            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener(hang)):
                stopping = asyncio.ensure_future(scene.consumer.stop())
                await scene.pass_time(29.0)
                assert not stopping.done()
                await scene.pass_time(1.0)
                await stopping
                assert scene.stored() in (None, 0)

    async def test_run_ends_with_stop(self) -> None:
        async with PushScene() as scene:
            listener = CollectingListener()
            scene.broker.put("orders", 0, b"a")
            scene.consumer.subscribe("orders", "*", listener)
            run = asyncio.ensure_future(scene.consumer.run())
            await scene.pass_time()
            assert listener.bodies == [b"a"]
            await scene.consumer.stop()
            await run
            assert scene.stored() == 1


class TestStart:
    async def test_subscription_is_told_before_the_first_pull(self) -> None:
        async with PushScene() as scene, running(scene, CollectingListener(), "a || b"):
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

    async def test_broker_that_forgot_the_subscription_is_told_again(self) -> None:
        async with PushScene() as scene:
            scene.broker.script(PullMessage, answer_error(25, "not latest", scene.broker.address))
            scene.broker.put("orders", 0, b"a")
            listener = CollectingListener()
            async with running(scene, listener):
                beats = len(scene.broker.heartbeats)
                assert beats >= 2
                assert listener.calls == []
                await scene.pass_time(3.0)
                assert listener.bodies == [b"a"]
