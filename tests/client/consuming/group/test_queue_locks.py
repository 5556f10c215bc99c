"""Locks of queues: requests to scripted brokers, and leases that are renewed."""

from __future__ import annotations

import pytest
from mqframe_testing.consuming import ClientScene

from mqframe.client.consuming.group.queue_locks import LockKeeper, QueueLocker
from mqframe.core.consuming.queue_locks import LOCK_TIMES, LockTimes
from mqframe.core.errors import CallTimeout, answer_error
from mqframe.core.requests.consumers import LockBatchMq, UnlockBatchMq
from mqframe.core.wire.frame import Frame


async def test_each_queue_is_said_to_be_ours_or_not() -> None:
    async with ClientScene({"orders": 2}) as scene:
        queues = [scene.broker.queue("orders", number) for number in (0, 1)]
        scene.broker.locks["g", queues[1]] = "other"
        locker = QueueLocker("g", "me", scene.instance, lambda: None)
        assert await locker.lock(queues) == {queues[0]: True, queues[1]: False}
        await locker.unlock(queues)
        assert scene.broker.locks == {("g", queues[1]): "other"}
        assert len(scene.broker.sent(LockBatchMq)) == len(scene.broker.sent(UnlockBatchMq)) == 1


@pytest.mark.parametrize(
    ("problem", "unknown"),
    [(CallTimeout("late"), 0), (answer_error(206, "who", "b:1"), 1), (answer_error(26, "who", "b:1"), 1)],
)
async def test_a_broker_that_does_not_know_the_member_is_reported(problem, unknown) -> None:
    async with ClientScene() as scene:
        reports = []
        scene.broker.script(LockBatchMq, problem)
        locker = QueueLocker("g", "me", scene.instance, lambda: reports.append(1))
        assert await locker.lock([scene.broker.queue("orders", 0)]) == {}
        assert len(reports) == unknown


async def test_a_failed_release_is_left_to_the_end_of_the_lease() -> None:
    async with ClientScene() as scene:
        queue = scene.broker.queue("orders", 0)
        locker = QueueLocker("g", "me", scene.instance, lambda: None)
        await locker.lock([queue])
        scene.broker.script(UnlockBatchMq, CallTimeout("late"))
        await locker.unlock([queue])
        assert scene.broker.locks == {("g", queue): "me"}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b'{"lockOKMQSet":[{"queueId":"x"}]}', b"[" * 100_000]
)
async def test_a_lock_answer_that_cannot_be_read_says_nothing_of_the_lock(body) -> None:
    async with ClientScene() as scene:
        queue = scene.broker.queue("orders", 0)
        scene.broker.script(LockBatchMq, lambda request: Frame(0, flag=1, body=body))
        locker = QueueLocker("g", "me", scene.instance, lambda: None)
        assert await locker.lock([queue]) == {}
        assert await locker.lock([queue]) == {queue: True}


def keeper_in(scene, times=LOCK_TIMES):
    lost: list[list[int]] = []
    locker = QueueLocker("g", "me", scene.instance, lambda: None)
    keeper = LockKeeper(
        "g", locker, scene.clock, lambda queues: lost.append([queue.queue_id for queue in queues]), times
    )
    return keeper, [scene.broker.queue("orders", number) for number in (0, 1)], lost


async def test_only_locks_that_are_free_are_had() -> None:
    async with ClientScene({"orders": 2}) as scene:
        keeper, queues, _ = keeper_in(scene)
        scene.broker.locks["g", queues[1]] = "other"
        assert await keeper.lock(queues) == queues[:1]
        assert keeper.lease(queues[0]).valid(scene.clock.monotonic())
        assert not keeper.lease(queues[1]).valid(scene.clock.monotonic())


async def test_locks_are_renewed_every_twenty_seconds_until_the_stop() -> None:
    async with ClientScene({"orders": 2}) as scene:
        keeper, queues, _ = keeper_in(scene)
        await keeper.lock(queues)
        keeper.start()
        await scene.pass_time(100.0)
        assert keeper.lease(queues[0]).valid(scene.clock.monotonic())
        keeper.stop()
        asked = len(scene.broker.sent(LockBatchMq))
        await scene.pass_time(31.0)
        assert len(scene.broker.sent(LockBatchMq)) == asked == 6
        assert not keeper.lease(queues[0]).valid(scene.clock.monotonic())


async def test_locks_are_renewed_as_often_and_trusted_as_long_as_the_settings_say() -> None:
    async with ClientScene({"orders": 2}) as scene:
        keeper, queues, _ = keeper_in(scene, LockTimes(lease=15.0, trusted=7.0, renewed=5.0))
        await keeper.lock(queues)
        keeper.start()
        await scene.pass_time(20.0)
        assert len(scene.broker.sent(LockBatchMq)) == 5
        keeper.stop()
        await scene.pass_time(7.1)
        assert not keeper.lease(queues[0]).valid(scene.clock.monotonic())


async def test_a_lock_that_another_member_has_is_lost_once() -> None:
    async with ClientScene({"orders": 2}) as scene:
        keeper, queues, lost = keeper_in(scene)
        await keeper.lock(queues)
        scene.broker.locks["g", queues[1]] = "other"
        await keeper.renew()
        await keeper.renew()
        assert lost == [[1]]


async def test_a_broker_that_cannot_say_costs_no_lock() -> None:
    async with ClientScene({"orders": 2}) as scene:
        keeper, queues, lost = keeper_in(scene)
        await keeper.lock(queues)
        scene.broker.script(LockBatchMq, CallTimeout("late"))
        await keeper.renew()
        assert lost == []
        assert keeper.lease(queues[0]).valid(scene.clock.monotonic())


async def test_a_doubted_lease_is_trusted_again_after_a_renewal() -> None:
    async with ClientScene({"orders": 2}) as scene:
        keeper, queues, _ = keeper_in(scene)
        await keeper.lock(queues)
        keeper.doubt(queues[0])
        assert not keeper.lease(queues[0]).valid(scene.clock.monotonic())
        await keeper.renew()
        assert keeper.lease(queues[0]).valid(scene.clock.monotonic())


async def test_released_locks_are_free_and_not_renewed() -> None:
    async with ClientScene({"orders": 2}) as scene:
        keeper, queues, _ = keeper_in(scene)
        await keeper.lock(queues)
        await keeper.unlock(queues)
        assert scene.broker.locks == {}
        await keeper.renew()
        assert len(scene.broker.sent(LockBatchMq)) == 1
