"""A cluster whose time a test moves, and what it does with clients and time."""

from __future__ import annotations

import time

import pytest
from mqframe_testing import ClusterScene, ManualClock

from mqframe import AsyncProducer, AsyncPushConsumer, ClientSettings, ConsumeResult
from mqframe.core.requests.consumers import GetConsumerListByGroup


async def test_what_is_sent_can_be_looked_at_by_queue() -> None:
    async with ClusterScene(topics={"orders": 2}) as scene:
        await scene.send("orders", b"a", b"b")
        [result] = await scene.send("orders", b"c", queue_id=1, tag="paid")
        assert (result.queue.queue_id, result.queue_offset) == (1, 0)
        await scene.settle()
        assert scene.bodies("orders") == [b"a", b"b", b"c"]
        assert scene.bodies("orders", 0) == [b"a", b"b"]
        assert [(each.queue_offset, each.tag) for each in scene.stored("orders", 1)] == [(0, "paid")]
        assert scene.stored("nothing of the kind") == []


async def test_opened_clients_live_in_the_time_of_the_scene_and_end_with_it() -> None:
    times = []
    async with ClusterScene(topics={"orders": 1}) as scene:
        client = ClientSettings(nameserver=scene.nameserver)
        consumer = AsyncPushConsumer("billing", client=client, clock=scene.clock, consume_from="first")

        async def fail_once(messages: object, context: object) -> ConsumeResult:
            times.append(scene.clock.monotonic())
            return ConsumeResult.SUCCESS if len(times) > 1 else ConsumeResult.RECONSUME_LATER

        consumer.subscribe("orders", "*", fail_once)
        await scene.open(consumer)
        await scene.send("orders", b"a")
        before = time.monotonic()
        await scene.until(lambda: len(times) == 2)
        assert times[1] - times[0] == pytest.approx(10, abs=2)
        assert time.monotonic() - before < 10
    assert not consumer.queues


async def test_a_client_that_is_closed_early_is_not_closed_again() -> None:
    async with ClusterScene() as scene:
        producer = await scene.open(AsyncProducer("p", nameserver=scene.nameserver, clock=scene.clock))
        await scene.close(producer)
        assert scene.opened == []


async def test_protocol_clients_have_connections_of_their_own() -> None:
    async with ClusterScene(2, topics={"orders": 1}) as scene:
        first, second = scene.client, scene.connect(broker=1)
        assert scene.client is first
        assert (first.address, second.address) == tuple(each.address for each in scene.cluster.brokers)
        await first.ok_send("orders")
        assert scene.bodies("orders") == [b"body"]
        assert scene.bodies("orders", broker=1) == []
        await scene.disconnect(first)
        assert scene.clients == [second]
        assert scene.client is not first


async def test_until_says_that_it_did_not_happen() -> None:
    async with ClusterScene(0) as scene:
        with pytest.raises(AssertionError, match=r"it did not happen within 5 s"):
            await scene.until(lambda: False, 5.0)
        assert scene.clock.monotonic() == pytest.approx(5.0, abs=0.2)


async def test_time_passes_only_when_it_is_told_to() -> None:
    clock = ManualClock()
    async with ClusterScene(clock=clock) as scene:
        before = clock.monotonic()
        await scene.settle()
        await scene.settle_loop()
        assert clock.monotonic() == before
        await scene.pass_time(3.0)
        assert clock.monotonic() == before + 3.0
        assert await scene.finish(clock.sleep(1.0)) is None
        assert clock.monotonic() >= before + 4.0


async def test_a_failure_inside_leaves_nothing_behind() -> None:
    scene = ClusterScene(topics={"orders": 1})
    with pytest.raises(ZeroDivisionError):
        await fails_in(scene)
    assert scene.clients == []
    assert not scene.cluster.directory.exists()


async def fails_in(scene: ClusterScene) -> None:
    async with scene:
        await scene.client.ok_send("orders")
        raise ZeroDivisionError


async def test_a_scene_that_cannot_start_leaves_nothing_behind() -> None:
    scene = ClusterScene(topics={"not a name!": 1})
    with pytest.raises(Exception, match="not a name!"):
        await scene.__aenter__()
    assert not scene.cluster.directory.exists()


async def test_protocol_clients_see_answers_and_notices() -> None:
    async with ClusterScene(topics={"orders": 1}) as scene:
        one, other = scene.client, scene.connect()
        await one.heartbeat("g", client_id="one")
        await other.heartbeat("g", client_id="other")
        await scene.settle()
        assert (set(one.notices), other.notices) == ({"g"}, ["g"])
        answer = await one.ok(GetConsumerListByGroup("g"))
        assert b"one" in bytes(answer.body)
        assert b"other" in bytes(answer.body)
