"""Queues that come and go as the group and the topics of a member change."""

from __future__ import annotations

import asyncio

import pytest
from push_scenes import GROUP, OK, play, running

from mqframe.core.errors import (
    CallTimeout,
    RouteError,
)
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
)
from mqframe.core.requests.messages import PullMessage
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.testing.consuming import AllQueues, CollectingListener


class TestRebalance:
    def test_shares_among_members(self) -> None:
        async def story(scene):
            scene.broker.members[GROUP] = ["10.1.1.0@other", "10.1.1.1@m1"]
            async with running(scene, CollectingListener()):
                assert [q.queue_id for q in scene.consumer.queues] == [2, 3]
                scene.broker.members[GROUP] = ["10.1.1.1@m1"]
                scene.announce_members()
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
            async with running(scene, CollectingListener(second_hangs)):
                scene.broker.members[GROUP] = ["10.1.1.0@other", "10.1.1.1@m1"]
                scene.announce_members()
                await scene.pass_time()
                assert scene.consumer.queues == []
                assert scene.committed() == [(0, 1)]
                gate.set()
                await scene.pass_time(30.0)
                assert scene.committed() == [(0, 1)]

        play(story, allocate="averagely")

    def test_strategy_that_fails_keeps_the_queues(self) -> None:
        class Moody(AllQueues):
            fails = False

            def allocate(self, group, client_id, queues, clients):
                if self.fails:
                    raise RuntimeError("moody")
                return super().allocate(group, client_id, queues, clients)

        moody = Moody()

        async def story(scene):
            listener = CollectingListener()
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
            async with running(scene, CollectingListener()):
                scene.broker.script(GetConsumerListByGroup, CallTimeout("late"))
                asked = len(scene.broker.sent(GetConsumerListByGroup))
                await scene.pass_time(20.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0]
                await scene.pass_time(1.0)
                assert len(scene.broker.sent(GetConsumerListByGroup)) == asked + 2

        play(story)

    def test_new_queues_are_taken_when_the_route_changes(self) -> None:
        async def story(scene):
            listener = CollectingListener()
            async with running(scene, listener):
                scene.broker.topics["orders"] = 2
                scene.broker.put("orders", 1, b"new")
                await scene.pass_time(30.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0, 1]
                assert listener.bodies == [b"new"]

        play(story)

    def test_topic_may_come_later(self) -> None:
        async def story(scene):
            listener = CollectingListener()
            scene.consumer.subscribe("later", "*", listener)
            async with running(scene, CollectingListener()):
                scene.broker.topics["later"] = 1
                scene.broker.put("later", 0, b"a")
                await scene.pass_time(20.0)
                assert listener.bodies == [b"a"]

        play(story)

    def test_no_name_server_is_an_error_at_the_start(self) -> None:
        async def story(scene):
            scene.broker.script(GetRouteinfoByTopic, *[CallTimeout("late")] * 3)
            scene.consumer.subscribe("orders", "*", CollectingListener())
            with pytest.raises(RouteError, match="no name server answered"):
                await scene.consumer.start()

        play(story)

    def test_queue_that_nobody_pulls_is_taken_anew(self) -> None:
        async def story(scene):
            hang = asyncio.Event()

            async def never(request):
                await hang.wait()

            scene.broker.script(PullMessage, never)
            listener = CollectingListener()
            async with running(scene, listener):
                scene.broker.put("orders", 0, b"a")
                await scene.pass_time(120.0)
                assert listener.calls == []
                await scene.pass_time(21.0)
                assert listener.bodies == [b"a"]

        play(story)

    def test_unsubscribe_and_subscribe_while_running(self) -> None:
        async def story(scene):
            refunds = CollectingListener()
            async with running(scene, CollectingListener()):
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
