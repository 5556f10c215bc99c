"""Queues that come and go as the group and the topics of a member change."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.consuming import AllQueues, CollectingListener
from push_scenes import GROUP, OK, PushScene, running

from mqframe.core.errors import (
    AnswerError,
    CallTimeout,
    RetryError,
    RouteError,
)
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
    HeartBeat,
)
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.messages import PullMessage
from mqframe.core.requests.nameserver import GetKvConfig, GetRouteinfoByTopic, KvAnswer
from mqframe.core.wire.frame import Frame


class TestRebalance:
    async def test_shares_among_members(self) -> None:
        async with PushScene(topics={"orders": 4}, allocate="averagely") as scene:
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

    async def test_dropped_queue_commits_first_and_never_again(self) -> None:
        async with PushScene(allocate="averagely") as scene:
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

    async def test_queues_are_told_of_before_they_are_read_and_before_they_are_saved_and_go(self) -> None:
        told = []

        def noting(what):
            async def note(topic, queues):
                pulled = {pull.queue_id for pull in scene.broker.sent(PullMessage) if pull.topic == topic}
                mine = [queue.queue_id for queue in queues]
                told.append((what, mine, [each in pulled for each in mine], scene.committed()))

            return note

        options = {"on_assigned": noting("assigned"), "on_revoked": noting("revoked")}
        async with PushScene(topics={"orders": 2}, allocate="averagely", **options) as scene:
            scene.broker.put("orders", 0, b"a")
            async with running(scene, CollectingListener()):
                scene.broker.members[GROUP] = ["10.1.1.0@other", "10.1.1.1@m1"]
                scene.announce_members()
                await scene.pass_time()
                assert [queue.queue_id for queue in scene.consumer.queues] == [1]
                assert scene.committed() == [(0, 1)]
        assert told == [
            ("assigned", [0, 1], [False, False], []),
            ("revoked", [0], [True], []),
            ("revoked", [1], [True], [(0, 1)]),
        ]

    async def test_strategy_that_fails_keeps_the_queues(self) -> None:
        class Moody(AllQueues):
            fails = False

            def allocate(self, group, client_id, queues, clients):
                if self.fails:
                    raise RuntimeError("moody")
                return super().allocate(group, client_id, queues, clients)

        moody = Moody()

        async with PushScene(topics={"orders": 2}, allocate=moody) as scene:
            listener = CollectingListener()
            async with running(scene, listener):
                moody.fails = True
                scene.broker.topics["orders"] = 4
                await scene.pass_time(60.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0, 1]
                scene.broker.put("orders", 1, b"still")
                await scene.pass_time()
                assert listener.bodies == [b"still"]

    async def test_member_list_that_cannot_be_had_keeps_the_queues_and_is_asked_again_soon(self) -> None:
        async with PushScene() as scene, running(scene, CollectingListener()):
            scene.broker.script(GetConsumerListByGroup, CallTimeout("late"))
            asked = len(scene.broker.sent(GetConsumerListByGroup))
            await scene.pass_time(20.0)
            assert [q.queue_id for q in scene.consumer.queues] == [0]
            await scene.pass_time(1.0)
            assert len(scene.broker.sent(GetConsumerListByGroup)) == asked + 2

    async def test_a_broker_that_does_not_know_the_group_yet_is_told_and_asked_again_without_a_warning(
        self, caplog
    ) -> None:
        with caplog.at_level("INFO"):
            async with PushScene() as scene:
                scene.broker.script(GetConsumerListByGroup, AnswerError(1, "no member here", "broker"))
                async with running(scene, CollectingListener()):
                    assert [q.queue_id for q in scene.consumer.queues] == [0]
                    kinds = [type(sent) for sent in scene.broker.requests]
                    first = kinds.index(GetConsumerListByGroup)
                    again = kinds.index(GetConsumerListByGroup, first + 1)
                    assert HeartBeat in kinds[first:again]
        told = [record for record in caplog.records if "not known yet" in record.getMessage()]
        assert [record.levelname for record in told] == ["INFO"]
        assert not [record for record in caplog.records if record.levelname == "WARNING"]

    async def test_a_broker_that_does_not_know_the_group_after_a_heartbeat_either_is_told_of(
        self, caplog
    ) -> None:
        async with PushScene() as scene:
            refusals = [AnswerError(1, "no member here", "broker")] * 2
            scene.broker.script(GetConsumerListByGroup, *refusals)
            async with running(scene, CollectingListener()):
                assert scene.consumer.queues == []
                await scene.pass_time(1.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0]
        told = [record for record in caplog.records if "rebalance failed" in record.getMessage()]
        assert ["that is over" in record.getMessage() for record in told] == [False, True]
        assert {record.levelname for record in told} == {"WARNING"}

    async def test_new_queues_are_taken_when_the_route_changes(self) -> None:
        async with PushScene() as scene:
            listener = CollectingListener()
            async with running(scene, listener):
                scene.broker.topics["orders"] = 2
                scene.broker.put("orders", 1, b"new")
                await scene.pass_time(30.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0, 1]
                assert listener.bodies == [b"new"]

    async def test_topic_may_come_later(self) -> None:
        async with PushScene() as scene:
            listener = CollectingListener()
            scene.consumer.subscribe("later", "*", listener)
            async with running(scene, CollectingListener()):
                scene.broker.topics["later"] = 1
                scene.broker.put("later", 0, b"a")
                await scene.pass_time(20.0)
                assert listener.bodies == [b"a"]

    async def test_no_name_server_is_an_error_at_the_start(self) -> None:
        async with PushScene() as scene:
            scene.broker.script(GetRouteinfoByTopic, *[CallTimeout("late")] * 50)
            scene.consumer.subscribe("orders", "*", CollectingListener())
            with pytest.raises(RouteError, match="no name server answered"):
                await scene.finish(scene.consumer.start())

    async def test_queue_that_nobody_pulls_is_taken_anew(self) -> None:
        async with PushScene() as scene:
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

    async def test_unsubscribe_and_subscribe_while_running(self) -> None:
        async with PushScene(topics={"orders": 1, "refunds": 1}) as scene:
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


class Looking(AllQueues):
    """Takes the queues whose ids a note names, once it has read one; then looks again in 3 s."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.fails = False
        self.chosen: set[int] = set()

    async def prepare(self, port, group, topic, queues, clients):
        self.asked.append((topic, list(clients)))
        if self.fails:
            raise RetryError("nobody answers")
        (note,) = await port.notes(topic)
        self.chosen = set(map(int, note))
        port.again_in(3.0)

    def allocate(self, group, client_id, queues, clients):
        return [queue for queue in queues if queue.queue_id in self.chosen]


