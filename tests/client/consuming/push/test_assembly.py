"""What the pulls of a push consumer say and change, beside those of lite pull consumers."""

from __future__ import annotations

from mqframe_testing.consuming import CollectingListener
from push_scenes import GROUP, PushScene, running

from mqframe.core.errors import (
    CallTimeout,
    answer_error,
)
from mqframe.core.requests.messages import PullMessage


class TestPulls:
    async def test_progress_rides_on_pulls(self) -> None:
        async with PushScene() as scene:
            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener()):
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

    async def test_failed_pulls_are_tried_again_after_3_seconds(self) -> None:
        async with PushScene() as scene:
            scene.broker.script(
                PullMessage, CallTimeout("late"), answer_error(215, "slow", scene.broker.address)
            )
            scene.broker.put("orders", 0, b"a")
            listener = CollectingListener()
            async with running(scene, listener):
                await scene.pass_time(2.9)
                assert len(scene.broker.sent(PullMessage)) == 1
                await scene.pass_time(0.1)
                assert len(scene.broker.sent(PullMessage)) == 2
                await scene.pass_time(0.02)
                assert listener.bodies == [b"a"]

    async def test_offset_that_does_not_exist_is_corrected(self) -> None:
        async with PushScene() as scene:
            queue = scene.broker.queue("orders", 0)
            scene.broker.offsets[GROUP, queue] = 3
            scene.broker.put("orders", 0, *[b"%d" % n for n in range(10)])
            scene.broker.cut("orders", 0, 7)
            listener = CollectingListener()
            async with running(scene, listener):
                assert listener.offsets() == [7, 8, 9]
                assert scene.committed()[0] == (0, 7)
                await scene.pass_time(5.0)
                assert scene.stored() == 10

    async def test_offset_beyond_the_end_goes_back(self) -> None:
        async with PushScene() as scene:
            scene.broker.offsets[GROUP, scene.broker.queue("orders", 0)] = 30
            scene.broker.put("orders", 0, b"a", b"b")
            listener = CollectingListener()
            async with running(scene, listener):
                assert listener.calls == []
                assert scene.stored() == 2
                scene.broker.put("orders", 0, b"c")
                await scene.pass_time()
                assert listener.offsets() == [2]
