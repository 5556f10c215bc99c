"""What a lite pull consumer asks of a broker whose answers are scripted, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import lite_scenes
import pytest
from lite_scenes import LiteScene
from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer
from mqframe_pull.settings import LitePullSettings
from mqframe_testing.consuming import ClientScene

from mqframe import AsyncAdmin
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, CallTimeout, ConnectionLost
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.messages import LitePullMessage, PullMessage


class Scene(ClientScene):
    consumer: AsyncLitePullConsumer

    async def assign(self, *numbers: int, **options) -> AsyncLitePullConsumer:
        self.consumer = AsyncLitePullConsumer(
            "g", instance=self.instance, clock=self.clock, **{"consume_from": "first", **options}
        )
        self.consumer.assign([self.broker.queue("orders", number) for number in numbers or (0,)])
        await self.consumer.start()
        await self.clock.aadvance(0.0)
        return self.consumer

    @property
    def pulls(self) -> list[tuple[int, int]]:
        return [(pull.queue_id, pull.queue_offset) for pull in self.broker.sent(LitePullMessage)]

    async def poll(self, seconds: float = 0.0, **options) -> list[bytes]:
        return [message.body for message in await self.finish(self.consumer.poll(seconds, **options), 0.05)]


@asynccontextmanager
async def staged(queues: int = 1) -> AsyncIterator[Any]:
    async with Scene({"orders": queues}) as scene:
        try:
            yield scene
        finally:
            await scene.finish(scene.consumer.stop())


async def test_pulls_are_lite_ones_that_bring_their_subscription_and_wait_ten_seconds() -> None:
    async with staged() as scene:
        await scene.assign()
        [pull] = scene.broker.sent(LitePullMessage)
        assert scene.broker.sent(PullMessage) == []
        assert (pull.sys_flag, pull.suspend_timeout_millis) == (2 | 4 | 16, 10_000)
        assert (pull.subscription, pull.expression_type, pull.sub_version) == ("*", "TAG", 0)
        assert (pull.consumer_group, pull.max_msg_nums) == ("g", 512)
        [heartbeat] = scene.broker.heartbeats[-1].consumer_data_set
        assert (heartbeat.consume_type, heartbeat.subscription_data_set) == ("CONSUME_ACTIVELY", [])
        await scene.clock.aadvance(10.1)
        assert scene.pulls == [(0, 0), (0, 0)]


async def test_one_pull_at_a_time_for_each_queue() -> None:
    async with staged(queues=2) as scene:
        await scene.assign(0, 1)
        assert sorted(scene.pulls) == [(0, 0), (1, 0)]
        scene.broker.put("orders", 1, b"x")
        await scene.clock.aadvance(0.0)
        assert sorted(scene.pulls) == [(0, 0), (1, 0), (1, 1)]
        assert len(scene.broker.held_back) == 2


@pytest.mark.parametrize(
    ("problem", "pause"),
    [
        (AnswerError(ResponseCode.FLOW_CONTROL, "busy", "b"), 0.02),
        (AnswerError(ResponseCode.NO_PERMISSION, "no", "b"), 0.5),
        (CallTimeout("late"), 0.5),
        (ConnectionLost("gone"), 0.1),
    ],
    ids=["flow control", "refused", "late", "lost"],
)
async def test_a_pull_that_fails_is_made_again_after_a_pause(problem, pause) -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a")
        scene.broker.script(LitePullMessage, problem)
        await scene.assign(settings=LitePullSettings(error_seconds=0.5))
        await scene.clock.aadvance(pause * 0.79)
        assert scene.pulls == [(0, 0)]
        await scene.clock.aadvance(pause * 0.42)
        assert scene.pulls == [(0, 0), (0, 0), (0, 1)]
        assert await scene.poll() == [b"a"]


async def test_a_broker_that_does_not_know_the_group_is_told_of_it() -> None:
    async with staged() as scene:
        await scene.assign()
        before = len(scene.broker.heartbeats)
        unknown = AnswerError(ResponseCode.SUBSCRIPTION_NOT_EXIST, "who are you", "b")
        scene.broker.script(LitePullMessage, unknown)
        scene.broker.put("orders", 0, b"a")
        await scene.clock.aadvance(0.0)
        assert len(scene.broker.heartbeats) == before + 1
        await scene.clock.aadvance(1.1)
        assert scene.pulls == [(0, 0), (0, 1), (0, 1)]


async def test_an_offset_that_cannot_be_found_is_asked_for_again() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a", b"b")
        scene.broker.offsets["g", scene.broker.queue("orders", 0)] = 1
        scene.broker.script(QueryConsumerOffset, CallTimeout("late"))
        await scene.assign()
        await scene.clock.aadvance(2.9)
        assert scene.pulls == []
        await scene.clock.aadvance(0.2)
        assert scene.pulls == [(0, 1), (0, 2)]
        assert await scene.poll() == [b"b"]


async def test_an_answer_that_comes_after_a_seek_is_void() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a", b"b", b"c")
        held: asyncio.Future = asyncio.get_running_loop().create_future()
        scene.broker.script(LitePullMessage, lambda request: held)
        consumer = await scene.assign()
        await consumer.seek(scene.broker.queue("orders", 0), 2)
        await scene.clock.aadvance(0.0)
        assert scene.pulls == [(0, 0), (0, 2), (0, 3)]
        held.cancel()
        assert await scene.poll() == [b"c"]


async def test_room_that_polls_make_is_used_at_once() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, *[b"%d" % n for n in range(30)])
        await scene.assign(settings=LitePullSettings(pull_messages_max=4, queue_messages_max=8))
        await scene.clock.aadvance(1.0)
        assert scene.pulls == [(0, 0), (0, 4), (0, 8)]
        taken = await scene.consumer.poll(0.0, max_messages=10)
        assert len(taken) == 10
        await scene.clock.aadvance(0.0)
        assert (0, 12) in scene.pulls


async def test_offsets_are_committed_by_the_master_of_the_queue_one_way() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a", b"b")
        consumer = await scene.assign(auto_commit=False)
        await scene.poll(max_messages=1)
        await consumer.commit()
        [commit] = scene.broker.sent(UpdateConsumerOffset)
        assert (commit.consumer_group, commit.topic, commit.commit_offset) == ("g", "orders", 1)


async def test_operators_see_what_it_does_and_move_it() -> None:
    async with LiteScene() as scene:
        admin = AsyncAdmin(nameserver=scene.cluster.nameserver, clock=scene.clock)
        await scene.send(*lite_scenes.numbered(b"m", 8))
        consumer = await scene.join(expression="*")
        assert await scene.poll(consumer, max_messages=3) == lite_scenes.numbered(b"m", 3)
        await scene.poll(consumer, 0.0, max_messages=1)
        info = await scene.finish(admin.members.running_info(lite_scenes.GROUP, consumer.client_id))
        assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY"
        assert info.properties["autoCommit"] == "true"
        assert [each.topic for each in info.subscription_set] == ["orders"]
        held = info.mq_table[lite_scenes.queue(0)]
        assert (held.cached_msg_count, held.cached_msg_min_offset, held.cached_msg_max_offset) == (4, 4, 7)
        await consumer.commit()
        remembered = await scene.finish(
            admin.members.remembered_offsets(lite_scenes.GROUP, "orders", consumer.client_id)
        )
        assert remembered[consumer.client_id][lite_scenes.queue(0)] == 4
        await scene.finish(admin.offsets.reset_queue(lite_scenes.GROUP, lite_scenes.queue(0), 6))
        await scene.clock.aadvance(0.5)
        assert await scene.poll(consumer) == [b"m6", b"m7"]
        await scene.finish(admin.stop())