class TestStrategiesThatLook:
    @staticmethod
    def note(scene, text: str) -> None:
        scene.broker.script(GetKvConfig, lambda request: Frame(0, flag=1, ext=encode_fields(KvAnswer(text))))

    async def test_it_looks_before_each_round_and_when_it_wished_to(self) -> None:
        strategy = Looking()

        async with PushScene(topics={"orders": 4}, allocate=strategy) as scene:
            self.note(scene, "13")
            async with running(scene, CollectingListener()):
                assert [q.queue_id for q in scene.consumer.queues] == [1, 3]
                assert strategy.asked[0] == ("orders", ["10.1.1.1@m1"])
                (request, *_) = scene.broker.sent(GetKvConfig)
                assert (request.namespace, request.key) == ("MQFRAME_ALLOCATION", f"{GROUP}/orders")
                self.note(scene, "0")
                await scene.pass_time(3.0)
                assert [q.queue_id for q in scene.consumer.queues] == [0]
            asked = len(strategy.asked)
            await scene.finish(scene.consumer.stop())
            await scene.pass_time(60.0)
            assert len(strategy.asked) == asked

    async def test_when_it_cannot_look_it_decides_with_what_it_knows(self) -> None:
        strategy = Looking()

        async with PushScene(topics={"orders": 4}, allocate=strategy) as scene:
            self.note(scene, "2")
            async with running(scene, CollectingListener()):
                strategy.fails = True
                asked = len(strategy.asked)
                await scene.pass_time(60.0)
                assert len(strategy.asked) > asked
                assert [q.queue_id for q in scene.consumer.queues] == [2]

    async def test_one_that_hangs_holds_nobody_up_for_long(self) -> None:
        class Hanging(AllQueues):
            async def prepare(self, port, group, topic, queues, clients):
                await asyncio.Event().wait()

        async with PushScene(allocate=Hanging()) as scene, running(scene, CollectingListener()):
            assert scene.consumer.queues == []
            await scene.pass_time(10.0)
            assert [q.queue_id for q in scene.consumer.queues] == [0]
