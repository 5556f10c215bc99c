"""What push and lite pull consumers have in common from outside: how they start, fail to, and stop."""

from __future__ import annotations

import pytest
from mqframe_testing.consuming import AllQueues, ClientScene, CollectingListener

from mqframe import AsyncLitePullConsumer, AsyncPushConsumer
from mqframe.core.errors import AnswerError, ClosedError, ConnectError, RouteError
from mqframe.core.filtering.filter_expression import Sql
from mqframe.core.requests.consumers import CheckClientConfig, UnregisterClient
from mqframe.core.requests.nameserver import GetRouteinfoByTopic

ONLY_BIG = Sql("size > 3")


def lite_pull(scene):
    consumer = AsyncLitePullConsumer(
        "g", allocate=AllQueues(), consume_from="first", instance=scene.instance, clock=scene.clock
    )
    consumer.subscribe("orders", ONLY_BIG)
    return consumer


def push(scene):
    consumer = AsyncPushConsumer(
        "g", allocate=AllQueues(), consume_from="first", instance=scene.instance, clock=scene.clock
    )
    consumer.subscribe("orders", ONLY_BIG, CollectingListener())
    return consumer


@pytest.mark.parametrize("make", [push, lite_pull])
async def test_it_is_known_only_while_it_runs(make) -> None:
    async with ClientScene() as scene:
        consumer = make(scene)
        with pytest.raises(ClosedError, match="the consumer of group g is not running"):
            _ = consumer.client_id
        await consumer.start()
        assert consumer.client_id == "10.1.1.1@m1"
        sent = len(scene.broker.requests)
        await consumer.start()
        assert len(scene.broker.requests) == sent
        await scene.finish(consumer.stop())
        await consumer.stop()
        assert [request.consumer_group for request in scene.broker.sent(UnregisterClient)] == ["g"]
        with pytest.raises(ClosedError, match="the consumer of group g was stopped; make a new one"):
            await consumer.start()


@pytest.mark.parametrize("make", [push, lite_pull])
@pytest.mark.parametrize(
    ("kind", "problems", "raised"),
    [
        (GetRouteinfoByTopic, [ConnectError("away")] * 50, RouteError),
        (CheckClientConfig, [AnswerError(23, "no such property", "b")], AnswerError),
    ],
)
async def test_a_start_that_failed_may_be_repeated(make, kind, problems, raised) -> None:
    async with ClientScene() as scene:
        consumer = make(scene)
        scene.broker.script(kind, *problems)
        with pytest.raises(raised):
            await scene.finish(consumer.start())
        scene.broker.unscript(kind)
        with pytest.raises(ClosedError, match="is not running"):
            _ = consumer.client_id
        await consumer.start()
        await scene.pass_time()
        queues = consumer.queues if isinstance(consumer, AsyncPushConsumer) else consumer.assignment
        assert queues == [scene.broker.queue("orders", 0)]
        await scene.finish(consumer.stop())


@pytest.mark.parametrize("make", [push, lite_pull])
async def test_a_start_waits_for_name_servers_that_restart(make) -> None:
    async with ClientScene() as scene:
        consumer = make(scene)
        scene.broker.script(GetRouteinfoByTopic, *[ConnectError("away")] * 4)
        await scene.finish(consumer.start())
        assert len(scene.broker.sent(GetRouteinfoByTopic)) > 4
        await scene.finish(consumer.stop())


async def test_polls_wait_after_a_start_that_had_failed_before() -> None:
    async with ClientScene() as scene:
        consumer = lite_pull(scene)
        scene.broker.script(CheckClientConfig, AnswerError(23, "no such property", scene.broker.address))
        with pytest.raises(AnswerError):
            await consumer.start()
        await consumer.start()
        began = scene.clock.monotonic()
        assert await scene.finish(consumer.poll(2.0)) == []
        assert scene.clock.monotonic() - began >= 2.0
        await scene.finish(consumer.stop())
